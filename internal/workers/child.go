package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
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
}

// fromChild is a message to a worker.
type fromChild struct {
	Ask    int    `json:"ask,omitempty"` // a question: may the process change something now?
	Begins bool   `json:"begins,omitempty"`
	Event  []byte `json:"event,omitempty"`
	End    *end   `json:"end,omitempty"`
}

// Child is the side of a task's process.
type Child struct {
	Job       *Job
	Interrupt chan struct{} // receives an interrupt of the run

	mu      sync.Mutex
	out     *json.Encoder
	asked   int
	waiting map[int]chan error
	gone    error // why no more answers come
}

// errGone is the error of questions to a worker that has ended.
var errGone = errors.New("the worker has ended")

// NewChild reads the job from in. After that, it reads the messages of the worker in the background. When the
// worker ends, it calls exit.
func NewChild(in io.Reader, out io.Writer, exit func()) (*Child, error) {
	c := &Child{Interrupt: make(chan struct{}, 2), out: json.NewEncoder(out), waiting: make(map[int]chan error)}
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
		if m.Refused != "" {
			to <- errors.New(m.Refused)
		}
		close(to)
	}
}

func (c *Child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = errGone
	for _, to := range c.waiting {
		to <- errGone
		close(to)
	}
	clear(c.waiting)
}

func (c *Child) send(m fromChild) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(m)
}

// May asks whether this process may still change something. begins says that it begins to change objects. It
// returns an error if the lease has ended.
func (c *Child) May(begins bool) error {
	to := make(chan error, 1)
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return c.gone
	}
	c.asked++
	c.waiting[c.asked] = to
	err := c.out.Encode(fromChild{Ask: c.asked, Begins: begins})
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return <-to
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
