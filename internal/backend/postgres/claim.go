package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// Kinds of claims.
const (
	claimResource = "resource" // writing some objects of a resource
	claimWhole    = "whole"    // reading all objects of a resource, and which of them exist
	claimObject   = "object"
	claimOutput   = "output"
	claimAll      = "outputs" // reading which outputs another workspace has
)

// claim registers the run and adds the claims of a footprint. It returns an error if another run
// has a conflicting claim, or has changed something in the footprint since it was read. It locks
// the rows of the workspace and of the workspaces in foreign, whose outputs the run claims.
func (r *Run) claim(
	ctx context.Context, tx session, workspace int64, f *plans.Footprint, foreign map[string]int64,
) error {
	var held, changed error
	workspaces := slices.AppendSeq([]int64{workspace}, maps.Values(foreign))
	err := r.enter(ctx, tx, workspaces, func(b *pgx.Batch) {
		r.addClaims(b, workspace, f)
		r.claimOutputs(b, f.Foreign, foreign)
		b.Queue(conflicts, r.info.ID).QueryRow(func(row pgx.Row) (err error) {
			held, err = lockedBy(row)
			return err
		})
		r.queueChanges(b, workspace, f, &changed)
	})
	if err != nil {
		return err
	}
	if held != nil {
		return held
	}
	for i := range f.Foreign {
		if err := checkOutputs(ctx, tx, &f.Foreign[i]); err != nil {
			return err
		}
	}
	return changed
}

// addClaims adds the claims. A claim to write an object also claims its resource, so that it
// conflicts with reading the resource as a whole.
func (r *Run) addClaims(b *pgx.Batch, workspace int64, f *plans.Footprint) {
	type key struct{ kind, address string }
	writes := map[key]bool{}
	add := func(kind, address string, write bool) {
		k := key{kind, address}
		writes[k] = writes[k] || write
	}
	for _, w := range f.Writes {
		add(claimObject, w.Addr.String(), true)
		add(claimResource, w.Addr.Config().String(), true)
	}
	for _, addr := range f.Reads {
		add(claimObject, addr.String(), false)
	}
	for _, addr := range f.Wholes { // possibly in addition to a claim to write some of its objects
		add(claimWhole, addr.String(), false)
	}
	for _, name := range f.Outputs {
		add(claimOutput, name, true)
	}
	var kinds, addresses []string
	var modes []bool
	for k, write := range writes {
		kinds, addresses, modes = append(kinds, k.kind), append(addresses, k.address), append(modes, write)
	}
	b.Queue(`INSERT INTO claim (workspace, run, kind, address, writes)
		SELECT $1::bigint, $2::text, * FROM unnest($3::text[], $4::text[], $5::boolean[])
		ON CONFLICT (workspace, address, kind, run) DO UPDATE SET writes = claim.writes OR excluded.writes`,
		workspace, r.info.ID, kinds, addresses, modes)
}

// conflicts is a query for a claim of the run $1 that conflicts with a claim of another run.
// Columns from table run are empty if the user has no permission to read the other run's row.
const conflicts = `
	WITH found AS (
		SELECT c.run, m.kind, m.address
		FROM claim m JOIN claim c ON c.workspace = m.workspace AND c.address = m.address AND c.run <> m.run
			AND (c.kind = m.kind AND c.kind IN ('object', 'output') AND (c.writes OR m.writes)
				OR c.kind = 'resource' AND m.kind = 'whole' OR c.kind = 'whole' AND m.kind = 'resource')
		WHERE m.run = $1::text
		UNION ALL
		SELECT c.run, 'output', coalesce(nullif(m.address, ''), c.address)
		FROM claim m JOIN claim c ON c.workspace = m.workspace AND c.run <> m.run
			AND (c.kind = 'outputs' AND m.kind = 'output' AND m.writes
				OR m.kind = 'outputs' AND c.kind = 'output' AND c.writes)
		WHERE m.run = $1::text
	)
	SELECT f.run, coalesce(r.operation, ''), coalesce(r.who, ''), coalesce(r.process, ''), coalesce(r.program, ''),
		coalesce(r.started, now()), CASE f.kind WHEN 'output' THEN 'output.' ELSE '' END || f.address
	FROM found f LEFT JOIN run r ON r.id = f.run
	ORDER BY f.kind, f.address LIMIT 1`

// lockedBy returns a *backend.LockedError that names the run in the given row, or nil if the query
// found no row.
func lockedBy(row pgx.Row) (held, err error) {
	info := new(backend.LockInfo)
	err = row.Scan(&info.ID, &info.Operation, &info.Who, &info.Info, &info.Version, &info.Created, &info.Path)
	if err != nil {
		return nil, ignoreNoRows(err)
	}
	return &backend.LockedError{Info: info}, nil
}

