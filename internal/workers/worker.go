package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"tofu/internal/tfdiags"
)

// Worker takes tasks from a queue and runs them in processes. A process works on one task at a time.
type Worker struct {
	Queue   *Queue
	ID      string   // names the worker in messages
	Host    string   // where it runs
	Program string   // version of the program
	Labels  []string // such as "zone=eu"; the worker takes tasks that need some of them
	Jobs    int      // maximum number of tasks at the same time
	Dir     string   // directory for configurations
	// Lease is the time that the worker may work on a task without reaching the database. After that, another one may take
	// the task.
	Lease time.Duration
	// Command returns the command for the process of tasks, without standard streams.
	Command func() *exec.Cmd
	Say     func(format string, args ...any) // informs the user
	Metrics *Metrics

	slots chan struct{}

	mu       sync.Mutex
	held     map[ticket]bool     // claimed tasks, from the claim until their ends are stored
	tasks    map[ticket]*process // those that processes work on
	idle     []*process          // processes without a task, the one that was used last first
	ending   sync.WaitGroup      // processes that end
	last     *Run                // whose task was claimed last
	draining bool
	killing  bool
	paused   time.Time // until when the worker takes no tasks
}

// alive is the time after which a worker that was not seen is not counted.
const alive = 15 * time.Second

// heartbeat returns the interval of the renewal of leases.
func (w *Worker) heartbeat() time.Duration { return min(w.Lease/6, alive/3) }

// Run takes tasks until stop is closed, and returns when the running ones have ended. If kill is closed too,
// running operations are told to stop.
func (w *Worker) Run(ctx context.Context, stop, kill <-chan struct{}) error {
	w.held, w.tasks, w.slots = make(map[ticket]bool), make(map[ticket]*process), make(chan struct{}, w.Jobs)
	w.Labels = sorted(w.Labels)
	if err := w.register(ctx); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(w.work))
	client, err := river.NewClient(riverpgxv5.New(w.Queue.pool), &river.Config{
		Schema: Schema, Logger: silent, Workers: workers, ID: w.ID,
		Queues:        map[string]river.QueueConfig{queueName(nil): {MaxWorkers: w.Jobs}},
		FetchCooldown: fetchCooldown, FetchPollInterval: 2 * time.Second,
		CompletedJobRetentionPeriod: time.Hour,
		// The task outlives these limits; they are for a worker that dies before it claims the task. A ticket that
		// is given out again is no longer valid.
		JobTimeout: time.Minute, RescueStuckJobsAfter: 2 * time.Minute, JobStuckThreshold: 365 * 24 * time.Hour,
	})
	if err != nil {
		return err
	}
	if err := w.addQueues(ctx, client); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("taking jobs from the queue: %w", err)
	}
	stopped := make(chan struct{})
	go func() {
		<-stop
		w.mu.Lock()
		w.draining = true
		w.mu.Unlock()
		_ = client.Stop(context.WithoutCancel(ctx))
		close(stopped)
	}()
	go func() {
		select {
		case <-kill:
			w.mu.Lock()
			w.killing = true
			for _, p := range w.tasks {
				p.interrupt(2)
			}
			w.mu.Unlock()
		case <-stopped:
		}
	}()
	w.beat(ctx, client, stopped)
	w.endIdle(func(*process) bool { return true })
	w.ending.Wait()
	_, err = w.Queue.pool.Exec(context.WithoutCancel(ctx), "DELETE FROM workers WHERE id = $1", w.ID)
	return err
}

func (w *Worker) register(ctx context.Context) error {
	_, err := w.Queue.pool.Exec(ctx, `INSERT INTO workers (id, host, program, protocol, labels, jobs)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp()`, w.ID, w.Host, w.Program,
		Protocol, orEmpty(w.Labels), w.Jobs)
	if err != nil {
		return fmt.Errorf("registering the worker: %w", err)
	}
	return nil
}

