package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// ticket is the job of River for a try of a task.
type ticket struct {
	Run   string `json:"run"`
	Phase int    `json:"phase"`
	N     int    `json:"n"`
	Fence int64  `json:"fence"`
}

// Kind implements river.JobArgs.
func (ticket) Kind() string { return "tofu_root" }

// DefaultLease is the time that a worker may work on a task without renewing its claim, unless an option says
// otherwise. MinLease is the shortest lease.
const (
	DefaultLease = 30 * time.Second
	MinLease     = 2 * time.Second
)

// maxTries is the number of tries after which a task fails whose workers die.
const maxTries = 3

// errLost is the error of a write with a fencing number that is no longer the task's.
var errLost = errors.New("the worker no longer has the lease of this root module, so it may not write")

// scheduling is the key of the lock that orders decisions about limits of labels.
const scheduling = 0x746f6675_73636865

// promote makes jobs of ready tasks. Each queue of River holds little more than its workers can take soon, so
// that the choice between runs is made late.
func (q *Queue) promote(ctx context.Context, tx pgx.Tx) error {
	s := &scheduler{}
	if err := s.readLimits(ctx, tx); err != nil {
		return err
	}
	if len(s.limits) > 0 { // count again, now that no other process decides
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(scheduling)); err != nil {
			return err
		}
		if err := s.takeBack(ctx, tx); err != nil {
			return err
		}
		if err := s.readLimits(ctx, tx); err != nil {
			return err
		}
	}
	if err := s.readTasks(ctx, tx); err != nil {
		return err
	}
	var jobs []river.InsertManyParams
	var runs []string
	var phases, numbers []int
	for _, t := range s.choose() {
		runs, phases, numbers = append(runs, t.run), append(phases, t.phase), append(numbers, t.n)
		jobs = append(jobs, river.InsertManyParams{Args: ticket{t.run, t.phase, t.n, t.fence},
			InsertOpts: &river.InsertOpts{Queue: t.queue, Priority: t.priority}})
	}
	if len(jobs) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(`UPDATE tasks t SET status = 'queued', queued = clock_timestamp()
		FROM unnest($1::text[], $2::int[], $3::int[]) AS u (run, phase, n)
		WHERE t.run = u.run AND t.phase = u.phase AND t.n = u.n`, runs, phases, numbers)
	for run, n := range s.taken {
		b.Queue("UPDATE runs SET virtual = virtual + $2 WHERE id = $1", run, n)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	_, err := q.river.InsertManyFastTx(ctx, tx, jobs)
	return err
}

// scheduler decides which ready tasks become jobs.
type scheduler struct {
	ready   []*readyTask
	limits  map[string]int   // by label
	busy    map[string]int   // number of queued and running tasks by label
	room    map[string]int   // number of jobs that a queue of River still takes
	virtual map[string]int64 // number of jobs of each run, counted from those of the others when it began
	taken   map[string]int64 // number of new jobs of each run
}

type readyTask struct {
	run, queue string
	phase, n   int
	fence      int64
	labels     []string
	priority   int
	at         int64 // the value of virtual for the run after the task, if no task before it is left out
}

// full returns the labels whose limits are reached.
func (s *scheduler) full() []string {
	out := []string{}
	for label, most := range s.limits {
		if s.busy[label] >= most {
			out = append(out, label)
		}
	}
	return out
}

// readLimits reads the limits of labels, and how many tasks have them.
func (s *scheduler) readLimits(ctx context.Context, tx pgx.Tx) error {
	s.limits, s.busy = make(map[string]int), make(map[string]int)
	rows, err := tx.Query(ctx, `SELECT l.label, l.most, (SELECT count(*) FROM tasks t
		WHERE t.status IN ('queued', 'running') AND t.labels @> ARRAY[l.label]) FROM label_limits l`)
	if err != nil {
		return err
	}
	var label string
	var most, busy int
	_, err = pgx.ForEachRow(rows, []any{&label, &most, &busy}, func() error {
		s.limits[label], s.busy[label] = most, busy
		return nil
	})
	return err
}

// takeBack makes jobs that no worker can take any more tasks without a job again, because they would use up the
// limits of their labels. It leaves out tasks that others change just now.
func (s *scheduler) takeBack(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `UPDATE tasks t SET status = 'ready', fence = t.fence + 1, queued = NULL FROM (
			SELECT run, phase, n FROM tasks q WHERE status = 'queued' AND labels && $1::text[]
				AND queue IN (SELECT name FROM queues WHERE protocol = $2)
				AND NOT EXISTS (SELECT FROM workers w WHERE w.labels @> q.labels AND w.protocol = $2 AND w.jobs > 0
					AND w.seen > clock_timestamp() - $3::interval)
			FOR UPDATE SKIP LOCKED) q
		WHERE t.run = q.run AND t.phase = q.phase AND t.n = q.n`, s.limited(), Protocol, alive.String())
	return err
}

