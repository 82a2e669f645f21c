package workers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/tfdiags"
)

// Statuses of a run. Between the phases of a run that needs approval, its status is RunWaits.
const (
	RunActive    = "active"
	RunWaits     = "waits for approval"
	RunDone      = "done"
	RunFailed    = "failed"
	RunCancelled = "cancelled"
)

// Statuses of a task, in their order.
const (
	TaskWaiting = "waiting" // for other tasks
	TaskReady   = "ready"   // but a limit of a label is reached
	TaskQueued  = "queued"  // a job of River
	TaskRunning = "running"
	TaskDone    = "done"
	TaskFailed  = "failed"
	TaskSkipped = "skipped"
)

// Ended reports whether a task with the status has ended.
func Ended(status string) bool {
	return status == TaskDone || status == TaskFailed || status == TaskSkipped
}

// A Run is the record of a run. Odd phases plan, even ones apply.
type Run struct {
	ID        string         `json:"id"`
	Operation string         `json:"operation"` // plan, apply, destroy or drift
	Status    string         `json:"status"`
	Phase     int            `json:"phase"`
	Stop      int            `json:"interrupts"` // number of interrupts
	Auto      bool           `json:"auto_approve"`
	Priority  int            `json:"priority"` // from 1, which is first, to 4
	Who       string         `json:"who"`
	Trace     string         `json:"trace,omitempty"` // TRACEPARENT of the caller's span
	About     About          `json:"-"`
	Created   time.Time      `json:"created"`
	Ended     time.Time      `json:"ended,omitzero"`
	Tasks     []*Task        `json:"-"` // tasks to enqueue
	Limits    map[string]int `json:"-"` // how many tasks with a label may run at once
}

// Over reports whether the run has ended.
func (r *Run) Over() bool { return !r.Ended.IsZero() }

// About has what the process of a task needs to know about its run.
type About struct {
	Args      []string          `json:"args"` // options of the caller
	Env       map[string]string `json:"env,omitempty"`
	Dirs      []string          `json:"dirs"`
	Dir       string            `json:"dir"` // the caller's working directory in the archives
	Roots     []string          `json:"roots"`
	RootDirs  []string          `json:"root_dirs"`           // directories of Roots, relative to the caller's working directory
	Variables []string          `json:"variables,omitempty"` // names of the variables of all root modules
	Width     int               `json:"width"`
	Color     bool              `json:"color"`
	JSON      bool              `json:"json,omitempty"`   // whether what tasks print at once is JSON
	Failed    json.RawMessage   `json:"failed,omitempty"` // root modules without a plan, of a saved plan
}

// A Task is the work on one root module in one phase of a run.
type Task struct {
	Run      string
	Phase, N int
	Root     string
	Labels   []string // labels that the worker must have, sorted
	Needs    []int    // tasks that must have ended first
	Uses     []int    // those of them that must have succeeded
	Archive  string   // hash of the manifest of the configuration
	Input    json.RawMessage
	Plan     []byte
	Given    map[string][]byte // outputs of the tasks before it, by root module

	Status                 string
	Fence                  int64
	Worker                 string
	Begun                  bool     // a worker has begun to change objects
	Reasons                []string // why tries have ended without an outcome
	Outcome                json.RawMessage
	Shown                  []byte
	Queued, Started, Ended time.Time
}

// NewID returns an ID for a run.
func NewID() string { return strings.ToLower(rand.Text()[:12]) }

