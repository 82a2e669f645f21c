package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

var (
	_ statemgr.Historian    = (*Store)(nil)
	_ statemgr.RunHistorian = (*Store)(nil)
)

// vacuumEvery is the shortest time between automatic vacuums of a workspace, so that runs rarely
// spend time on them.
const vacuumEvery = 24 * time.Hour

// Keep implements statemgr.Historian.
func (s *Store) Keep() time.Duration { return s.keep }

// momentLayouts are the accepted forms of a time. Those without a zone are in local time.
var momentLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
	"2006-01-02 15:04", "2006-01-02"}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range momentLayouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// Moment implements statemgr.Historian.
func (s *Store) Moment(ctx context.Context, workspace, text string) (out *statemgr.Moment, err error) {
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		w, err := find(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if w == nil {
			return fmt.Errorf("the workspace %q has no state", workspace)
		}
		var revision *int64
		run := ""
		if at, ok := parseTime(text); ok {
			err = tx.QueryRow(ctx, "SELECT max(id) FROM revision "+
				"WHERE workspace = $1::bigint AND at <= $2::timestamptz", w.id, at).Scan(&revision)
		} else {
			run, revision, err = runEnd(ctx, tx, w.id, text)
		}
		if err != nil {
			return err
		}
		if out, err = moment(ctx, tx, w.id, revision); err == nil {
			out.Run = run
		}
		return err
	})
	return out, explained(err)
}

// runEnd finds the run whose ID begins with prefix. It returns the ID and the last revision that
// the run made. If the run made none, it returns the workspace's revision at the end of the run, or
// nil if there was none.
func runEnd(ctx context.Context, tx pgx.Tx, workspace int64, prefix string) (string, *int64, error) {
	type end struct {
		ID       string
		Revision *int64
	}
	rows, err := tx.Query(ctx, `SELECT r.id, coalesce((SELECT max(id) FROM revision v WHERE v.run = r.id),
			(SELECT max(id) FROM revision v WHERE v.workspace = r.workspace AND v.at <= coalesce(r.ended, now())))
		FROM run r WHERE r.workspace = $1::bigint AND starts_with(r.id, $2::text) LIMIT 2`, workspace, prefix)
	if err != nil {
		return "", nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[end])
	switch {
	case err != nil:
		return "", nil, err
	case len(found) == 0 || prefix == "":
		return "", nil, fmt.Errorf("%q is neither a time, such as 2026-01-31T12:00:00Z, nor the ID of a run in the "+
			"history of the workspace: \"tofu state history\" lists the runs", prefix)
	case len(found) > 1:
		return "", nil, fmt.Errorf("the IDs of several runs begin with %q: add more characters", prefix)
	}
	return found[0].ID, found[0].Revision, nil
}

// moment returns a revision with its time. It returns an error if revision is nil or older than the
// history.
func moment(ctx context.Context, tx pgx.Tx, workspace int64, revision *int64) (*statemgr.Moment, error) {
	var first *time.Time
	var since int64
	if err := tx.QueryRow(ctx, `SELECT w.history_since, (SELECT min(at) FROM revision v
			WHERE v.workspace = w.id AND v.id >= w.history_since) FROM workspace w WHERE w.id = $1::bigint`,
		workspace).Scan(&since, &first); err != nil {
		return nil, err
	}
	if revision == nil || *revision < since {
		if first == nil {
			return nil, errors.New("the workspace has no history")
		}
		return nil, fmt.Errorf("the history of the workspace begins at %s: choose a later time or run",
			first.UTC().Format(time.RFC3339))
	}
	out := &statemgr.Moment{Revision: uint64(*revision)}
	err := tx.QueryRow(ctx, "SELECT serial, at FROM revision WHERE workspace = $1::bigint AND id = $2::bigint",
		workspace, *revision).Scan(&out.Serial, &out.At)
	return out, err
}