// limited returns the labels that have limits.
func (s *scheduler) limited() []string {
	return slices.AppendSeq([]string{}, maps.Keys(s.limits))
}

// fewest is the number of jobs that a queue of River takes even without workers, unless a label has a limit.
const fewest = 4

// readTasks reads ready tasks, from each run as many as its queues could take. It leaves out runs that others
// change just now, because these promote the tasks themselves.
func (s *scheduler) readTasks(ctx context.Context, tx pgx.Tx) error {
	s.room, s.virtual = make(map[string]int), make(map[string]int64)
	rows, err := tx.Query(ctx, `WITH rooms AS (
			SELECT q.name, CASE WHEN q.jobs = 0 AND q.labels && $5::text[] THEN 0 ELSE greatest($3, 2 * q.jobs) END
				- (SELECT count(*) FROM tasks t WHERE t.status = 'queued' AND t.queue = q.name) AS room
			FROM (SELECT name, labels, (SELECT coalesce(sum(w.jobs), 0) FROM workers w WHERE w.labels @> queues.labels
					AND w.protocol = $1 AND w.seen > clock_timestamp() - $2::interval) AS jobs
				FROM queues WHERE protocol = $1) q),
		active AS (SELECT id, priority, virtual, created FROM runs WHERE status = 'active' AND stop = 0
			ORDER BY created FOR NO KEY UPDATE SKIP LOCKED)
		SELECT t.run, t.queue, t.phase, t.n, t.fence, t.labels, r.priority, r.virtual, m.room
		FROM rooms m CROSS JOIN active r CROSS JOIN LATERAL (
			SELECT * FROM tasks t WHERE t.run = r.id AND t.queue = m.name AND t.status = 'ready' AND NOT t.labels && $4::text[]
			ORDER BY t.n LIMIT greatest(m.room, 0)) t
		ORDER BY r.priority, r.created, t.n`, Protocol, alive.String(), fewest, s.full(), s.limited())
	if err != nil {
		return err
	}
	var t readyTask
	var virtual int64
	var room int
	_, err = pgx.ForEachRow(rows, []any{&t.run, &t.queue, &t.phase, &t.n, &t.fence, &t.labels, &t.priority, &virtual, &room},
		func() error {
			one := t
			one.labels = slices.Clone(t.labels)
			s.virtual[t.run], s.room[t.queue] = virtual, room
			s.ready = append(s.ready, &one)
			return nil
		})
	return err
}

// choose returns the tasks that become jobs: those of runs with fewer jobs first.
func (s *scheduler) choose() (out []*readyTask) {
	for _, t := range s.ready {
		s.virtual[t.run]++
		t.at = s.virtual[t.run]
	}
	slices.SortStableFunc(s.ready, func(a, b *readyTask) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.at, b.at))
	})
	s.taken = make(map[string]int64)
	for _, t := range s.ready {
		full := slices.ContainsFunc(t.labels, func(label string) bool {
			most, limited := s.limits[label]
			return limited && s.busy[label] >= most
		})
		if full || s.room[t.queue] <= 0 {
			continue
		}
		s.room[t.queue]--
		for _, label := range t.labels {
			s.busy[label]++
		}
		s.taken[t.run]++
		out = append(out, t)
	}
	return out
}

// claim takes the task of a ticket for a worker, with its input, its plan and the outputs of the tasks before it. It
// returns nil if the ticket is no longer valid.
func (q *Queue) claim(ctx context.Context, k ticket, worker string, lease time.Duration) (*Task, error) {
	var t *Task
	b := &pgx.Batch{}
	b.Queue(`UPDATE tasks SET status = 'running', worker = $5, started = clock_timestamp(),
			lease = clock_timestamp() + $6::interval
		WHERE run = $1 AND phase = $2 AND n = $3 AND fence = $4 AND status = 'queued'
			AND (SELECT stop FROM runs WHERE id = $1) = 0
		RETURNING `+taskColumns+", input, plan", k.Run, k.Phase, k.N, k.Fence, worker, lease.String()).
		Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Task, error) {
				t := &Task{Given: make(map[string][]byte)}
				return t, row.Scan(append(t.columns(), (*[]byte)(&t.Input), &t.Plan)...)
			})
			if err == nil && len(found) > 0 {
				t = found[0]
			}
			return err
		})
	b.Queue(`SELECT o.root, o.outputs FROM tasks t JOIN tasks o ON o.run = t.run AND o.phase = t.phase AND o.n = ANY(t.needs)
		WHERE t.run = $1 AND t.phase = $2 AND t.n = $3 AND o.outputs IS NOT NULL`, k.Run, k.Phase, k.N).
		Query(func(rows pgx.Rows) error {
			var root string
			var data []byte
			_, err := pgx.ForEachRow(rows, []any{&root, &data}, func() error {
				if t != nil {
					t.Given[root] = slices.Clone(data)
				}
				return nil
			})
			return err
		})
	err := q.pool.SendBatch(ctx, b).Close()
	return t, err
}