// changedBy returns a *statemgr.ChangedError that describes the change in the given row, or nil if
// the query found no row.
func changedBy(row pgx.Row) (changed, err error) {
	e := new(statemgr.ChangedError)
	if err := row.Scan(&e.What, &e.Run, &e.Operation, &e.Who, &e.At); err != nil {
		return nil, ignoreNoRows(err)
	}
	return e, nil
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// changes is a query for a part of the footprint that another run has changed since the revision
// $3.
const changes = `
	WITH mine AS (SELECT kind, address FROM claim WHERE workspace = $1::bigint AND run = $2::text),
	changed AS (
		SELECT o.address AS what, o.since AS at FROM mine m JOIN object o ON o.address = m.address
			WHERE m.kind = 'object' AND o.workspace = $1::bigint AND o.since > $3::bigint
		UNION ALL
		SELECT o.address, o.since FROM mine m JOIN object o ON o.config = m.address
			WHERE m.kind = 'whole' AND o.workspace = $1::bigint AND o.since > $3::bigint
		UNION ALL
		SELECT 'the set of instances of ' || k.config, k.since FROM mine m JOIN key_set k ON k.config = m.address
			WHERE m.kind = 'whole' AND k.workspace = $1::bigint AND k.since > $3::bigint
		UNION ALL
		SELECT 'output.' || o.name, o.since FROM mine m JOIN output o ON o.name = m.address
			WHERE m.kind = 'output' AND o.workspace = $1::bigint AND o.since > $3::bigint
		UNION ALL
		SELECT 'output.' || h.name, h.until FROM mine m JOIN output_history h ON h.name = m.address
			WHERE m.kind = 'output' AND h.workspace = $1::bigint AND h.until > $3::bigint
		UNION ALL
		SELECT a, coalesce((SELECT max(h.until) FROM object_history h
				WHERE h.workspace = $1::bigint AND h.address = a AND h.deposed = ''), 0)
			FROM unnest($4::text[]) AS a
			WHERE NOT EXISTS (SELECT FROM object o WHERE o.workspace = $1::bigint AND o.address = a)
		UNION ALL
		SELECT o.address || ', which depends on what the plan destroys,', o.since FROM object o
			WHERE o.workspace = $1::bigint AND o.since > $3::bigint AND o.dependencies && $5::text[]
			AND NOT EXISTS (SELECT FROM mine m WHERE m.kind = 'object' AND m.address = o.address)
	)
	SELECT c.what, coalesce(r.id, ''), coalesce(r.operation, ''), coalesce(r.who, ''), coalesce(v.at, now())
	FROM changed c LEFT JOIN revision v ON v.workspace = $1::bigint AND v.id = c.at LEFT JOIN run r ON r.id = v.run
	WHERE v.run IS DISTINCT FROM $2::text
	ORDER BY c.at, c.what LIMIT 1`

// queueChanges queues a query for a part of the footprint that another run has changed. It sets
// changed to a *statemgr.ChangedError, or to nil if there is no such part.
func (r *Run) queueChanges(b *pgx.Batch, workspace int64, f *plans.Footprint, changed *error) {
	var present, destroyed []string
	for _, w := range f.Writes {
		if w.Existed {
			present = append(present, w.Addr.String())
		}
		if w.Destroys {
			destroyed = append(destroyed, w.Addr.Config().String())
		}
	}
	for _, addr := range f.Reads {
		present = append(present, addr.String())
	}
	slices.Sort(destroyed)
	b.Queue(changes, workspace, r.info.ID, int64(f.Revision), present, slices.Compact(destroyed)).
		QueryRow(func(row pgx.Row) (err error) {
			*changed, err = changedBy(row)
			return err
		})
}

// replace registers a run that replaces the whole state. It returns an error if another run is
// running, or has changed the workspace since revision base.
func (r *Run) replace(ctx context.Context, tx session, workspace, base int64) error {
	var held, changed error
	err := r.enter(ctx, tx, []int64{workspace}, func(b *pgx.Batch) {
		b.Queue(running, []int64{workspace}, r.info.ID).QueryRow(func(row pgx.Row) (err error) {
			held, err = lockedBy(row)
			return err
		})
		b.Queue(changedSince, workspace, base, r.info.ID).QueryRow(func(row pgx.Row) (err error) {
			changed, err = changedBy(row)
			return err
		})
	})
	if err != nil {
		return err
	}
	if held != nil {
		return held
	}
	return changed
}
