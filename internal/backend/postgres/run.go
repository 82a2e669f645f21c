package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
	"tofu/internal/version"
)

const (
	// leaseTime is the time after which others may end a run that doesn't renew its lease.
	leaseTime = 30 * time.Second
	// renewEvery is the time between renewals.
	renewEvery = 8 * time.Second
	// closeTimeout limits the attempts to end a run. If they fail, the lease expires.
	closeTimeout = 10 * time.Second
)

// errLost is the error of a run that another process has ended.
var errLost = errors.New("the run has lost its lease: the lease was not renewed in time, and another run or " +
	"\"tofu force-unlock\" has ended it, so it can no longer write")

// Run is a run that changes a workspace.
type Run struct {
	store     *Store
	workspace string
	info      backend.LockInfo
	writing   *writing
	fence     atomic.Int64 // the fencing number of the run's row

	mu      sync.Mutex      // guards the following fields
	begun   bool            // the run has claims
	written map[string]bool // the addresses that the run has claimed for writing
	stop    context.CancelFunc
	renewed sync.WaitGroup
}

// NewRun implements statemgr.Ledger.
func (s *Store) NewRun(workspace string, codec statemgr.Codec, info backend.LockInfo) statemgr.LedgerRun {
	if info.ID == "" {
		info.ID = uuid.NewString()
	}
	return &Run{store: s, workspace: workspace, info: info, writing: &writing{codec: codec},
		written: make(map[string]bool)}
}