// owned is the condition that a worker still has the lease of a task.
const owned = " WHERE run = $1 AND phase = $2 AND n = $3 AND fence = $4 AND status = 'running' AND lease > clock_timestamp()"

// may returns errLost unless the worker still has the lease. begins also records that it begins to
// change objects.
func (q *Queue) may(ctx context.Context, t *Task, begins bool) error {
	tag, err := q.pool.Exec(ctx, "UPDATE tasks SET begun = begun OR $5"+owned, t.Run, t.Phase, t.N, t.Fence, begins)
	if err == nil && tag.RowsAffected() == 0 {
		err = errLost
	}
	return err
}

// accountOf returns the account that a root module belongs to, as its labels say; "" for none.
func accountOf(labels []string) string {
	for _, label := range labels {
		if account, ok := strings.CutPrefix(label, "account="); ok {
			return account
		}
	}
	return ""
}

// reserve reserves calls of a provider in the budget of an account, after all that were reserved before, and
// returns how long the caller must wait for the first of them.
func (q *Queue) reserve(ctx context.Context, account string, r reserve) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var wait float64
	err := q.pool.QueryRow(ctx, `INSERT INTO rates AS r VALUES ($1, $2, clock_timestamp() + make_interval(secs => $3))
		ON CONFLICT (account, provider) DO UPDATE SET next = greatest(r.next, clock_timestamp()) + make_interval(secs => $3)
		RETURNING extract(epoch FROM next - clock_timestamp())::float8 - $3`, account, r.Provider,
		float64(r.Calls)/r.Rate).Scan(&wait)
	return time.Duration(max(wait, 0) * float64(time.Second)), err
}

// queueNotify queues what notify does.
func queueNotify(b *pgx.Batch, run string) { b.Queue("SELECT pg_notify($1, $2)", Schema, run) }

// emit stores an event of a task.
func (q *Queue) emit(ctx context.Context, t *Task, data []byte) error {
	b := &pgx.Batch{}
	queueEvent(b, t, data)
	return q.pool.SendBatch(ctx, b).Close()
}

func queueEvent(b *pgx.Batch, t *Task, data []byte) {
	b.Queue(`WITH event AS (INSERT INTO events (run, phase, n, data)
			SELECT run, phase, n, $5 FROM tasks`+owned+` RETURNING run)
		SELECT 1, pg_notify('`+Schema+`', run) FROM event`, t.Run, t.Phase, t.N, t.Fence, data).QueryRow(func(row pgx.Row) error {
		var n int
		err := row.Scan(&n, nil)
		if errors.Is(err, pgx.ErrNoRows) {
			return errLost
		}
		return err
	})
}

// end has what the process of a task leaves behind.
type end struct {
	Outcome       json.RawMessage
	Shown         []byte
	Plan, Outputs []byte
	Event         []byte // the last event
}

// finish stores the end of a task, and makes jobs of the tasks that waited for it.
func (q *Queue) finish(ctx context.Context, t *Task, e end) error {
	var o Outcome
	if err := json.Unmarshal(e.Outcome, &o); err != nil {
		return fmt.Errorf("the outcome of %s: %w", t.Root, err)
	}
	status := TaskDone
	switch {
	case o.Skipped:
		status = TaskSkipped
	case o.Failed:
		status = TaskFailed
	}
	return q.tx(ctx, func(tx pgx.Tx) error {
		b, r := &pgx.Batch{}, &Run{}
		queueLock(b, t.Run, r)
		if e.Event != nil {
			queueEvent(b, t, e.Event)
		}
		b.Queue(`UPDATE tasks SET status = $5, outcome = $6, shown = $7, plan = coalesce($8, plan), outputs = $9,
			ended = clock_timestamp(), lease = NULL`+owned+" RETURNING n", t.Run, t.Phase, t.N, t.Fence, status, string(e.Outcome),
			e.Shown, e.Plan, e.Outputs).QueryRow(lostWithoutRow)
		var next next
		next.queue(b, t)
		queueNotify(b, t.Run)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		return q.after(ctx, tx, r, t.Phase, next)
	})
}

