package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/states/statemgr"
	"tofu/internal/version"
)

// migrations holds one file for each version of the schema. Each file upgrades the schema from the
// previous version.
//
//go:embed schema/*.sql
var migrations embed.FS

// schemaVersion is the version of the schema that this program uses.
const schemaVersion = 6

// minServer is the oldest supported version of PostgreSQL, in the form of server_version_num.
const minServer = 130000

// prepare creates the schema, or upgrades it to the version of this program.
func (s *Store) prepare(ctx context.Context) error {
	var server, present int
	table := pgx.Identifier{s.schema, "schema_version"}.Sanitize()
	err := s.pool.repeat(ctx, func() error { // one round trip, if the table exists
		return s.pool.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, "+
			"coalesce(max(version), 0) FROM "+table).Scan(&server, &present)
	})
	var failed *pgconn.PgError
	if errors.As(err, &failed) && (failed.Code == noTable || failed.Code == noSchema) {
		err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) (err error) {
			if err := tx.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&server); err != nil {
				return err
			}
			present, err = s.installed(ctx, tx)
			return err
		})
	}
	if err == nil {
		err = checkServer(server)
	}
	if err == nil && present < schemaVersion {
		err = s.transaction(ctx, readWrite, s.upgrade)
	}
	switch {
	case err != nil:
		return fmt.Errorf("preparing the database for states: %w", explained(err))
	case present > schemaVersion:
		return tooNew(present)
	}
	return nil
}

func checkServer(number int) error {
	if number < minServer {
		return fmt.Errorf("the server runs PostgreSQL %d, but the oldest supported version is %d",
			number/10000, minServer/10000)
	}
	return nil
}

func tooNew(present int) error {
	return fmt.Errorf("the database schema has version %d, and this program knows versions up to %d: a newer program "+
		"has upgraded it, so use a newer program", present, schemaVersion)
}

// installed returns the version of the schema, or 0 before the first migration.
func (s *Store) installed(ctx context.Context, tx pgx.Tx) (present int, err error) {
	var exists bool
	table := pgx.Identifier{s.schema, "schema_version"}.Sanitize()
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", table).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM "+table).Scan(&present)
	return present, err
}

// upgrade applies the missing migrations. A lock prevents concurrent upgrades.
func (s *Store) upgrade(ctx context.Context, tx pgx.Tx) error {
	key := fnv.New64a()
	key.Write([]byte("tofu schema " + s.schema))
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", int64(key.Sum64())); err != nil {
		return err
	}
	if err := s.createSchema(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS schema_version (version int PRIMARY KEY, "+
		"program text NOT NULL, at timestamptz NOT NULL DEFAULT now())"); err != nil {
		return err
	}
	present, err := s.installed(ctx, tx)
	if err != nil {
		return err
	}
	if present > 0 && present < schemaVersion {
		if err := noOldRuns(ctx, tx, present); err != nil {
			return err
		}
	}
	for v := present + 1; v <= schemaVersion; v++ {
		text, err := migrations.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
		if err != nil {
			return err
		}
		// The simple protocol runs several statements at once.
		if _, err := tx.Conn().PgConn().Exec(ctx, string(text)).ReadAll(); err != nil {
			return fmt.Errorf("upgrading the schema to version %d: %w", v, err)
		}
		if _, err := tx.Exec(ctx, "INSERT INTO schema_version (version, program) VALUES ($1::int, $2::text)",
			v, version.Build()); err != nil {
			return err
		}
	}
	return nil
}

// noOldRuns returns an error if a run of an older program is in progress, because that program
// could not record its results after the upgrade. No run can begin until the transaction ends.
// present is the version of the schema before the upgrade.
func noOldRuns(ctx context.Context, tx pgx.Tx, present int) error {
	if _, err := tx.Exec(ctx, "LOCK TABLE run IN SHARE ROW EXCLUSIVE MODE"); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "SELECT id, operation, who, process FROM run "+
		"WHERE ended IS NULL AND lease > clock_timestamp() ORDER BY started")
	if err != nil {
		return err
	}
	var id, operation, who, process string
	var running error
	_, err = pgx.ForEachRow(rows, []any{&id, &operation, &who, &process}, func() error {
		if running == nil && !statemgr.ProcessGone(process) {
			running = fmt.Errorf("the database schema has version %d and must be upgraded to %d, but the run %s of %s "+
				"(%s) is in progress: try again when it has ended", present, schemaVersion, id, who, operation)
		}
		return nil
	})
	return cmp.Or(err, running)
}

// queueVersion queues a query for the version of the schema. Its error says that a newer program
// has upgraded the schema since this program opened it.
func queueVersion(b *pgx.Batch) {
	b.Queue("SELECT max(version) FROM schema_version").QueryRow(func(row pgx.Row) error {
		var present int
		err := row.Scan(&present)
		if err == nil && present > schemaVersion {
			return tooNew(present)
		}
		return err
	})
}

// createSchema creates the schema. Users who may not create schemas can still use an existing one.
func (s *Store) createSchema(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1::text)", s.schema).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{s.schema}.Sanitize())
	var failed *pgconn.PgError
	if errors.As(err, &failed) && failed.Code == noPrivilege {
		return fmt.Errorf("%v. Create the schema %q as an administrator, and grant the user of the connection "+
			"string USAGE and CREATE on it", err, s.schema)
	}
	return err
}
