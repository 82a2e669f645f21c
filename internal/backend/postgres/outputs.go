package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// Holds implements statemgr.Ledger. It compares the names of the schemas and databases and the
// addresses of the servers.
func (s *Store) Holds(other backend.Store) bool {
	o, ok := other.(*Store)
	if !ok || o.schema != s.schema {
		return false
	}
	a, b := s.pool.Config().ConnConfig, o.pool.Config().ConnConfig
	return a.Host == b.Host && a.Port == b.Port && a.Database == b.Database
}

// CheckOutputs implements statemgr.Ledger.
func (s *Store) CheckOutputs(ctx context.Context, read *plans.OutputsRead) error {
	return explained(s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		return checkOutputs(ctx, tx, read)
	}))
}

// checkOutputs returns a *statemgr.ChangedError if outputs were changed since they were read. If
// the user may only read outputs, the error doesn't say who changed them.
func checkOutputs(ctx context.Context, tx session, read *plans.OutputsRead) error {
	w, err := find(ctx, tx, read.Workspace)
	if err != nil {
		return err
	}
	if w == nil {
		return &statemgr.ChangedError{
			What: fmt.Sprintf("the workspace %q, whose outputs the plan has read,", read.Workspace),
		}
	}
	present := slices.DeleteFunc(slices.Clone(read.Names), func(name string) bool {
		return slices.Contains(read.Missing, name)
	})
	var name string
	var since *int64
	err = tx.QueryRow(ctx, `SELECT name, since FROM output
			WHERE workspace = $1::bigint AND since > $2::bigint AND ($3::boolean OR name = ANY($4::text[]))
		UNION ALL
		SELECT name, NULL FROM unnest($5::text[]) AS name
			WHERE NOT EXISTS (SELECT FROM output o WHERE o.workspace = $1::bigint AND o.name = name.name)
		ORDER BY name LIMIT 1`, w.id, int64(read.Revision), read.All, read.Names, present).Scan(&name, &since)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	e := &statemgr.ChangedError{What: fmt.Sprintf("output.%s of the workspace %q", name, read.Workspace)}
	return whoChanged(ctx, tx, w.id, name, since, e)
}

// whoChanged adds the run that changed an output to e, if the user may read runs, and returns e. If
// the query fails, it returns the error of the query instead. since is the revision of the output,
// or nil if the output was removed.
func whoChanged(
	ctx context.Context, tx session, workspace int64, name string, since *int64, e *statemgr.ChangedError,
) error {
	var allowed bool
	if err := tx.QueryRow(ctx, "SELECT has_table_privilege('run', 'SELECT')").Scan(&allowed); err != nil {
		return err
	}
	if !allowed {
		return e
	}
	err := tx.QueryRow(ctx, `SELECT r.id, r.operation, r.who, v.at FROM revision v JOIN run r ON r.id = v.run
		WHERE v.workspace = $1::bigint AND v.id = coalesce($2::bigint, (SELECT max(h.until) FROM output_history h
			WHERE h.workspace = $1::bigint AND h.name = $3::text))`, workspace, since, name).
		Scan(&e.Run, &e.Operation, &e.Who, &e.At)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return e
}

// lockAll locks the rows of the run's workspace, and of the workspaces whose outputs it has read
// and may claim. It returns the row of the run's workspace, and the IDs of the other workspaces by
// name. To avoid deadlocks, all runs lock rows in the order of the names.
func (r *Run) lockAll(
	ctx context.Context, tx session, foreign []plans.OutputsRead,
) (own *workspaceRow, others map[string]int64, err error) {
	names := []string{r.workspace}
	for i := range foreign {
		names = append(names, foreign[i].Workspace)
	}
	if len(names) > 1 {
		rows, err := tx.Query(ctx, `SELECT name FROM workspace w WHERE name = ANY($1::text[]) AND
			EXISTS (SELECT FROM visible v WHERE v.workspace = w.id AND v.level = 'write')`, names)
		if err != nil {
			return nil, nil, err
		}
		writable, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, nil, err
		}
		names = append(writable, r.workspace)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	others = map[string]int64{}
	for _, name := range names {
		if name == r.workspace {
			if own, err = r.ensureWorkspace(ctx, tx); err != nil {
				return nil, nil, err
			}
			continue
		}
		w, err := lockWorkspace(ctx, tx, name)
		if err != nil {
			return nil, nil, err
		}
		if w != nil {
			others[name] = w.id
		}
	}
	return own, others, nil
}

// claimOutputs adds claims for reading outputs of other workspaces. A user who may not write in
// another workspace can't claim its outputs, so they may change before the run ends.
func (r *Run) claimOutputs(b *pgx.Batch, foreign []plans.OutputsRead, locked map[string]int64) {
	for i := range foreign {
		read := &foreign[i]
		if id, ok := locked[read.Workspace]; ok {
			b.Queue(`INSERT INTO claim (workspace, run, kind, address, writes)
				SELECT $1::bigint, $2::text, $5::text, name, false FROM unnest($3::text[]) AS name
				UNION ALL SELECT $1::bigint, $2::text, $6::text, '', false WHERE $4::boolean
				ON CONFLICT DO NOTHING`, id, r.info.ID, read.Names, read.All, claimOutput, claimAll)
		}
	}
}