// lostWithoutRow returns errLost if a statement found no row.
func lostWithoutRow(row pgx.Row) error {
	var n int
	err := row.Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return errLost
	}
	return err
}

// next says what may follow the end of a task.
type next struct {
	dependents []int // tasks that wait for it, each once for each time that it does
	over       bool  // whether all tasks of its phase have ended
	scarce     bool  // whether tasks should become jobs: few are left, or a limit of a label left some out
}

// queue queues the queries for the task.
func (x *next) queue(b *pgx.Batch, t *Task) {
	b.Queue(`SELECT t.dependents,
			NOT EXISTS (SELECT FROM tasks WHERE run = $1 AND phase = $2 AND ended IS NULL),
			EXISTS (SELECT FROM label_limits WHERE label = ANY(t.labels))
			OR (SELECT count(*) FROM tasks q WHERE q.status = 'queued' AND q.queue = t.queue) < greatest($4 / 2,
				(SELECT coalesce(sum(jobs), 0) FROM workers w WHERE w.labels @> t.labels AND w.protocol = $5
					AND w.seen > clock_timestamp() - $6::interval))
		FROM tasks t WHERE t.run = $1 AND t.phase = $2 AND t.n = $3`, t.Run, t.Phase, t.N, fewest, Protocol, alive.String()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&x.dependents, &x.over, &x.scarce) })
}

// after does what the end of a task makes possible. The run must be locked.
func (q *Queue) after(ctx context.Context, tx pgx.Tx, r *Run, phase int, x next) error {
	for dependents := x.dependents; len(dependents) > 0; {
		// A task is counted once for each task that it needs, and several of these may end at once.
		rows, _ := tx.Query(ctx, `UPDATE tasks t SET unmet = unmet - d.times FROM
				(SELECT n, count(*) AS times FROM unnest($3::int[]) AS n GROUP BY n) d
			WHERE t.run = $1 AND t.phase = $2 AND t.n = d.n AND t.status = 'waiting' RETURNING t.n, t.unmet, t.uses, t.dependents`,
			r.ID, phase, dependents)
		type met struct {
			n, unmet         int
			uses, dependents []int
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m met, err error) {
			return m, row.Scan(&m.n, &m.unmet, &m.uses, &m.dependents)
		})
		if err != nil {
			return err
		}
		dependents = nil
		for _, m := range all {
			if m.unmet > 0 {
				continue
			}
			skipped, err := q.decide(ctx, tx, r.ID, phase, m.n, m.uses)
			if err != nil {
				return err
			}
			if skipped {
				dependents = append(dependents, m.dependents...)
				x.over = true // it may have been the last one
			} else {
				x.scarce = true
			}
		}
	}
	if x.scarce {
		if err := q.promote(ctx, tx); err != nil {
			return err
		}
	}
	if x.over {
		if err := q.advance(ctx, tx, r); err != nil {
			return err
		}
	}
	return nil
}

// decide makes a task ready that waits for nothing more or, if one that it uses did not succeed, skips it.
func (q *Queue) decide(ctx context.Context, tx pgx.Tx, run string, phase, n int, uses []int) (skipped bool, err error) {
	rows, _ := tx.Query(ctx, `SELECT root, status, outcome FROM tasks WHERE run = $1 AND phase = $2 AND n = ANY($3)
		AND status <> 'done' ORDER BY n LIMIT 1`, run, phase, uses)
	why, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Outcome, error) {
		var root, status string
		var text []byte
		var o Outcome
		if err := row.Scan(&root, &status, &text); err != nil {
			return o, err
		}
		_ = json.Unmarshal(text, &o)
		because := cmp.Or(o.Because, root)
		if status == TaskSkipped && o.Because == "" {
			return Outcome{Why: Interrupted}, nil
		}
		return Outcome{Because: because, Why: "it needs " + because + ", which failed"}, nil
	})
	if err != nil {
		return false, err
	}
	if len(why) == 0 {
		_, err = tx.Exec(ctx, "UPDATE tasks SET status = 'ready' WHERE run = $1 AND phase = $2 AND n = $3", run, phase, n)
		return false, err
	}
	_, err = tx.Exec(ctx, `UPDATE tasks SET status = 'skipped', ended = clock_timestamp(), outcome = $4
		WHERE run = $1 AND phase = $2 AND n = $3`, run, phase, n, skippedOutcome(why[0].Why, why[0].Because))
	return true, err
}