// LoadStateAt implements statemgr.Historian.
func (s *Store) LoadStateAt(
	ctx context.Context, workspace string, at *statemgr.Moment, codec statemgr.Codec,
) (*statemgr.Loaded, error) {
	out := &statemgr.Loaded{State: states.New()}
	var r *reading
	err := s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		w, err := find(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		out.Exists, out.Lineage, out.Version = true, w.lineage, w.program
		out.Serial, out.Revision = at.Serial, at.Revision
		r = &reading{codec: codec}
		r.text = fmt.Appendf(nil, `{"version":4,"terraform_version":%s,"serial":%d,"lineage":%s,"outputs":{`,
			quoted(w.program), at.Serial, quoted(w.lineage))
		if err := r.outputsAt(ctx, tx, w.id, at); err != nil {
			return err
		}
		r.text = append(r.text, `},"resources":[`...)
		if err := r.objectsAt(ctx, tx, w.id, at); err != nil {
			return err
		}
		r.text = append(r.text, `],"check_results":null}`...)
		return nil
	})
	if err != nil || !out.Exists {
		return out, explained(err)
	}
	file, err := statefile.ParseSections(r.text, r.sections)
	if err != nil {
		return nil, err
	}
	out.State = file.State
	return out, nil
}

// versionsAt returns a query for the given columns of the rows that a table had at revision $2.
func versionsAt(table, columns string) string {
	return strings.NewReplacer("TABLE", table, "COLUMNS", columns).Replace(
		`SELECT COLUMNS FROM TABLE WHERE workspace = $1::bigint AND since <= $2::bigint
		UNION ALL
		SELECT COLUMNS FROM TABLE_history WHERE workspace = $1::bigint AND since <= $2::bigint AND until > $2::bigint`)
}

func (r *reading) outputsAt(ctx context.Context, tx pgx.Tx, workspace int64, at *statemgr.Moment) error {
	rows, err := tx.Query(ctx, versionsAt("output", "name, encrypted, document")+" ORDER BY name",
		workspace, int64(at.Revision))
	if err != nil {
		return err
	}
	return r.outputs(ctx, rows)
}

// objectsAt reads the objects at a moment. Resources have no history of their own, so they are
// reconstructed from their objects.
func (r *reading) objectsAt(ctx context.Context, tx pgx.Tx, workspace int64, at *statemgr.Moment) error {
	rows, err := tx.Query(ctx, versionsAt("object",
		"resource, address, deposed, instance_key::text, provider, encrypted, document")+" ORDER BY 1, 2, 3",
		workspace, int64(at.Revision))
	if err != nil {
		return err
	}
	var resource, address, deposed, provider, previous, common string
	var key *string
	var document pgtype.DriverBytes
	var encrypted bool
	r.beginResources()
	columns := []any{&resource, &address, &deposed, &key, &provider, &encrypted, &document}
	_, err = pgx.ForEachRow(rows, columns, func() error {
		if resource != previous {
			previous = resource
			addr, err := addrs.ParseInstanceText(address)
			if err != nil {
				return err
			}
			config, err := addrs.ParseProviderInstanceText(provider)
			if err != nil {
				return err
			}
			common = config.Config.String()
			r.resource(&resourceRow{module: string(addr.Module), mode: addr.Resource.Mode.String(),
				typ: addr.Resource.Type, name: addr.Resource.Name, provider: common})
		}
		text, err := r.plain(ctx, document, encrypted, objectID(address, deposed))
		if err != nil {
			return err
		}
		own := provider
		if own == common {
			own = ""
		}
		r.object(key, deposed, own, text)
		return nil
	})
	r.endResources()
	return err
}

// Turnover implements statemgr.Historian.
func (s *Store) Turnover(
	ctx context.Context, workspace string, since *statemgr.Moment,
) (out *statemgr.Turnover, err error) {
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		out = &statemgr.Turnover{Created: map[addrs.AbsInstance]bool{}, Destroyed: map[addrs.AbsInstance]bool{}}
		w, err := find(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		// If several objects have left an address since then, the first of them is the object that
		// was there at that moment. If it moved, the first one that left its next address after the
		// move is the same object, and so on.
		rows, err := tx.Query(ctx, `WITH RECURSIVE path AS (
				(SELECT DISTINCT ON (address) address, ending, moved_to, until FROM object_history
					WHERE workspace = $1::bigint AND deposed = '' AND until > $2::bigint AND ending IS NOT NULL
					ORDER BY address, until)
				UNION ALL
				SELECT p.address, n.ending, n.moved_to, n.until FROM path p CROSS JOIN LATERAL (
					SELECT h.ending, h.moved_to, h.until FROM object_history h
					WHERE h.workspace = $1::bigint AND h.address = p.moved_to AND h.deposed = '' AND h.until > p.until
						AND h.ending IS NOT NULL
					ORDER BY h.until LIMIT 1) n)
			SELECT address, true FROM object
				WHERE workspace = $1::bigint AND deposed = '' AND since > $2::bigint AND created
			UNION ALL
			SELECT address, false FROM path WHERE ending = $3::text`, w.id, int64(since.Revision), destroyed)
		if err != nil {
			return err
		}
		var address string
		var created bool
		_, err = pgx.ForEachRow(rows, []any{&address, &created}, func() error {
			addr, err := addrs.ParseInstanceText(address)
			if created {
				out.Created[addr] = true
			} else {
				out.Destroyed[addr] = true
			}
			return err
		})
		return err
	})
	return out, explained(err)
}