// ensureWorkspace locks the row of the workspace, and adds the row if it is missing.
func (r *Run) ensureWorkspace(ctx context.Context, tx session) (*workspaceRow, error) {
	w, err := lockWorkspace(ctx, tx, r.workspace)
	if err != nil || w != nil {
		return w, err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO workspace (name, lineage, serial, program) VALUES ($1::text, '', 0, $2::text)
		ON CONFLICT (name) DO NOTHING`, r.workspace, version.String); err != nil {
		return nil, err
	}
	return lockWorkspace(ctx, tx, r.workspace)
}

// enter registers the run and executes the statements that the function check queues. If there are
// dead runs in the workspaces, it ends them and then repeats the other steps. The caller has locked
// the rows of the workspaces.
func (r *Run) enter(ctx context.Context, tx session, workspaces []int64, check func(*pgx.Batch)) error {
	fence := r.fence.Load()
	for {
		var dead []string
		b := &pgx.Batch{}
		queueVersion(b)
		queueDead(b, workspaces, &dead)
		r.register(b, workspaces[0])
		check(b)
		err := send(ctx, tx, b)
		if err != nil || len(dead) == 0 {
			return err
		}
		if err := end(ctx, tx, dead); err != nil { // the loop then checks again
			return err
		}
		// If a dead run has this run's ID, register has set r.fence to the number of the dead run,
		// so restore it.
		r.fence.Store(fence)
	}
}

// register adds the row of the run with the next fencing number, unless the run is in progress. A
// run that ended normally is registered again with a new number, because a run without claims ends
// after each change, and because a transaction may be repeated. A new Run with the ID of a lost run
// is also registered again, to push what the lost run could not store.
func (r *Run) register(b *pgx.Batch, workspace int64) {
	b.Queue(`WITH next AS (
			UPDATE workspace SET fence = fence + 1 WHERE id = $1::bigint
				AND NOT EXISTS (SELECT FROM run WHERE id = $2::text AND outcome IS DISTINCT FROM 'done'
					AND (ended IS NULL OR $8::bigint > 0 AND fence >= $8::bigint)) RETURNING fence)
		INSERT INTO run (id, workspace, operation, who, process, program, fence, lease)
		SELECT $2::text, $1::bigint, $3::text, $4::text, $5::text, $6::text, fence,
			clock_timestamp() + $7::text::interval FROM next
		ON CONFLICT (id) DO UPDATE SET ended = NULL, outcome = NULL, fence = excluded.fence, lease = excluded.lease`,
		workspace, r.info.ID, r.info.Operation, r.info.Who, r.info.Info, version.Build(), lease(), r.fence.Load())
	b.Queue("SELECT fence, ended IS NULL FROM run WHERE id = $1::text FOR NO KEY UPDATE", r.info.ID).
		QueryRow(func(row pgx.Row) error {
			var fence int64
			var running bool
			if err := row.Scan(&fence, &running); err != nil {
				return err
			}
			if !running || r.hasBegun() && fence != r.fence.Load() {
				return errLost
			}
			r.fence.Store(fence)
			return nil
		})
}

// hasBegun reports whether the run has claims.
func (r *Run) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// lease returns leaseTime as a PostgreSQL interval.
func lease() string { return fmt.Sprintf("%d milliseconds", leaseTime.Milliseconds()) }

// renewal extends the lease of a run, unless it has ended or its row has another fencing number.
const renewal = "UPDATE run SET lease = clock_timestamp() + $2::text::interval " +
	"WHERE id = $1::text AND fence = $3::bigint AND ended IS NULL"

// renew extends the lease of the run. The error is errLost if the run has ended.
func (r *Run) renew(b *pgx.Batch) error {
	b.Queue(renewal, r.info.ID, lease(), r.fence.Load()).Exec(found)
	return nil
}

// found returns errLost if a statement found no row of the run.
func found(tag pgconn.CommandTag) error {
	if tag.RowsAffected() == 0 {
		return errLost
	}
	return nil
}

// inWorkspaces is the condition for runs in progress that change one of the workspaces $1 or depend
// on their outputs.
const inWorkspaces = "ended IS NULL AND (workspace = ANY($1::bigint[]) OR EXISTS (SELECT FROM claim c " +
	"WHERE c.workspace = ANY($1::bigint[]) AND c.run = run.id))"

// queueDead queues a query for the runs of the workspaces that died without ending, and adds their
// IDs to dead. The lease of such a run has expired, or its process was on this machine and is gone.
func queueDead(b *pgx.Batch, workspaces []int64, dead *[]string) {
	b.Queue("SELECT id, process, lease < clock_timestamp() FROM run WHERE "+inWorkspaces, workspaces).
		Query(func(rows pgx.Rows) error {
			var id, process string
			var over bool
			_, err := pgx.ForEachRow(rows, []any{&id, &process, &over}, func() error {
				if over || statemgr.ProcessGone(process) {
					*dead = append(*dead, id)
				}
				return nil
			})
			return err
		})
}

// end marks runs as ended and lost, and deletes their claims.
func end(ctx context.Context, tx session, runs []string) error {
	b := &pgx.Batch{}
	b.Queue("UPDATE run SET ended = clock_timestamp(), outcome = 'lost' "+
		"WHERE id = ANY($1::text[]) AND ended IS NULL", runs)
	b.Queue("DELETE FROM claim WHERE run = ANY($1::text[])", runs)
	return send(ctx, tx, b)
}

// done ends the run and its claims, unless it has ended or its row has another fencing number.
func (r *Run) done(b *pgx.Batch) error {
	b.Queue("WITH ended AS (UPDATE run SET ended = clock_timestamp(), outcome = 'done' "+
		"WHERE id = $1::text AND fence = $2::bigint AND ended IS NULL RETURNING id) "+
		"DELETE FROM claim c USING ended WHERE c.run = ended.id", r.info.ID, r.fence.Load())
	return nil
}

// running is a query for a run other than $2 that is in progress in one of the workspaces $1.
const running = "SELECT id, operation, who, process, program, started, '' FROM run WHERE " + inWorkspaces +
	" AND id <> $2::text ORDER BY started LIMIT 1"

// noRuns ends the dead runs of a workspace, and returns a *backend.LockedError if a run is still
// running.
func noRuns(ctx context.Context, tx session, workspace int64) error {
	var dead []string
	b := &pgx.Batch{}
	queueDead(b, []int64{workspace}, &dead)
	if err := send(ctx, tx, b); err != nil {
		return err
	}
	if err := end(ctx, tx, dead); err != nil {
		return err
	}
	held, err := lockedBy(tx.QueryRow(ctx, running, []int64{workspace}, ""))
	if err != nil {
		return err
	}
	return held
}

// Unused implements statemgr.Ledger. It only reads, so it does not end dead runs.
func (s *Store) Unused(ctx context.Context, workspace string, since uint64) error {
	var used error
	err := s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		used = nil // reset the result of an earlier attempt
		w, err := find(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT id, operation, who, process, program, started FROM run "+
			"WHERE workspace = $1::bigint AND ended IS NULL AND lease > clock_timestamp() ORDER BY started", w.id)
		if err != nil {
			return err
		}
		var info backend.LockInfo
		_, err = pgx.ForEachRow(rows, []any{&info.ID, &info.Operation, &info.Who, &info.Info, &info.Version,
			&info.Created}, func() error {
			if used == nil && !statemgr.ProcessGone(info.Info) {
				holder := info
				used = &backend.LockedError{Info: &holder}
			}
			return nil
		})
		if err != nil || used != nil {
			return err
		}
		used, err = changedBy(tx.QueryRow(ctx, changedSince, w.id, int64(since), ""))
		return err
	})
	if err != nil {
		return explained(err)
	}
	return used
}

// changedSince is a query for the first change of the workspace $1 after revision $2 by a run other
// than $3.
const changedSince = "SELECT 'the state', r.id, r.operation, r.who, v.at FROM revision v JOIN run r ON r.id = v.run " +
	"WHERE v.workspace = $1::bigint AND v.id > $2::bigint AND v.run <> $3::text ORDER BY v.id LIMIT 1"

// Claim implements statemgr.LedgerRun.
func (r *Run) Claim(ctx context.Context, f *plans.Footprint) error {
	var own *workspaceRow
	err := r.store.pipeline(ctx, readWrite, func(b *pgx.Batch) error {
		own = nil // reset the result of an earlier attempt
		if len(f.Foreign) == 0 {
			r.lock(b, &own)
		}
		return nil
	}, func(ctx context.Context, tx session, _ *pgx.Batch) (err error) {
		var foreign map[string]int64
		if own == nil {
			if own, foreign, err = r.lockAll(ctx, tx, f.Foreign); err != nil {
				return err
			}
		}
		return r.claim(ctx, tx, own.id, f, foreign)
	})
	if err != nil {
		return explained(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range f.Writes {
		r.written[w.Addr.String()] = true
	}
	if !r.begun {
		r.begun = true
		var renewing context.Context
		renewing, r.stop = context.WithCancel(context.WithoutCancel(ctx))
		r.renewed.Go(func() { r.keep(renewing) })
	}
	return nil
}

// lock queues a query that locks the row of the workspace. The callback of the query stores the row
// in *row, or nil if the row is missing.
func (r *Run) lock(b *pgx.Batch, row **workspaceRow) {
	b.Queue(lockingWorkspace, r.workspace).QueryRow(func(found pgx.Row) (err error) {
		*row, err = workspaceOf(found)
		return err
	})
}

// keep renews the lease until ctx is canceled or the run has been ended.
func (r *Run) keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewEvery):
		}
		err := r.store.pipeline(ctx, readWrite, r.renew, nil)
		if errors.Is(err, errLost) {
			return // the next write returns errLost
		}
		if err != nil && ctx.Err() == nil {
			slog.Default().Warn("could not renew the lease of the run; trying again", "error", err)
		}
	}
}

// Start implements statemgr.LedgerRun.
func (r *Run) Start(ctx context.Context, next func() []*statemgr.Operation) error {
	ops := sync.OnceValue(next) // a repeated transaction writes the same operations
	return explained(r.store.pipeline(ctx, readWrite, func(b *pgx.Batch) error {
		return r.addSteps(b, ops())
	}, nil))
}

// addSteps records steps of this run.
func (r *Run) addSteps(b *pgx.Batch, ops []*statemgr.Operation) error {
	var addresses, deposed, actions, documents []string
	for _, op := range ops {
		text, err := statemgr.EncodeStep(op)
		if err == nil && r.writing.codec != nil {
			text, err = r.writing.codec.Encrypt(text)
		}
		if err != nil {
			return err
		}
		addresses, deposed = append(addresses, op.Addr.String()), append(deposed, string(op.Deposed))
		actions, documents = append(actions, op.Action.String()), append(documents, string(text))
	}
	// This doesn't lock the row of the run. Write locks that row until it commits, and steps
	// must start without waiting for that.
	b.Queue(`WITH run AS (SELECT id, workspace FROM run WHERE id = $1::text AND fence = $2::bigint AND ended IS NULL)
		INSERT INTO operation (workspace, run, address, deposed, action, started, document)
		SELECT run.workspace, run.id, o.address, o.deposed, o.action, clock_timestamp(), o.document
		FROM run, unnest($3::text[], $4::text[], $5::text[], $6::text[]) AS o (address, deposed, action, document)
		ON CONFLICT (run, address, deposed) DO UPDATE SET action = excluded.action, started = excluded.started,
			document = excluded.document`, r.info.ID, r.fence.Load(), addresses, deposed, actions, documents).
		Exec(found)
	return nil
}

// Write implements statemgr.LedgerRun.
func (r *Run) Write(ctx context.Context, next func() *statemgr.Change) (serial, revision uint64, err error) {
	begun := r.hasBegun()
	change := sync.OnceValue(next) // a repeated transaction writes the same change
	var w *workspaceRow
	err = r.store.pipeline(ctx, readWrite, func(b *pgx.Batch) error {
		r.lock(b, &w)
		if !begun {
			return nil
		}
		return r.renew(b)
	}, func(ctx context.Context, tx session, last *pgx.Batch) (err error) {
		if w == nil {
			if w, err = r.ensureWorkspace(ctx, tx); err != nil {
				return err
			}
		}
		c := change()
		claimed := c
		if begun {
			claimed, err = r.unclaimed(ctx, tx, w.id, c)
		} else {
			err = r.momentary(ctx, tx, w.id, c)
		}
		if err != nil {
			return err
		}
		t := &transcript{tx: tx, batch: last, writing: r.writing,
			workspace: w.id, revision: w.revision, serial: w.serial}
		r.ended(t, c)
		if len(c.InDoubt) > 0 {
			if err := r.addSteps(last, c.InDoubt); err != nil {
				return err
			}
		}
		if !claimed.Empty() {
			t.next(claimed)
			t.exec("INSERT INTO revision (workspace, id, serial, run) "+
				"VALUES ($1::bigint, $2::bigint, $3::bigint, $4::text)",
				t.serial, r.info.ID)
			if err := t.write(ctx, claimed); err != nil {
				return err
			}
		}
		serial, revision = uint64(t.serial), uint64(t.revision)
		if begun {
			return nil
		}
		return r.done(last)
	})
	if err == nil && !begun {
		err = r.store.vacuumDue(ctx, r.workspace)
	}
	return serial, revision, explained(err)
}

// momentary claims the parts that a change writes, for a run without claims. For a change that
// replaces the whole state, it registers the run without claims; see replace. It returns an error
// if another run claims one of these parts, or has changed one since it was read.
func (r *Run) momentary(ctx context.Context, tx session, workspace int64, c *statemgr.Change) error {
	if c.Replaces {
		return r.replace(ctx, tx, workspace, int64(c.Base))
	}
	return r.claim(ctx, tx, workspace, footprintOf(c), nil)
}

// footprintOf returns the footprint of a change: the objects and outputs that it writes.
func footprintOf(c *statemgr.Change) *plans.Footprint {
	f := &plans.Footprint{Revision: c.Base}
	for _, o := range c.Objects {
		f.Writes = append(f.Writes, plans.Write{Addr: o.Addr, Existed: o.Existed})
	}
	for name := range c.Outputs {
		f.Outputs = append(f.Outputs, name)
	}
	return f
}

// unclaimed returns a change without the objects that belong to other runs. These are objects that
// this run doesn't claim, and that another run claims or has changed, or that are no longer in the
// state.
func (r *Run) unclaimed(
	ctx context.Context, tx session, workspace int64, c *statemgr.Change,
) (*statemgr.Change, error) {
	var extra []string
	r.mu.Lock()
	for _, o := range c.Objects {
		if !r.written[o.Addr.String()] {
			extra = append(extra, o.Addr.String())
		}
	}
	r.mu.Unlock()
	if len(extra) == 0 {
		return c, nil
	}
	rows, err := tx.Query(ctx, `SELECT a FROM unnest($2::text[]) AS a WHERE
		EXISTS (SELECT FROM claim WHERE workspace = $1::bigint AND kind = 'object' AND address = a AND run <> $3::text)
		OR EXISTS (SELECT FROM object o JOIN revision v ON v.workspace = o.workspace AND v.id = o.since
			WHERE o.workspace = $1::bigint AND o.address = a AND o.since > $4::bigint AND v.run <> $3::text)
		OR NOT EXISTS (SELECT FROM object WHERE workspace = $1::bigint AND address = a)`,
		workspace, extra, r.info.ID, int64(c.Base))
	if err != nil {
		return nil, err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(left) == 0 {
		return c, err
	}
	out := *c
	out.Objects = slices.DeleteFunc(slices.Clone(c.Objects), func(o statemgr.ObjectChange) bool {
		return slices.Contains(left, o.Addr.String())
	})
	return &out, nil
}

// ended deletes the records of steps that have ended, and those of earlier runs that are no longer
// in doubt.
func (r *Run) ended(t *transcript, c *statemgr.Change) {
	if len(c.Ended) > 0 {
		addresses, deposed := stepColumns(c.Ended)
		t.batch.Queue(`DELETE FROM operation o USING unnest($2::text[], $3::text[]) AS e (address, deposed)
			WHERE o.run = $1::text AND o.address = e.address AND o.deposed = e.deposed`, r.info.ID, addresses, deposed)
	}
	if len(c.Settled) > 0 {
		addresses, deposed := stepColumns(c.Settled)
		t.execNoRevision(`DELETE FROM operation o USING run r, unnest($2::text[], $3::text[]) AS e (address, deposed)
			WHERE o.workspace = $1::bigint AND o.address = e.address AND o.deposed = e.deposed
			AND r.id = o.run AND (r.ended IS NOT NULL OR r.lease < clock_timestamp())`, addresses, deposed)
	}
}

func stepColumns(ids []statemgr.ObjectID) (addresses, deposed []string) {
	for _, id := range ids {
		addresses, deposed = append(addresses, id.Addr.String()), append(deposed, string(id.Deposed))
	}
	return addresses, deposed
}

// Close implements statemgr.LedgerRun.
func (r *Run) Close(ctx context.Context) error {
	r.mu.Lock()
	begun, stop := r.begun, r.stop
	r.begun = false
	r.mu.Unlock()
	if !begun {
		return nil
	}
	stop()
	r.renewed.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	// If the run was lost, its writes have already failed with errLost.
	if err := r.store.pipeline(ctx, readWrite, r.done, nil); err != nil {
		return explained(err)
	}
	// The run has ended, so this failure doesn't matter to others: the next run tries again, and
	// "tofu state vacuum" reports it.
	_ = r.store.vacuumDue(ctx, r.workspace)
	return nil
}

// EndRun implements statemgr.Ledger.
func (s *Store) EndRun(ctx context.Context, workspace, id string) error {
	return explained(s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := lockWorkspace(ctx, tx, workspace); err != nil {
			return err
		}
		var running bool
		err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM run r JOIN workspace w ON w.id = r.workspace "+
			"WHERE r.id = $1::text AND w.name = $2::text AND r.ended IS NULL)", id, workspace).Scan(&running)
		if err != nil {
			return err
		}
		if !running {
			return fmt.Errorf("the workspace %q has no run in progress with the ID %q", workspace, id)
		}
		return end(ctx, tx, []string{id})
	}))
}