// beat renews the leases, and looks for tasks of dead workers and for new queues, until stopped is closed.
func (w *Worker) beat(ctx context.Context, client *river.Client[pgx.Tx], stopped <-chan struct{}) {
	ticks := time.NewTicker(w.heartbeat())
	defer ticks.Stop()
	listen := make(chan string, 16)
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	go w.Queue.listen(ended, control, listen)
	cleaned, answers := time.Time{}, true
	last := time.Now().Round(0) // the wall clock, which goes on while the machine sleeps
	for {
		select {
		case <-stopped:
			return
		case <-listen: // a run was enqueued or interrupted
			drain(listen)
		case <-ticks.C:
		}
		before := time.Now().Round(0)
		w.endIdle(func(p *process) bool { return before.Sub(p.used) > idleTime })
		ctx, cancel := context.WithTimeout(ctx, w.Lease/2)
		err := w.renew(ctx)
		if err == nil {
			last = before
			err = errors.Join(w.Queue.sweep(ctx), w.addQueues(ctx, client),
				w.Queue.tx(ctx, func(tx pgx.Tx) error { return w.Queue.promote(ctx, tx) }))
		}
		if err == nil && before.Sub(cleaned) > time.Hour {
			cleaned, err = before, w.Queue.clean(ctx)
			if tidyErr := tidy(w.Dir); tidyErr != nil {
				w.Say("Old configurations were not removed: %s", trimmed(tidyErr))
			}
		}
		cancel()
		switch {
		case err != nil:
			w.Metrics.failure()
			if answers {
				w.Say("The queue doesn't answer: %s", trimmed(err))
			}
		case !answers:
			w.Say("The queue answers again.")
		}
		answers = err == nil
		if time.Now().Round(0).Sub(last) > w.Lease {
			w.lose(nil)
		}
	}
}

func drain(from <-chan string) {
	time.Sleep(20 * time.Millisecond) // several notifications are one reason
	for {
		select {
		case <-from:
		default:
			return
		}
	}
}

// renew renews the leases, passes on interrupts and ends the processes of lost tasks.
func (w *Worker) renew(ctx context.Context) error {
	w.mu.Lock()
	running, mine := len(w.tasks), slices.Collect(maps.Keys(w.held))
	w.mu.Unlock()
	w.Metrics.running(running)
	kept, err := w.Queue.renew(ctx, w.ID, w.offered(), running, mine, w.Lease)
	if err != nil {
		return err
	}
	w.mu.Lock()
	for _, k := range mine {
		if p := w.tasks[k]; p != nil {
			p.interrupt(kept[k])
		}
	}
	w.mu.Unlock()
	w.lose(func(k ticket) bool { _, ok := kept[k]; return !slices.Contains(mine, k) || ok })
	return nil
}

// lose ends the processes of tasks whose leases have ended: of all for which kept is not true.
func (w *Worker) lose(kept func(ticket) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, p := range w.tasks {
		if (kept == nil || !kept(k)) && !p.lost {
			p.lost = true
			killGroup(p.cmd)
		}
	}
}

// addQueues adds the queues whose labels the worker has.
func (w *Worker) addQueues(ctx context.Context, client *river.Client[pgx.Tx]) error {
	rows, _ := w.Queue.pool.Query(ctx, "SELECT name FROM queues WHERE protocol = $1 AND labels <@ $2 AND labels <> '{}'", Protocol,
		orEmpty(w.Labels))
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		addErr := client.Queues().Add(name, river.QueueConfig{MaxWorkers: w.Jobs})
		if already := new(river.QueueAlreadyAddedError); addErr != nil && !errors.As(addErr, &already) {
			err = errors.Join(err, addErr)
		}
	}
	return err
}

// patience is the time that a ticket waits in a worker that is busy with those of other queues.
const patience = 2 * time.Second

// work runs the task of a ticket.
func (w *Worker) work(ctx context.Context, job *river.Job[ticket]) error {
	select {
	case w.slots <- struct{}{}:
	case <-time.After(patience):
		return river.JobSnooze(time.Second)
	}
	defer func() { <-w.slots }()
	w.mu.Lock()
	draining := w.draining
	w.mu.Unlock()
	switch {
	case draining:
		return river.JobSnooze(0)
	case w.offered() == 0:
		return river.JobSnooze(time.Second)
	}
	t, err := w.Queue.claim(ctx, job.Args, w.ID, w.Lease)
	if err != nil || t == nil {
		return err
	}
	w.hold(job.Args, true)
	defer w.hold(job.Args, false)
	w.Metrics.waited(t.Started.Sub(t.Queued))
	w.process(context.WithoutCancel(ctx), job.Args, t) // River limits the time until the claim
	return nil
}