// Enqueue returns a function that stores a run and its tasks, and the jobs of the tasks that need no other. It can be
// repeated after an error.
func (q *Queue) Enqueue(r *Run) func(context.Context) error {
	write := &once{queue: q}
	return func(ctx context.Context) error {
		about, err := json.Marshal(r.About)
		if err != nil {
			return err
		}
		err = write.tx(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO runs
				(id, protocol, operation, status, phase, auto, priority, who, trace, about, virtual)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
					coalesce((SELECT min(virtual) FROM runs WHERE status = $4), 0))`,
				r.ID, Protocol, r.Operation, RunActive, r.Phase, r.Auto, r.Priority, r.Who, r.Trace, string(about))
			if err == nil {
				err = tx.SendBatch(ctx, r.limits()).Close()
			}
			if err == nil {
				err = insertTasks(ctx, tx, r.ID, r.Phase, r.Tasks)
			}
			if err == nil {
				err = q.promote(ctx, tx)
			}
			if err != nil {
				return err
			}
			return errors.Join(notify(ctx, tx, r.ID), notifyOn(ctx, tx, control, r.ID))
		})
		if err != nil {
			return fmt.Errorf("enqueuing the run %s: %w", r.ID, err)
		}
		return nil
	}
}

// limits makes the limits of a run those of the queue. A label of its tasks that the run doesn't limit has no limit
// any more.
func (r *Run) limits() *pgx.Batch {
	all := maps.Clone(r.Limits)
	if all == nil {
		all = make(map[string]int)
	}
	for _, t := range r.Tasks {
		for _, label := range t.Labels {
			all[label] = r.Limits[label]
		}
	}
	b := &pgx.Batch{}
	for _, label := range slices.Sorted(maps.Keys(all)) { // so that two runs don't wait for each other
		if most := all[label]; most > 0 {
			b.Queue(`INSERT INTO label_limits VALUES ($1, $2) ON CONFLICT (label) DO UPDATE SET most = EXCLUDED.most`, label, most)
		} else {
			b.Queue("DELETE FROM label_limits WHERE label = $1", label)
		}
	}
	return b
}

// insertTasks stores the tasks of a phase. Those without needs are ready.
func insertTasks(ctx context.Context, tx pgx.Tx, run string, phase int, tasks []*Task) error {
	dependents := make([][]int, len(tasks))
	for _, t := range tasks {
		for _, needed := range t.Needs {
			dependents[needed] = append(dependents[needed], t.N)
		}
	}
	queues := make(map[string][]string)
	rows := make([][]any, len(tasks))
	for i, t := range tasks {
		status := TaskWaiting
		if len(t.Needs) == 0 {
			status = TaskReady
		}
		queues[queueName(t.Labels)] = t.Labels
		rows[i] = []any{run, phase, t.N, t.Root, orEmpty(t.Labels), queueName(t.Labels), orEmpty(t.Needs), orEmpty(t.Uses),
			orEmpty(dependents[t.N]), len(t.Needs), status, t.Archive, t.Input, t.Plan}
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"tasks"}, []string{"run", "phase", "n", "root", "labels", "queue", "needs", "uses",
		"dependents", "unmet", "status", "archive", "input", "plan"}, pgx.CopyFromRows(rows))
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, name := range slices.Sorted(maps.Keys(queues)) { // as in limits
		b.Queue("INSERT INTO queues VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", name, Protocol, orEmpty(queues[name]))
	}
	return tx.SendBatch(ctx, b).Close()
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// queueName returns the name of the queue of River for tasks that need the labels.
func queueName(labels []string) string {
	sum := sha256.Sum256([]byte(strings.Join(labels, "\x00")))
	return fmt.Sprintf("tofu_%d_%s", Protocol, hex.EncodeToString(sum[:8]))
}

// control is the channel of notifications about what concerns workers: new runs and interrupts.
const control = Schema + "_control"

// notify wakes those who follow a run.
func notify(ctx context.Context, tx pgx.Tx, run string) error { return notifyOn(ctx, tx, Schema, run) }

func notifyOn(ctx context.Context, tx pgx.Tx, channel, run string) error {
	_, err := tx.Exec(ctx, "SELECT pg_notify($1, $2)", channel, run)
	return err
}

const runColumns = `id, operation, status, phase, stop, auto, priority, who, trace, about, created,
	coalesce(ended, '0001-01-01T00:00:00Z')`

func scanRun(row pgx.CollectableRow) (*Run, error) {
	r, about := &Run{}, []byte(nil)
	err := row.Scan(&r.ID, &r.Operation, &r.Status, &r.Phase, &r.Stop, &r.Auto, &r.Priority, &r.Who, &r.Trace, &about,
		&r.Created, &r.Ended)
	if err == nil {
		err = json.Unmarshal(about, &r.About)
	}
	return r, err
}

// Runs returns the newest runs, at most most of them.
func (q *Queue) Runs(ctx context.Context, most int) ([]*Run, error) {
	rows, _ := q.pool.Query(ctx, "SELECT "+runColumns+" FROM runs ORDER BY created DESC, id LIMIT $1", most)
	return pgx.CollectRows(rows, scanRun)
}

// Run returns the run with an ID, or with an ID that begins with the given text.
func (q *Queue) Run(ctx context.Context, id string) (*Run, error) {
	rows, _ := q.pool.Query(ctx, "SELECT "+runColumns+" FROM runs WHERE starts_with(id, $1) ORDER BY id LIMIT 2", id)
	found, err := pgx.CollectRows(rows, scanRun)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 || id == "":
		return nil, tfdiags.Errorf("No such run", "The queue has no run %q. To list the runs, use: tofu runs list", id)
	case len(found) > 1 && found[0].ID != id:
		return nil, tfdiags.Errorf("Several such runs", "The IDs of several runs begin with %q.", id)
	}
	return found[0], nil
}

const taskColumns = `run, phase, n, root, labels, needs, uses, archive, status, fence, worker, begun, reasons, outcome, shown,
	coalesce(queued, '0001-01-01T00:00:00Z'), coalesce(started, '0001-01-01T00:00:00Z'),
	coalesce(ended, '0001-01-01T00:00:00Z')`

// columns returns the places for taskColumns.
func (t *Task) columns() []any {
	return []any{&t.Run, &t.Phase, &t.N, &t.Root, &t.Labels, &t.Needs, &t.Uses, &t.Archive, &t.Status, &t.Fence,
		&t.Worker, &t.Begun, &t.Reasons, (*[]byte)(&t.Outcome), &t.Shown, &t.Queued, &t.Started, &t.Ended}
}

func scanTask(row pgx.CollectableRow) (*Task, error) {
	t := &Task{}
	return t, row.Scan(t.columns()...)
}

// Tasks returns the tasks of a phase, in their order.
func (q *Queue) Tasks(ctx context.Context, run string, phase int) ([]*Task, error) {
	rows, _ := q.pool.Query(ctx, "SELECT "+taskColumns+" FROM tasks WHERE run = $1 AND phase = $2 ORDER BY n", run, phase)
	return pgx.CollectRows(rows, scanTask)
}

// Stored returns the plan and the outputs of a task.
func (q *Queue) Stored(ctx context.Context, t *Task) (plan, outputs []byte, err error) {
	err = q.pool.QueryRow(ctx, "SELECT plan, outputs FROM tasks WHERE run = $1 AND phase = $2 AND n = $3", t.Run, t.Phase,
		t.N).Scan(&plan, &outputs)
	return plan, outputs, err
}

// Stop interrupts a run. With level 1, nothing new starts, and what runs is finished. With level 2,
// running operations are told to stop. A run that waits for approval is cancelled.
func (q *Queue) Stop(ctx context.Context, id string, level int) error {
	return q.tx(ctx, func(tx pgx.Tx) error {
		r, err := lockRun(ctx, tx, id)
		if err != nil || r.Over() {
			return err
		}
		r.Stop = max(r.Stop, level)
		if _, err = tx.Exec(ctx, "UPDATE runs SET stop = $2 WHERE id = $1", id, r.Stop); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tasks SET status = $3, ended = clock_timestamp(), outcome = $4, fence = fence + 1
			WHERE run = $1 AND phase = $2 AND status IN ('waiting', 'ready', 'queued')`, id, r.Phase, TaskSkipped,
			skippedOutcome(Interrupted, ""))
		if err != nil {
			return err
		}
		return errors.Join(q.advance(ctx, tx, r), notify(ctx, tx, id), notifyOn(ctx, tx, control, id))
	})
}