// RunParts implements statemgr.RunHistorian.
func (s *Store) RunParts(ctx context.Context, workspace, run string) (out *statemgr.RunParts, err error) {
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		out = new(statemgr.RunParts)
		w, err := find(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if w == nil {
			return fmt.Errorf("the workspace %q has no state", workspace)
		}
		if out.Run, _, err = runEnd(ctx, tx, w.id, run); err != nil {
			return err
		}
		var first, last, before *int64
		if err := tx.QueryRow(ctx, `SELECT min(id), max(id), (SELECT max(v.id) FROM revision v
				WHERE v.workspace = $1::bigint AND v.id < (SELECT min(id) FROM revision WHERE run = $2::text))
			FROM revision WHERE run = $2::text`, w.id, out.Run).Scan(&first, &last, &before); err != nil {
			return err
		}
		if first == nil {
			return fmt.Errorf("the run %s changed nothing", out.Run)
		}
		if _, err := moment(ctx, tx, w.id, first); err != nil {
			return err
		}
		if before != nil {
			if out.Before, err = moment(ctx, tx, w.id, before); err != nil {
				return err
			}
		}
		rows, err := tx.Query(ctx, `SELECT DISTINCT address FROM changes
			WHERE workspace = $1::text AND kind = 'instance' AND deposed = '' AND run = $2::text`, workspace, out.Run)
		if err != nil {
			return err
		}
		var address string
		if _, err := pgx.ForEachRow(rows, []any{&address}, func() error {
			addr, err := addrs.ParseInstanceText(address)
			out.Changed = append(out.Changed, addr)
			return err
		}); err != nil {
			return err
		}
		rows, err = tx.Query(ctx, `SELECT at, run, operation, who, address, action FROM changes
			WHERE workspace = $1::text AND kind = 'instance' AND deposed = '' AND revision > $3::bigint AND run <> $2::text
				AND address IN (SELECT address FROM changes WHERE workspace = $1::text AND kind = 'instance'
					AND deposed = '' AND run = $2::text)
			ORDER BY revision, address`, workspace, out.Run, *last)
		if err != nil {
			return err
		}
		out.Later, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c statemgr.PartChange, err error) {
			return c, row.Scan(&c.At, &c.Run, &c.Operation, &c.Who, &c.Address, &c.Action)
		})
		return err
	})
	return out, explained(err)
}

// RunChanges implements statemgr.Historian.
func (s *Store) RunChanges(ctx context.Context, workspace string, limit int) (out []statemgr.RunChange, err error) {
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT r.started, r.id, r.operation, r.who, coalesce(r.outcome, ''),
				c.created, c.updated, c.deleted
			FROM (SELECT run, max(revision) AS last, count(*) FILTER (WHERE action = 'create') AS created,
					count(*) FILTER (WHERE action = 'update') AS updated,
					count(*) FILTER (WHERE action = 'delete') AS deleted
				FROM changes WHERE workspace = $1::text GROUP BY run) c
			JOIN runs r ON r.id = c.run
			ORDER BY c.last DESC LIMIT nullif($2::int, 0)`, workspace, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c statemgr.RunChange, err error) {
			err = row.Scan(&c.At, &c.Run, &c.Operation, &c.Who, &c.Outcome, &c.Created, &c.Updated, &c.Deleted)
			return c, err
		})
		return err
	})
	return out, explained(err)
}

// PartChanges implements statemgr.Historian.
func (s *Store) PartChanges(
	ctx context.Context, workspace string, part statemgr.Part, limit int,
) (out []statemgr.PartChange, err error) {
	kind, address := "instance", part.Address
	if part.Output != "" {
		kind, address = "output", part.Output
	}
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT at, run, operation, who, address, deposed, action, before::text, after::text
			FROM changes WHERE workspace = $1::text AND kind = $2::text AND (address = $3::text OR kind = 'instance'
				AND (starts_with(address, $3::text || '[') OR starts_with(address, $3::text || '.')))
			ORDER BY revision DESC, address, deposed LIMIT nullif($4::int, 0)`, workspace, kind, address, limit)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c statemgr.PartChange, err error) {
			var before, after *string
			err = row.Scan(&c.At, &c.Run, &c.Operation, &c.Who, &c.Address, &c.Deposed, &c.Action, &before, &after)
			c.Before, c.After = raw(before), raw(after)
			return c, err
		})
		return err
	})
	return out, explained(err)
}