// hold says whether the worker keeps the lease of a task.
func (w *Worker) hold(k ticket, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is {
		w.held[k] = true
	} else {
		delete(w.held, k)
	}
}

// process runs a claimed task, and stores what comes of it.
func (w *Worker) process(ctx context.Context, k ticket, t *Task) {
	began := time.Now()
	end, err := w.run(ctx, k, t)
	if err == nil {
		err = w.persist(ctx, func(ctx context.Context) error { return w.Queue.finish(ctx, t, *end) })
	}
	how := "finished"
	defer func() { w.Metrics.ended(t, how, time.Since(began)) }()
	switch {
	case err == nil:
	case errors.Is(err, errLost):
		how = "lost"
		w.Say("%s of run %s was lost: %s", t.Root, t.Run, trimmed(err))
	default:
		how = "unfinished"
		ended := failed
		if _, is := errors.AsType[unable](err); is {
			ended = returned
			w.pause(t, err)
		} else {
			w.Say("%s of run %s ended without a result: %s", t.Root, t.Run, trimmed(err))
		}
		why := fmt.Sprintf("on the worker %s: %s", w.ID, tfdiags.Sentence(err))
		if err := w.persist(ctx, func(ctx context.Context) error { return w.Queue.release(ctx, t, why, ended) }); err != nil {
			w.Say("That was not stored: %s", trimmed(err))
		}
	}
}

// persist repeats a write until it succeeds, the database refuses its values or the lease has ended for sure.
func (w *Worker) persist(ctx context.Context, write func(context.Context) error) error {
	for until := time.Now().Round(0).Add(w.Lease); ; time.Sleep(200 * time.Millisecond) {
		one, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := write(one)
		cancel()
		if err == nil || errors.Is(err, errLost) || unstorable(err) || time.Now().Round(0).After(until) {
			return err
		}
	}
}

// unstorable reports whether the database can't store the values of a write.
func unstorable(err error) bool {
	const dataException, limitExceeded = "22", "54" // classes of SQLSTATE
	from := new(pgconn.PgError)
	return errors.As(err, &from) && (strings.HasPrefix(from.Code, dataException) || strings.HasPrefix(from.Code, limitExceeded))
}

// run runs a task in a process, and returns what it leaves behind. The error is errLost if the lease has ended, and
// unable if the task was not begun because of the worker.
func (w *Worker) run(ctx context.Context, k ticket, t *Task) (*end, error) {
	job, err := w.prepare(ctx, t)
	if err != nil {
		return nil, judge(err)
	}
	p, err := w.take()
	if err != nil {
		return nil, unable{err}
	}
	return w.supervise(ctx, k, t, job, p)
}

// prepare writes the configuration of a task, and returns what its process needs.
func (w *Worker) prepare(ctx context.Context, t *Task) (*Job, error) {
	r, err := w.recordOf(ctx, t.Run)
	if err != nil {
		return nil, err
	}
	dir, err := w.Queue.unpack(ctx, t.Archive, w.Dir)
	if err == nil && !filepath.IsLocal(filepath.FromSlash(r.About.Dir)) {
		err = badArchive(t.Archive, fmt.Sprintf("its working directory is %q", r.About.Dir))
	}
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, filepath.FromSlash(r.About.Dir))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	about := r.About
	about.Roots, about.RootDirs = nil, nil // they grow with the run
	job := &Job{Run: t.Run, Phase: t.Phase, Root: t.Root, About: about, Operation: r.Operation, Input: t.Input, Plan: t.Plan,
		Outputs: t.Given, Begun: t.Begun, Reasons: t.Reasons, Worker: w.ID, Dir: dir, Env: map[string]string{"TF_IN_AUTOMATION": "1"}}
	maps.Copy(job.Env, r.About.Env)
	if r.Trace != "" {
		job.Env["TRACEPARENT"] = r.Trace
	}
	return job, nil
}