// Approve returns a function that begins the next phase of a run that waits for approval. The function returns false if
// the run no longer does. It can be repeated after an error: its own approval is not that of another process.
func (q *Queue) Approve(id string, phase int) func(context.Context) (approved bool, err error) {
	write, approved := &once{queue: q}, false
	return func(ctx context.Context) (bool, error) {
		err := write.tx(ctx, func(tx pgx.Tx) error {
			r, err := lockRun(ctx, tx, id)
			approved = err == nil && r.Status == RunWaits && r.Phase == phase
			if !approved {
				return err
			}
			return q.begin(ctx, tx, r)
		})
		if err != nil {
			return false, fmt.Errorf("approving the run %s: %w", id, err)
		}
		return approved, nil
	}
}

// lockRun locks a run and returns it without About, which grows with the number of its tasks.
func lockRun(ctx context.Context, tx pgx.Tx, id string) (*Run, error) {
	b, r := &pgx.Batch{}, &Run{}
	queueLock(b, id, r)
	return r, tx.SendBatch(ctx, b).Close()
}

// queueLock queues what lockRun does.
func queueLock(b *pgx.Batch, id string, r *Run) {
	columns := strings.Replace(runColumns, "about", "'{}'::jsonb", 1)
	b.Queue("SELECT "+columns+" FROM runs WHERE id = $1 FOR NO KEY UPDATE", id).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectExactlyOneRow(rows, scanRun)
		if err == nil {
			*r = *found
		}
		return err
	})
}