// ending says how a try of a task without an outcome has ended.
type ending int

const (
	failed   ending = iota // the worker has tried
	returned               // the worker was unable to begin
	expired                // the lease has ended
)

// release ends a try of a task without an outcome: by its worker, which says why, or by another
// process after the end of the lease. The task is tried again, unless it was tried too often.
func (q *Queue) release(ctx context.Context, t *Task, why string, how ending) error {
	why = strings.ToValidUTF8(strings.ReplaceAll(why, "\x00", ""), "") // what PostgreSQL can store as a text
	return q.tx(ctx, func(tx pgx.Tx) error {
		r, err := lockRun(ctx, tx, t.Run)
		if err != nil {
			return err
		}
		when := " AND lease > clock_timestamp()"
		if how == expired {
			when = " AND lease <= clock_timestamp()"
		}
		rows, _ := tx.Query(ctx, `UPDATE tasks SET fence = fence + 1, status = 'ready', worker = '', lease = NULL,
				reasons = CASE WHEN $6 THEN array_append(reasons, $5) ELSE reasons END
			WHERE run = $1 AND phase = $2 AND n = $3 AND fence = $4 AND status = 'running'`+when+` RETURNING reasons`, t.Run,
			t.Phase, t.N, t.Fence, why, how != returned || r.Stop > 0)
		reasons, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]string])
		if errors.Is(err, pgx.ErrNoRows) {
			return errLost
		}
		if err != nil {
			return err
		}
		if len(reasons) < maxTries && r.Stop == 0 {
			return errors.Join(q.promote(ctx, tx), notify(ctx, tx, t.Run))
		}
		text, err := json.Marshal(Outcome{Failed: true, Error: why})
		if err == nil {
			_, err = tx.Exec(ctx, `UPDATE tasks SET status = 'failed', ended = clock_timestamp(), outcome = $4
				WHERE run = $1 AND phase = $2 AND n = $3`, t.Run, t.Phase, t.N, string(text))
		}
		if err != nil {
			return err
		}
		b, next := &pgx.Batch{}, next{}
		next.queue(b, t)
		queueNotify(b, t.Run)
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		next.scarce = true
		return q.after(ctx, tx, r, t.Phase, next)
	})
}

// sweep ends the tries whose leases have ended, in runs of this protocol.
func (q *Queue) sweep(ctx context.Context) error {
	rows, _ := q.pool.Query(ctx, "SELECT "+taskColumns+` FROM tasks WHERE status = 'running' AND lease <= clock_timestamp()
		AND (SELECT protocol FROM runs WHERE id = run) = $1`, Protocol)
	tasks, err := pgx.CollectRows(rows, scanTask)
	for _, t := range tasks {
		why := fmt.Sprintf("the worker %s was killed, lost the database or slept for longer than its lease", t.Worker)
		if e := q.release(ctx, t, why, expired); e != nil && !errors.Is(e, errLost) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// renew says how many tasks a worker takes and has, extends their leases, and returns the interrupts of their runs.
// Tasks that are missing in the result are lost.
func (q *Queue) renew(
	ctx context.Context, worker string, jobs, running int, mine []ticket, lease time.Duration,
) (map[ticket]int, error) {
	runs, phases := make([]string, len(mine)), make([]int, len(mine))
	numbers, fences := make([]int, len(mine)), make([]int64, len(mine))
	for i, k := range mine {
		runs[i], phases[i], numbers[i], fences[i] = k.Run, k.Phase, k.N, k.Fence
	}
	out := make(map[ticket]int)
	b := &pgx.Batch{}
	b.Queue("UPDATE workers SET seen = clock_timestamp(), jobs = $2, running = $3 WHERE id = $1", worker, jobs, running)
	b.Queue(`UPDATE tasks t SET lease = clock_timestamp() + $1::interval
		FROM unnest($2::text[], $3::int[], $4::int[], $5::bigint[]) AS m (run, phase, n, fence) JOIN runs r ON r.id = m.run
		WHERE t.run = m.run AND t.phase = m.phase AND t.n = m.n AND t.fence = m.fence
			AND t.status = 'running' AND t.lease > clock_timestamp() RETURNING t.run, t.phase, t.n, t.fence, r.stop`,
		lease.String(), runs, phases, numbers, fences).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var k ticket
			var stop int
			if err := rows.Scan(&k.Run, &k.Phase, &k.N, &k.Fence, &stop); err != nil {
				return err
			}
			out[k] = stop
		}
		return rows.Err()
	})
	return out, q.pool.SendBatch(ctx, b).Close()
}
