package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend"
	"tofu/internal/states/statemgr"
	"tofu/internal/version"
)

var _ statemgr.Mender = (*Store)(nil)

// outputColumns are the columns that the table output and its history table have in common.
const outputColumns = "workspace, name, sensitive, value, encrypted, document, since"

// versioned holds, for each table with a history, the columns that both tables have in common.
var versioned = map[string]string{"object": objectColumns, "output": outputColumns}

// read checks that a row can be decrypted and has a valid document.
func (r *tableScan) read(ctx context.Context, row *sealedRow) (err error) {
	plain := []byte(row.document)
	if r.table.flag {
		plain, err = (&reading{codec: r.codec}).plain(ctx, []byte(row.document), row.encrypted, r.table.id(row.key))
	} else if r.codec != nil {
		plain, _, err = r.codec.Decrypt(ctx, plain)
	}
	if err != nil {
		return &sealedError{err}
	}
	if !json.Valid(plain) {
		return errors.New("its document is not valid JSON")
	}
	return r.table.check(plain)
}

// sealedError is the error of a document that can't be decrypted.
type sealedError struct{ error }

func (e *sealedError) Unwrap() error { return e.error }

// Damage implements statemgr.Mender. If nothing can be decrypted, it returns an error instead of
// damaged parts, because the key is probably missing.
func (s *Store) Damage(ctx context.Context, workspace string, codec statemgr.Codec) ([]statemgr.DamagedPart, error) {
	return s.damage(ctx, workspace, codec, func(*sealedTable) bool { return true })
}

// damage implements Damage for those tables for which the function in returns true.
func (s *Store) damage(
	ctx context.Context, workspace string, codec statemgr.Codec, in func(*sealedTable) bool,
) (out []statemgr.DamagedPart, err error) {
	readable := false
	for i := range sealedTables {
		t := &sealedTables[i]
		if !in(t) {
			continue
		}
		scan := &tableScan{s, workspace, codec, t}
		err = scan.each(ctx, func(rows []sealedRow) error {
			for _, row := range rows {
				cause := scan.read(ctx, &row)
				if cause == nil {
					readable = true
					continue
				}
				part := statemgr.DamagedPart{What: strings.TrimSpace(t.id(row.key)), Cause: cause,
					Document: row.document, Table: t.name, Key: row.key, Current: versioned[t.name] != ""}
				if part.Current {
					var err error
					if part.Restored, err = scan.earlier(ctx, row.key); err != nil {
						return err
					}
				}
				out = append(out, part)
			}
			return nil
		})
		if err != nil {
			return nil, explained(err)
		}
	}
	if !readable && len(out) > 0 && errors.As(out[0].Cause, new(*sealedError)) {
		return nil, &out[0]
	}
	return out, nil
}

// earlier returns the number of the latest version in the row's history that can be read, or "" if
// there is none.
func (r *tableScan) earlier(ctx context.Context, key []string) (restored string, err error) {
	t := *r.table
	t.name += "_history"
	history := &tableScan{r.store, r.workspace, r.codec, &t}
	var found []string
	// Read all versions of the key, which are few. Version -1 sorts before all of them.
	last := append(slices.Clone(key[:len(key)-1]), "-1")
	for {
		rows, err := history.page(ctx, last)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			if !slices.Equal(row.key[:len(key)-1], key[:len(key)-1]) {
				return latest(found), nil
			}
			if history.read(ctx, &row) == nil {
				found = append(found, row.key[len(key)-1])
			}
		}
		if len(rows) < pageSize {
			return latest(found), nil
		}
		last = rows[len(rows)-1].key
	}
}

func latest(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return versions[len(versions)-1]
}

// Mend implements statemgr.Mender.
func (s *Store) Mend(ctx context.Context, workspace string, info backend.LockInfo, parts []statemgr.DamagedPart) error {
	r := s.NewRun(workspace, nil, info).(*Run)
	var w *workspaceRow
	return explained(s.pipeline(ctx, readWrite, func(b *pgx.Batch) error {
		r.lock(b, &w)
		return nil
	}, func(ctx context.Context, tx session, last *pgx.Batch) error {
		if w == nil {
			return fmt.Errorf("the workspace %q no longer has a state", workspace)
		}
		var held error
		err := r.enter(ctx, tx, []int64{w.id}, func(b *pgx.Batch) {
			b.Queue(running, []int64{w.id}, r.info.ID).QueryRow(func(row pgx.Row) (err error) {
				held, err = lockedBy(row)
				return err
			})
		})
		if err != nil || held != nil {
			return errors.Join(err, held)
		}
		revision := w.revision + 1
		last.Queue("UPDATE workspace SET revision = $2::bigint, serial = serial + 1, program = $3::text "+
			"WHERE id = $1::bigint", w.id, revision, version.String)
		last.Queue("INSERT INTO revision (workspace, id, serial, run) "+
			"VALUES ($1::bigint, $2::bigint, $3::bigint, $4::text)",
			w.id, revision, w.serial+1, r.info.ID)
		for i := range parts {
			mendPart(last, w.id, revision, &parts[i])
		}
		return r.done(last)
	}))
}

// mendPart replaces a damaged row with an earlier version, or removes it. In the history, the
// earlier version is extended until this change and so replaces the damaged one.
func mendPart(b *pgx.Batch, workspace, revision int64, part *statemgr.DamagedPart) {
	t := &sealedTables[slices.IndexFunc(sealedTables, func(t sealedTable) bool { return t.name == part.Table })]
	args := []any{workspace}
	for _, column := range part.Key {
		args = append(args, column)
	}
	columns, values := t.columns(), t.parameters(2, "")
	where := fmt.Sprintf("workspace = $1::bigint AND (%s) = (%s)",
		strings.Join(columns, ", "), strings.Join(values, ", "))
	switch {
	case part.Restored != "":
		b.Queue("DELETE FROM "+t.name+" WHERE "+where, args...)
		args = append(slices.Clone(args[:len(args)-1]), part.Restored)
		b.Queue(fmt.Sprintf("INSERT INTO %s (%s) SELECT %[2]s FROM %[1]s_history WHERE %[3]s",
			t.name, versioned[t.name], where), args...)
		b.Queue(fmt.Sprintf("UPDATE %s_history SET until = $%d::bigint WHERE %s", t.name, len(args)+1, where),
			append(slices.Clip(args), revision)...)
		b.Queue(fmt.Sprintf("UPDATE %s SET since = $%d::bigint WHERE %s", t.name, len(args)+1, where),
			append(slices.Clip(args), revision)...)
	case t.name == "object":
		b.Queue(`WITH gone AS (DELETE FROM object WHERE `+where+` RETURNING resource, config),
			keys AS (INSERT INTO key_set (workspace, config, since) SELECT $1::bigint, config, $5::bigint FROM gone
				ON CONFLICT (workspace, config) DO UPDATE SET since = excluded.since)
			DELETE FROM resource r USING gone WHERE r.workspace = $1::bigint AND r.address = gone.resource
				AND NOT EXISTS (SELECT FROM object o WHERE o.workspace = r.workspace AND o.resource = r.address
					AND (o.address, o.deposed) <> ($2::text, $3::text))`, append(slices.Clip(args), revision)...)
	default:
		b.Queue("DELETE FROM "+t.name+" WHERE "+where, args...)
	}
}