// Interrupted is the reason of tasks that did not start because of an interrupt.
const Interrupted = "the run was interrupted"

// An Outcome is the part of a task's outcome that the queue itself reads and writes.
type Outcome struct {
	Skipped bool   `json:"skipped,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Why     string `json:"why,omitempty"`
	Because string `json:"because,omitempty"` // the root module whose failure is the reason
	Error   string `json:"error,omitempty"`   // why the last try ended, of a task that no worker could finish
	// What a plan has, for the decision about the next phase.
	Changes bool `json:"changes,omitempty"` // applying it changes something
	Records bool `json:"records,omitempty"` // applying it only updates the state
	Left    bool `json:"left,omitempty"`    // something can be planned only after the apply
	Waits   bool `json:"waits,omitempty"`   // the plan itself is not applied yet
	Applied bool `json:"applied,omitempty"` // objects were changed
}

func skippedOutcome(why, because string) string {
	text, _ := json.Marshal(Outcome{Skipped: true, Why: why, Because: because})
	return string(text)
}

// advance ends the phase of a run if all of its tasks have ended, and begins the next one if that
// needs no approval. The run must be locked.
func (q *Queue) advance(ctx context.Context, tx pgx.Tx, r *Run) error {
	if r.Status == RunWaits && r.Stop > 0 {
		return endRun(ctx, tx, r.ID, RunCancelled)
	}
	if r.Status != RunActive {
		return nil
	}
	var left bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM tasks WHERE run = $1 AND phase = $2 AND ended IS NULL)", r.ID,
		r.Phase).Scan(&left)
	if err != nil || left {
		return err
	}
	rows, _ := tx.Query(ctx, "SELECT "+taskColumns+" FROM tasks WHERE run = $1 AND phase >= $2 ORDER BY phase, n", r.ID,
		r.Phase-(r.Phase-1)%2) // an apply needs the outcomes of its plan, too
	tasks, err := pgx.CollectRows(rows, scanTask)
	if err != nil {
		return err
	}
	switch sum := summarize(tasks, r.Phase); {
	case r.Stop > 0:
		return endRun(ctx, tx, r.ID, RunCancelled)
	case r.Operation == "plan" || r.Operation == "drift":
		return endRun(ctx, tx, r.ID, sum.status())
	case r.Phase%2 == 1 && sum.applies && !r.Auto && sum.asks:
		_, err := tx.Exec(ctx, "UPDATE runs SET status = $2 WHERE id = $1", r.ID, RunWaits)
		return err
	case r.Phase%2 == 1 && sum.applies:
		return q.begin(ctx, tx, r)
	case r.Phase%2 == 0 && !sum.failed && sum.left && sum.applied:
		return q.begin(ctx, tx, r)
	default:
		return endRun(ctx, tx, r.ID, sum.status())
	}
}

// summary has what the outcomes of a phase say about the next one.
type summary struct{ failed, applies, asks, left, applied bool }

func (s summary) status() string {
	if s.failed {
		return RunFailed
	}
	return RunDone
}

func summarize(tasks []*Task, phase int) (s summary) {
	for _, t := range tasks {
		var o Outcome
		_ = json.Unmarshal(t.Outcome, &o) // it was written by this package or checked by it
		s.failed = s.failed || t.Status != TaskDone
		if t.Status != TaskDone {
			continue
		}
		if t.Phase%2 == 1 {
			s.asks = s.asks || o.Changes
			s.applies = s.applies || !o.Waits && (o.Changes || o.Records)
			s.left = s.left || o.Left
		}
		s.applied = s.applied || t.Phase == phase && o.Applied
	}
	return s
}

func endRun(ctx context.Context, tx pgx.Tx, id, status string) error {
	// The options may contain values of variables, which nothing needs any more.
	_, err := tx.Exec(ctx, `UPDATE runs SET status = $2, ended = clock_timestamp(), about = about - 'env' WHERE id = $1`, id,
		status)
	return err
}

// begin begins the next phase of a run: an apply of the plans, or another plan.
func (q *Queue) begin(ctx context.Context, tx pgx.Tx, r *Run) error {
	rows, _ := tx.Query(ctx, `SELECT n, root, labels, needs, uses, archive, input, plan, status, outcome FROM tasks
		WHERE run = $1 AND phase = $2 ORDER BY n`, r.ID, r.Phase-(r.Phase-1)%2)
	tasks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Task, error) {
		t := &Task{}
		return t, row.Scan(&t.N, &t.Root, &t.Labels, &t.Needs, &t.Uses, &t.Archive, (*[]byte)(&t.Input), &t.Plan, &t.Status,
			(*[]byte)(&t.Outcome))
	})
	if err != nil {
		return err
	}
	next := r.Phase + 1
	if next%2 == 0 {
		tasks = planned(tasks)
	} else {
		for _, t := range tasks {
			t.Plan = nil
		}
	}
	if err := insertTasks(ctx, tx, r.ID, next, tasks); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE runs SET status = $2, phase = $3 WHERE id = $1", r.ID, RunActive, next)
	if err == nil {
		err = q.promote(ctx, tx)
	}
	return errors.Join(err, notify(ctx, tx, r.ID))
}

// planned returns the tasks that have a plan, with new numbers.
func planned(tasks []*Task) (out []*Task) {
	number := make(map[int]int)
	for _, t := range tasks {
		if t.Status == TaskDone {
			number[t.N] = len(number)
			out = append(out, t)
		}
	}
	renumber := func(list []int) (out []int) {
		for _, n := range list {
			if to, ok := number[n]; ok {
				out = append(out, to)
			}
		}
		return out
	}
	for _, t := range out {
		t.N, t.Needs, t.Uses = number[t.N], renumber(t.Needs), renumber(t.Uses)
	}
	return out
}

// kept is the time that runs that have ended, and files that no run has used, stay in the database.
const kept = 30 * 24 * time.Hour

// clean removes old runs and files. A run that has not ended keeps all files since it began.
func (q *Queue) clean(ctx context.Context) error {
	return q.tx(ctx, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		b.Queue("DELETE FROM runs WHERE ended < now() - $1::interval", kept.String())
		b.Queue(`DELETE FROM files WHERE used < least(now() - $1::interval,
			(SELECT min(created) - interval '1 day' FROM runs WHERE ended IS NULL))`, kept.String())
		b.Queue("DELETE FROM workers WHERE seen < now() - interval '1 day'")
		return tx.SendBatch(ctx, b).Close()
	})
}

// sorted returns labels sorted, without duplicates.
func sorted(labels []string) []string {
	out := slices.Clone(labels)
	slices.Sort(out)
	return slices.Compact(out)
}

// trimmed returns the text of an error without a full stop.
func trimmed(err error) string { return strings.TrimSuffix(err.Error(), ".") }
