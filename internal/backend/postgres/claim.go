package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// Kinds of claims.
const (
	claimResource = "resource" // writing some of its objects
	claimWhole    = "whole"    // reading all of its objects, and which exist
	claimObject   = "object"
	claimOutput   = "output"
	claimAll      = "outputs" // reading which outputs exist, in another workspace
)

// claim adds the claims of a footprint, and checks that no other run has one that conflicts and
// that nothing was changed since. The row of the workspace is locked.
func (r *Run) claim(ctx context.Context, tx pgx.Tx, workspace int64, f *plans.Footprint) error {
	if err := r.addClaims(ctx, tx, workspace, f); err != nil {
		return err
	}
	if err := r.conflict(ctx, tx); err != nil {
		return err
	}
	for i := range f.Foreign {
		if err := checkOutputs(ctx, tx, &f.Foreign[i]); err != nil {
			return err
		}
	}
	return r.changed(ctx, tx, workspace, f)
}

// addClaims adds the claims. Writing an object is also a claim on its resource, which conflicts
// with reading that as a whole.
func (r *Run) addClaims(ctx context.Context, tx pgx.Tx, workspace int64, f *plans.Footprint) error {
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
	for _, addr := range f.Wholes { // beside a claim to write some of its objects
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
	_, err := tx.Exec(ctx, `INSERT INTO claim (workspace, run, kind, address, writes)
		SELECT $1::bigint, $2::text, * FROM unnest($3::text[], $4::text[], $5::boolean[])
		ON CONFLICT (workspace, address, kind, run) DO UPDATE SET writes = claim.writes OR excluded.writes`,
		workspace, r.info.ID, kinds, addresses, modes)
	return err
}

// conflicts finds a claim of the run $1 that conflicts with one of another run. The user may not be
// able to read the row of that run.
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

// conflict returns a *backend.LockedError if another run has a claim that conflicts with one of this
// run.
func (r *Run) conflict(ctx context.Context, tx pgx.Tx) error {
	info := new(backend.LockInfo)
	err := tx.QueryRow(ctx, conflicts, r.info.ID).
		Scan(&info.ID, &info.Operation, &info.Who, &info.Info, &info.Version, &info.Created, &info.Path)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return &backend.LockedError{Info: info}
}

// changes finds a part of the footprint that another run has changed since the revision $3.
const changes = `
	WITH mine AS (SELECT kind, address FROM claim WHERE workspace = $1::bigint AND run = $2::text),
	changed AS (
		SELECT o.address AS what, o.since AS at FROM mine m JOIN object o ON o.address = m.address
			WHERE m.kind = 'object' AND o.workspace = $1::bigint AND o.since > $3::bigint
		UNION ALL
		SELECT o.address, o.since FROM mine m JOIN object o ON o.config = m.address
			WHERE m.kind = 'whole' AND o.workspace = $1::bigint AND o.since > $3::bigint
		UNION ALL
		SELECT 'the instances of ' || k.config, k.since FROM mine m JOIN key_set k ON k.config = m.address
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

// changed returns a *statemgr.ChangedError if another run has changed a part of the footprint.
func (r *Run) changed(ctx context.Context, tx pgx.Tx, workspace int64, f *plans.Footprint) error {
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
	e := new(statemgr.ChangedError)
	err := tx.QueryRow(ctx, changes, workspace, r.info.ID, int64(f.Revision), present, slices.Compact(destroyed)).
		Scan(&e.What, &e.Run, &e.Operation, &e.Who, &e.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return e
}

// unchanged returns a *statemgr.ChangedError if another run has changed the workspace since a
// revision.
func (r *Run) unchanged(ctx context.Context, tx pgx.Tx, workspace, base int64) error {
	e := &statemgr.ChangedError{What: "the state"}
	err := tx.QueryRow(ctx, "SELECT r.id, r.operation, r.who, v.at FROM revision v JOIN run r ON r.id = v.run "+
		"WHERE v.workspace = $1::bigint AND v.id > $2::bigint AND v.run <> $3::text ORDER BY v.id LIMIT 1",
		workspace, base, r.info.ID).Scan(&e.Run, &e.Operation, &e.Who, &e.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return e
}
