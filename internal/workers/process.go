package workers

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is a process that works on tasks, one after another. Starting one takes longer than planning a small root module.
type process struct {
	cmd      *exec.Cmd
	messages chan fromChild // closed when no more come
	errors   *tail
	stdin    io.Closer
	ended    chan struct{} // closed when nothing reads messages any more
	used     time.Time     // when the last task has ended

	mu   sync.Mutex // guards in and sent
	in   *json.Encoder
	sent int  // number of interrupts of the task that were sent
	lost bool // whether the lease of the task has ended; guarded by the worker
}

const (
	// idleTime is the time that a process waits for another task.
	idleTime = 30 * time.Second
	// orphanDelay is the time that a worker reads what the children of an ended process still print.
	orphanDelay = 100 * time.Millisecond
)

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, messages: make(chan fromChild), errors: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.errors
	cmd.WaitDelay = orphanDelay
	ownGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin, p.in = in, json.NewEncoder(in)
	go func() {
		defer close(p.messages)
		for lines := json.NewDecoder(out); ; {
			var m fromChild
			if lines.Decode(&m) != nil {
				return
			}
			select {
			case p.messages <- m:
			case <-p.ended:
				return
			}
		}
	}()
	return p, nil
}

func (p *process) send(m toChild) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Job != nil {
		p.sent = 0
	}
	_ = p.in.Encode(m) // a process that has ended is noticed elsewhere
}

// interrupt makes n the number of interrupts of the task.
func (p *process) interrupt(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.sent {
		_ = p.in.Encode(toChild{Interrupt: n - p.sent})
		p.sent = n
	}
}

// end ends a process without a task.
func (p *process) end() {
	_ = p.stdin.Close()
	close(p.ended)
	_ = p.cmd.Wait()
}

// kill ends a process and what it has started, so that the next try doesn't work beside it.
func (p *process) kill() error {
	over := false
	select {
	case _, more := <-p.messages:
		over = !more // it ends by itself
	default:
	}
	if !over {
		killGroup(p.cmd)
	}
	_ = p.stdin.Close()
	close(p.ended)
	err := p.cmd.Wait()
	killGroup(p.cmd)
	return err
}

// take returns a process for a task: one that waits, or a new one.
func (w *Worker) take() (*process, error) {
	for {
		w.mu.Lock()
		if len(w.idle) == 0 {
			w.mu.Unlock()
			return startProcess(w.Command())
		}
		p := w.idle[0]
		w.idle = w.idle[1:]
		w.mu.Unlock()
		select {
		case <-p.messages: // closed, because it says nothing without a task
			w.ending.Go(p.end)
		default:
			return p, nil
		}
	}
}

// keep keeps a process whose task has ended for the next one.
func (w *Worker) keep(p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.used = time.Now().Round(0)
	p.errors.reset()
	w.idle = slices.Insert(w.idle, 0, p)
}

// endIdle ends the processes without a task for which is true, in the background.
func (w *Worker) endIdle(is func(*process) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = slices.DeleteFunc(w.idle, func(p *process) bool {
		ends := is(p)
		if ends {
			w.ending.Go(p.end)
		}
		return ends
	})
}

// tail keeps the last bytes that were written.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 2000
	t.text = append(t.text, p...)
	if n := len(t.text) - most; n > 0 {
		t.text = slices.Clone(t.text[n:])
	}
	return len(p), nil
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.text)), " ")
}