// recordOf returns the record of a run as it was when the worker claimed its first task of it. It grows with the
// number of tasks, so it isn't read for each of them.
func (w *Worker) recordOf(ctx context.Context, id string) (*Run, error) {
	w.mu.Lock()
	last := w.last
	w.mu.Unlock()
	if last != nil && last.ID == id {
		return last, nil
	}
	r, err := w.Queue.Run(ctx, id)
	if err == nil {
		w.mu.Lock()
		w.last = r
		w.mu.Unlock()
	}
	return r, err
}

// supervise hands a task to a process and serves it until the task ends.
func (w *Worker) supervise(ctx context.Context, k ticket, t *Task, job *Job, p *process) (*end, error) {
	p.send(toChild{Job: job})
	w.mu.Lock()
	w.tasks[k] = p // interrupts come after the job
	killing := w.killing
	w.mu.Unlock()
	if killing {
		p.interrupt(2)
	}
	last, err := w.serve(ctx, p, t)
	w.mu.Lock()
	delete(w.tasks, k)
	lost := p.lost
	w.mu.Unlock()
	if last != nil && err == nil && !lost {
		w.keep(p)
		return last, nil
	}
	waitErr := p.kill()
	switch {
	case lost, errors.Is(err, errLost):
		return nil, errLost
	case last != nil:
		return last, nil
	case waitErr != nil:
		if text := p.errors.String(); text != "" {
			waitErr = fmt.Errorf("%w. Its last messages were: %s", waitErr, text)
		}
		return nil, fmt.Errorf("the process ended with %w", waitErr)
	}
	return nil, errors.Join(err, errors.New("the process ended without a result"))
}

// recent is the time for which the answer to a question about the lease is used again: it is much shorter than any lease.
const recent = 100 * time.Millisecond

// serve answers the process of a task until the task ends.
func (w *Worker) serve(ctx context.Context, p *process, t *Task) (last *end, err error) {
	var checked time.Time // when the lease was last known to be there
	events, failed := make(chan []byte, 64), make(chan error, 1)
	go func() {
		var err error
		for data := range events {
			if err == nil {
				err = w.persist(ctx, func(ctx context.Context) error { return w.Queue.emit(ctx, t, data) })
			}
		}
		failed <- err
	}()
	for m := range p.messages {
		switch {
		case m.Reserve != nil: // beside the other messages, which are more urgent
			go func() {
				wait, err := w.Queue.reserve(ctx, accountOf(t.Labels), *m.Reserve)
				answer := toChild{Answer: m.Ask, Wait: wait.Nanoseconds()}
				if err != nil {
					answer.Refused = err.Error()
				}
				p.send(answer)
			}()
		case m.Ask > 0:
			answer := toChild{Answer: m.Ask}
			if before := time.Now().Round(0); m.Begins || before.Sub(checked) > recent {
				err := w.persist(ctx, func(ctx context.Context) error { return w.Queue.may(ctx, t, m.Begins) })
				if checked = before; err != nil {
					checked, answer.Refused = time.Time{}, err.Error()
				}
			}
			p.send(answer)
		case m.Event != nil:
			events <- m.Event
		default:
			last = m.End
		}
		if last != nil {
			break
		}
	}
	close(events)
	return last, <-failed
}

// ReadLabels parses labels such as "zone=eu,account=prod".
func ReadLabels(text string) ([]string, error) {
	var out []string
	for label := range strings.SplitSeq(text, ",") {
		label = strings.TrimSpace(label)
		if label == "" {
			continue
		}
		name, value, ok := strings.Cut(label, "=")
		if !ok || strings.TrimSpace(name) == "" || strings.TrimSpace(value) == "" {
			return nil, fmt.Errorf("the label %q must have the form name=value", label)
		}
		out = append(out, label)
	}
	return sorted(out), nil
}

// NewWorkerID returns a name for a worker on this host.
func NewWorkerID(host string) string {
	return fmt.Sprintf("%s-%d-%s", strings.ToLower(host), os.Getpid(), NewID()[:4])
}