// raw returns a JSON value of the database, or nil for NULL.
func raw(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return json.RawMessage(*text)
}

// Vacuum implements statemgr.Historian.
func (s *Store) Vacuum(ctx context.Context, workspace string, keep time.Duration) (out *statemgr.Vacuumed, err error) {
	err = s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		out = new(statemgr.Vacuumed)
		w, err := lockWorkspace(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		return vacuum(ctx, tx, w.id, keep, out)
	})
	return out, explained(err)
}

// vacuum removes the versions that were replaced longer ago than the duration keep, and the records
// of revisions and runs that nothing refers to anymore. The caller has locked the row of the
// workspace.
func vacuum(ctx context.Context, tx pgx.Tx, workspace int64, keep time.Duration, out *statemgr.Vacuumed) error {
	// The state at the start of the retention period must remain complete.
	var first, versions int64
	var at *time.Time
	err := tx.QueryRow(ctx, `UPDATE workspace w SET vacuumed = now(), history_since = greatest(w.history_since,
			(SELECT max(id) FROM revision v WHERE v.workspace = w.id AND v.at < now() - $2::text::interval))
		WHERE w.id = $1::bigint RETURNING history_since,
			(SELECT at FROM revision v WHERE v.workspace = w.id AND v.id = history_since)`,
		workspace, fmt.Sprintf("%d seconds", int64(keep.Seconds()))).Scan(&first, &at)
	if err != nil {
		return err
	}
	if at != nil {
		out.Since = *at
	}
	for _, table := range []string{"object_history", "output_history"} {
		tag, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE workspace = $1::bigint AND until <= $2::bigint",
			workspace, first)
		if err != nil {
			return err
		}
		versions += tag.RowsAffected()
	}
	out.Versions = int(versions)
	if _, err := tx.Exec(ctx, `DELETE FROM revision v WHERE v.workspace = $1::bigint AND v.id < $2::bigint
		AND NOT EXISTS (SELECT FROM object o WHERE o.workspace = v.workspace AND o.since = v.id)
		AND NOT EXISTS (SELECT FROM object_history o WHERE o.workspace = v.workspace AND o.since = v.id)
		AND NOT EXISTS (SELECT FROM output o WHERE o.workspace = v.workspace AND o.since = v.id)
		AND NOT EXISTS (SELECT FROM output_history o WHERE o.workspace = v.workspace AND o.since = v.id)`,
		workspace, first); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM run r WHERE r.workspace = $1::bigint AND r.ended < now() - $2::text::interval
		AND NOT EXISTS (SELECT FROM revision v WHERE v.run = r.id)
		AND NOT EXISTS (SELECT FROM operation o WHERE o.run = r.id)`,
		workspace, fmt.Sprintf("%d seconds", int64(keep.Seconds())))
	return err
}

// vacuumDue vacuums a workspace if the settings limit the history and the last vacuum is long
// enough ago: vacuumEvery or half the retention period, whichever is shorter.
func (s *Store) vacuumDue(ctx context.Context, workspace string) error {
	if s.keep == 0 {
		return nil
	}
	return s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		w, err := lockWorkspace(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		var due bool
		err = tx.QueryRow(ctx, "SELECT vacuumed < now() - $2::text::interval FROM workspace WHERE id = $1::bigint",
			w.id, fmt.Sprintf("%d seconds", int64(min(vacuumEvery, s.keep/2).Seconds()))).Scan(&due)
		if err != nil || !due {
			return err
		}
		return vacuum(ctx, tx, w.id, s.keep, new(statemgr.Vacuumed))
	})
}
