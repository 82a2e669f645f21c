package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The process of a task and its worker exchange lines of JSON: the worker writes messages to the standard
// input of the process, and the process answers on its standard output. The first message of each task is the Job.

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
	Dir       string            `json:"dir"` // the working directory
	Env       map[string]string `json:"env"` // variables in addition to those of the worker
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

// Child is the side of the process that works on a task.
type Child struct {
	Job       *Job
	Interrupt chan struct{} // receives an interrupt of the run

	*outlet
	waiting map[int]chan toChild
	gone    bool // no more answers come
	last    *end
}

// outlet sends messages to the worker. The tasks of a process share it.
type outlet struct {
	mu    sync.Mutex // also guards the fields of Child
	out   *json.Encoder
	asked int // the number of the last question
}

// errGone is the error of questions to a worker that has ended.
var errGone = errors.New("the worker has ended")

// Serve works on the tasks that a worker sends, one after another, until the worker wants no more. It returns the first
// error of work. If the worker ends during a task, Serve calls exit.
func Serve(in io.Reader, out io.Writer, exit func(), work func(*Child) error) error {
	messages, to := json.NewDecoder(bufio.NewReader(in)), &outlet{out: json.NewEncoder(out)}
	var first toChild
	if err := messages.Decode(&first); err != nil || first.Job == nil {
		return fmt.Errorf("this command is started by \"tofu worker\": %w", errors.Join(err, errors.New("no job on standard input")))
	}
	jobs := make(chan *Child)
	var busy atomic.Bool // whether there is a task that isn't finished
	go func() {
		var now *Child
		for m := first; ; {
			if m.Job != nil { // the task before it has ended
				now = to.child(m.Job)
				busy.Store(true)
				jobs <- now
			}
			for range m.Interrupt {
				now.Interrupt <- struct{}{}
			}
			now.answer(m)
			m = toChild{}
			if err := messages.Decode(&m); err != nil {
				break
			}
		}
		now.end()
		if busy.Load() {
			exit()
		}
		close(jobs)
	}()
	for c := range jobs {
		leave, err := c.Job.enter()
		if err == nil {
			err = work(c)
			leave()
		}
		if err != nil {
			return err
		}
		if c.last == nil {
			return errors.New("the work on the root module has left nothing behind")
		}
		busy.Store(false)
		if err := c.send(fromChild{End: c.last}); err != nil {
			return err
		}
	}
	return nil
}

// enter makes the directory and the variables of the job those of this process, until the returned function is called.
func (j *Job) enter() (leave func(), err error) {
	if err := os.Chdir(j.Dir); err != nil {
		return nil, err
	}
	before := os.Environ()
	for name, value := range j.Env {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return func() {
		for name := range j.Env {
			_ = os.Unsetenv(name)
		}
		for _, entry := range before {
			name, value, _ := strings.Cut(entry, "=")
			if _, changed := j.Env[name]; changed {
				_ = os.Setenv(name, value)
			}
		}
	}, nil
}

func (o *outlet) child(job *Job) *Child {
	return &Child{Job: job, Interrupt: make(chan struct{}, 2), outlet: o, waiting: make(map[int]chan toChild)}
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

func (o *outlet) send(m fromChild) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Encode(m)
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

// End sets what the task leaves behind, which the worker gets when the work on it returns: the JSON form of an outcome that
// has the fields of [Outcome], what it shows, the plan, the outputs and the last event.
func (c *Child) End(outcome json.RawMessage, shown, plan, outputs, event []byte) {
	c.last = &end{Outcome: outcome, Shown: shown, Plan: plan, Outputs: outputs, Event: event}
}

// Exit ends the process like a kill does. Nothing more is written.
func Exit() { os.Exit(1) }
