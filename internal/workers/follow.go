package workers

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/tfdiags"
)

// listen passes on notifications of a channel until ctx ends. Without a connection, it tries again.
func (q *Queue) listen(ctx context.Context, channel string, to chan<- string) {
	for ctx.Err() == nil {
		config := q.pool.Config().ConnConfig.Copy()
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			_, err = conn.Exec(ctx, "LISTEN "+channel)
		}
		for err == nil {
			n, waitErr := conn.WaitForNotification(ctx)
			if err = waitErr; err == nil {
				select {
				case to <- n.Payload:
				default: // the receiver has enough reasons already
				}
			}
		}
		if conn != nil {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// An Event is something that the process of a task has emitted.
type Event struct {
	Task int
	At   time.Time
	Data []byte
}

// Follower follows the phases of a run.
type Follower struct {
	queue   *Queue
	run     string
	notes   chan string
	xid     string // events of the phase in older transactions were seen
	seen    map[int64]bool
	phase   int
	tasks   []*Task
	pending []int     // tasks that have not ended
	since   time.Time // begin of the wait, or when it was last looked at
	told    string    // what was said about waiting
}

// Follow returns a Follower of a run, until ctx ends.
func (q *Queue) Follow(ctx context.Context, run string) *Follower {
	f := &Follower{queue: q, run: run, notes: make(chan string, 16)}
	go q.listen(ctx, Schema, f.notes)
	return f
}

// outage is the time that a caller waits for a database that doesn't answer.
const outage = time.Minute

// Patiently repeats what reads or writes a queue as long as the database doesn't answer, at most for a minute. It
// says once that the database doesn't answer, and when it does again.
func Patiently(ctx context.Context, say func(format string, args ...any), do func() error) error {
	said := false
	for until := time.Now().Add(outage); ; {
		err := do()
		if err == nil && said {
			say("The queue answers again")
		}
		if !away(err) || ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		if !said {
			said = true
			say("The queue doesn't answer, so it is tried again for %s: %s", outage, trimmed(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// away reports whether an error says that the database doesn't answer, for example because it is restarted.
func away(err error) bool {
	if from := new(pgconn.PgError); errors.As(err, &from) {
		const connection, intervention = "08", "57P" // begins of SQLSTATE
		return strings.HasPrefix(from.Code, connection) || strings.HasPrefix(from.Code, intervention)
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return unconnected || network || pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errCommitting)
}

// Begin returns the tasks of a phase. After that, Next reports about this phase.
func (f *Follower) Begin(ctx context.Context, phase int) ([]*Task, error) {
	tasks, err := f.queue.Tasks(ctx, f.run, phase)
	f.phase, f.tasks, f.pending, f.since = phase, tasks, nil, time.Now()
	f.xid, f.seen = "0", make(map[int64]bool) // its first events may be older than the last that were read
	for _, t := range tasks {
		f.pending = append(f.pending, t.N)
	}
	return tasks, err
}

// Next waits until something happens, at most a second, and returns new events of the phase, the tasks that
// have ended since the last call and, if none are left, done.
func (f *Follower) Next(ctx context.Context) (events []Event, ended []*Task, done bool, err error) {
	select {
	case <-f.notes:
		drain(f.notes)
	case <-time.After(time.Second):
		if err := f.queue.sweep(ctx); err != nil {
			return nil, nil, false, err
		}
	case <-ctx.Done():
		return nil, nil, false, ctx.Err()
	}
	// The tasks first: all events of a task that has ended are there.
	rows, _ := f.queue.pool.Query(ctx, "SELECT "+taskColumns+` FROM tasks WHERE run = $1 AND phase = $2 AND ended IS NOT NULL
		AND n = ANY($3) ORDER BY n`, f.run, f.phase, f.pending)
	if ended, err = pgx.CollectRows(rows, scanTask); err != nil {
		return nil, nil, false, err
	}
	if events, err = f.events(ctx); err != nil {
		return nil, nil, false, err
	}
	gone := make(map[int]bool, len(ended))
	for _, t := range ended {
		gone[t.N] = true
	}
	f.pending = slices.DeleteFunc(f.pending, func(n int) bool { return gone[n] })
	return events, ended, len(f.pending) == 0, nil
}

// events returns the events that were not returned before. Transactions commit in another order than their
// events are numbered, so those that began after the oldest unfinished one are read again.
func (f *Follower) events(ctx context.Context) (out []Event, err error) {
	rows, err := f.queue.pool.Query(ctx, `SELECT id, n, at, data, xid::text, pg_snapshot_xmin(pg_current_snapshot())::text
		FROM events WHERE run = $1 AND phase = $2 AND xid >= $3::xid8 ORDER BY id`, f.run, f.phase, f.xid)
	if err != nil {
		return nil, err
	}
	var id int64
	var e Event
	var xid, oldest string
	again := make(map[int64]bool)
	_, err = pgx.ForEachRow(rows, []any{&id, &e.Task, &e.At, &e.Data, &xid, &oldest}, func() error {
		if !f.seen[id] {
			out = append(out, Event{e.Task, e.At, slices.Clone(e.Data)})
		}
		if older := len(xid) < len(oldest) || len(xid) == len(oldest) && xid < oldest; !older {
			again[id] = true
		}
		return nil
	})
	if err == nil && oldest != "" {
		f.xid, f.seen = oldest, again
	}
	return out, err
}

// waitsAfter is the time after which a wait is reported.
const waitsAfter = 10 * time.Second

// Waits returns a warning about what the run waits for: workers with labels for which there are none, or limits that
// other runs have reached. It returns nothing if that was said before.
func (f *Follower) Waits(ctx context.Context) (tfdiags.Diagnostics, error) {
	if time.Since(f.since) < waitsAfter {
		return nil, nil
	}
	f.since = time.Now()
	summary := "Root modules wait for a worker"
	text, err := f.missing(ctx)
	if err == nil && text == "" {
		summary = "Root modules wait for those of other runs"
		text, err = f.limits(ctx)
	}
	if err != nil || text == f.told {
		return nil, err
	}
	if f.told = text; text == "" {
		return nil, nil
	}
	return tfdiags.Warningf(summary, "%s", text).List(), nil
}

// missing describes the labels for which tasks wait and no worker is there.
func (f *Follower) missing(ctx context.Context) (string, error) {
	workers, err := f.queue.Workers(ctx)
	if err != nil {
		return "", err
	}
	rows, _ := f.queue.pool.Query(ctx, `SELECT DISTINCT labels FROM tasks WHERE run = $1 AND phase = $2
		AND status IN ('queued', 'ready')`,
		f.run, f.phase)
	needed, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil {
		return "", err
	}
	var missing []string
	for _, labels := range needed {
		if !slices.ContainsFunc(workers, func(w Info) bool { return w.takes(labels) }) {
			missing = append(missing, describe(labels))
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	slices.Sort(missing)
	return "No worker takes the root modules with " + strings.Join(missing, " or ") + ". " + describeWorkers(workers), nil
}

// limits describes the limits that keep a run waiting of which no task runs.
func (f *Follower) limits(ctx context.Context) (string, error) {
	rows, _ := f.queue.pool.Query(ctx, `SELECT l.label || ' (' || l.most || ')' FROM label_limits l
		WHERE EXISTS (SELECT FROM tasks WHERE run = $1 AND phase = $2 AND status = 'ready' AND labels @> ARRAY[l.label])
			AND NOT EXISTS (SELECT FROM tasks WHERE run = $1 AND phase = $2 AND status IN ('queued', 'running'))
			AND l.most <= (SELECT count(*) FROM tasks WHERE status IN ('queued', 'running') AND labels @> ARRAY[l.label])
		ORDER BY 1`, f.run, f.phase)
	reached, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(reached) == 0 {
		return "", err
	}
	return "They have as many with these labels as label_limits allows: " + strings.Join(reached, ", ") + ".", nil
}

func describe(labels []string) string {
	if len(labels) == 0 {
		return "no labels"
	}
	return "the labels " + strings.Join(labels, ",")
}

func describeWorkers(workers []Info) string {
	if len(workers) == 0 {
		return "There are no workers. Start one with: tofu worker -queue=…"
	}
	var lines []string
	for _, w := range workers {
		line := w.ID + " with " + describe(w.Labels)
		switch {
		case w.Protocol != Protocol:
			line += ", but it is of another version (" + w.Program + ")"
		case w.Jobs == 0:
			line += ", but it takes none for a while because of an error that it has printed"
		}
		lines = append(lines, line)
	}
	return "These workers are there: " + strings.Join(lines, "; ") + "."
}

// Info describes a worker that is there.
type Info struct {
	ID       string    `json:"id"`
	Host     string    `json:"host"`
	Program  string    `json:"program"`
	Protocol int       `json:"protocol"`
	Labels   []string  `json:"labels"`
	Jobs     int       `json:"jobs"` // 0 while it takes none
	Running  int       `json:"running"`
	Seen     time.Time `json:"seen"`
}

// takes reports whether the worker takes tasks that need the labels.
func (w Info) takes(labels []string) bool {
	lacks := func(label string) bool { return !slices.Contains(w.Labels, label) }
	return w.Protocol == Protocol && w.Jobs > 0 && !slices.ContainsFunc(labels, lacks)
}

// Workers returns the workers that are there.
func (q *Queue) Workers(ctx context.Context) ([]Info, error) {
	rows, _ := q.pool.Query(ctx, `SELECT id, host, program, protocol, labels, jobs, running, seen FROM workers
		WHERE seen > clock_timestamp() - $1::interval ORDER BY id`, alive.String())
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Info])
}

// Logs returns the events of a phase of a run, those of each task together.
func (q *Queue) Logs(ctx context.Context, run string, phase int) ([]Event, error) {
	rows, _ := q.pool.Query(ctx, "SELECT n, at, data FROM events WHERE run = $1 AND phase = $2 ORDER BY n, id", run, phase)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
}

// CheckProtocol returns an error if a run is of another protocol.
func (q *Queue) CheckProtocol(ctx context.Context, run string) error {
	var protocol int
	err := q.pool.QueryRow(ctx, "SELECT protocol FROM runs WHERE id = $1", run).Scan(&protocol)
	if err == nil && protocol != Protocol {
		err = tfdiags.Errorf("The run is of another version", "It was enqueued by a version of the program with protocol %d, and "+
			"this one has %d.", protocol, Protocol)
	}
	return err
}
