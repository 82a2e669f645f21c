package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// The process of a task and its worker exchange lines of JSON: the worker writes messages to the standard
// input of the process, and the process answers on its standard output. The first message is the Job.

// Job has the inputs of the process of a task.
type Job struct {
	Run       string            `json:"run"`
	Phase     int               `json:"phase"`
	Root      string            `json:"root"`
	About     About             `json:"about"`
	Operation string            `json:"operation"`
	Input     json.RawMessage   `json:"input"`
	Plan      []byte            `json:"plan,omitempty"`
	Outputs   map[string][]byte `json:"outputs,omitempty"` // of root modules that have ended, by name
	Begun     bool              `json:"begun,omitempty"`   // an earlier try has begun to change objects
	Reasons   []string          `json:"reasons,omitempty"` // why earlier tries ended
	Worker    string            `json:"worker"`
	Trace     string            `json:"trace,omitempty"`
}

// toChild is a message from a worker.
type toChild struct {
	Job       *Job   `json:"job,omitempty"`
	Interrupt int    `json:"interrupt,omitempty"`
	Answer    int    `json:"answer,omitempty"` // the number of the question
	Refused   string `json:"refused,omitempty"`
	Wait      int64  `json:"wait,omitempty"` // in ns, the answer to Reserve
}

// fromChild is a message to a worker.
type fromChild struct {
	Ask     int      `json:"ask,omitempty"` // a question: may the process change something now?
	Begins  bool     `json:"begins,omitempty"`
	Reserve *reserve `json:"reserve,omitempty"` // or: when may it make these calls?
	Event   []byte   `json:"event,omitempty"`
	End     *end     `json:"end,omitempty"`
}

// reserve asks for calls of a provider, at a rate in calls per second.
type reserve struct {
	Provider string  `json:"provider"`
	Rate     float64 `json:"rate"`
	Calls    int     `json:"calls"`
}

// Child is the side of a task's process.
type Child struct {
	Job       *Job
	Interrupt chan struct{} // receives an interrupt of the run

	mu      sync.Mutex
	out     *json.Encoder
	asked   int
	waiting map[int]chan toChild
	gone    bool // no more answers come
}

// errGone is the error of questions to a worker that has ended.
var errGone = errors.New("the worker has ended")

// NewChild reads the job from in. After that, it reads the messages of the worker in the background. When the
// worker ends, it calls exit.
func NewChild(in io.Reader, out io.Writer, exit func()) (*Child, error) {
	c := &Child{Interrupt: make(chan struct{}, 2), out: json.NewEncoder(out), waiting: make(map[int]chan toChild)}
	messages := json.NewDecoder(bufio.NewReader(in))
	var first toChild
	if err := messages.Decode(&first); err != nil || first.Job == nil {
		return nil, fmt.Errorf("this command is started by \"tofu worker\": %w", errors.Join(err, errors.New("no job on standard input")))
	}
	c.Job = first.Job
	go func() {
		for {
			var m toChild
			if err := messages.Decode(&m); err != nil {
				c.end()
				exit()
				return
			}
			for range m.Interrupt {
				c.Interrupt <- struct{}{}
			}
			c.answer(m)
		}
	}()
	return c, nil
}

func (c *Child) answer(m toChild) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if to := c.waiting[m.Answer]; to != nil {
		delete(c.waiting, m.Answer)
		to <- m
	}
}

func (c *Child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, to := range c.waiting {
		close(to)
	}
	clear(c.waiting)
}

// ask sends a question, and waits for the answer.
func (c *Child) ask(m fromChild) (toChild, error) {
	to := make(chan toChild, 1)
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return toChild{}, errGone
	}
	c.asked++
	c.waiting[c.asked] = to
	m.Ask = c.asked
	err := c.out.Encode(m)
	c.mu.Unlock()
	if err != nil {
		return toChild{}, err
	}
	answer, ok := <-to
	switch {
	case !ok:
		return toChild{}, errGone
	case answer.Refused != "":
		return toChild{}, errors.New(answer.Refused)
	}
	return answer, nil
}

func (c *Child) send(m fromChild) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(m)
}

// May asks whether this process may still change something. begins says that it begins to change objects. It
// returns an error if the lease has ended.
func (c *Child) May(begins bool) error {
	_, err := c.ask(fromChild{Begins: begins})
	return err
}

// Reserve is a pace.Budget that all workers of an account share.
func (c *Child) Reserve(provider string, rate float64, calls int) (time.Duration, error) {
	answer, err := c.ask(fromChild{Reserve: &reserve{provider, rate, calls}})
	return time.Duration(answer.Wait), err
}

// Emit sends an event.
func (c *Child) Emit(data []byte) error { return c.send(fromChild{Event: data}) }

// End sends what the process leaves behind: the JSON form of an outcome that has the fields of
// [Outcome], what it shows, the plan and the outputs.
func (c *Child) End(outcome json.RawMessage, shown, plan, outputs []byte) error {
	return c.send(fromChild{End: &end{Outcome: outcome, Shown: shown, Plan: plan, Outputs: outputs}})
}

// Exit ends the process like a kill does. Nothing more is written.
func Exit() { os.Exit(1) }
