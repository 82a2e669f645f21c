package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"tofu/internal/backend/pg"
	"tofu/internal/tfdiags"
)

// Schema is the name of the database schema with all tables of the queue.
const Schema = "tofu_queue"

// Protocol is the version of what callers and workers exchange. Workers take only the tasks of
// their own version.
const Protocol = 2

// format is the version of the tables.
const format = 1

// tables creates the tables of format 1. River creates its own.
const tables = `
CREATE TABLE format (version int NOT NULL);
INSERT INTO format VALUES (1);
CREATE TABLE runs (
	id text PRIMARY KEY,
	protocol int NOT NULL,
	operation text NOT NULL,
	status text NOT NULL,
	phase int NOT NULL DEFAULT 1,
	stop int NOT NULL DEFAULT 0,
	auto boolean NOT NULL,
	priority int NOT NULL,
	virtual bigint NOT NULL DEFAULT 0,
	who text NOT NULL,
	trace text NOT NULL DEFAULT '',
	about jsonb NOT NULL,
	created timestamptz NOT NULL DEFAULT clock_timestamp(),
	ended timestamptz
);
CREATE TABLE tasks (
	run text NOT NULL REFERENCES runs ON DELETE CASCADE,
	phase int NOT NULL,
	n int NOT NULL,
	root text NOT NULL,
	labels text[] NOT NULL,
	queue text NOT NULL,
	needs int[] NOT NULL,
	uses int[] NOT NULL,
	dependents int[] NOT NULL,
	unmet int NOT NULL,
	status text NOT NULL,
	fence bigint NOT NULL DEFAULT 0,
	worker text NOT NULL DEFAULT '',
	lease timestamptz,
	begun boolean NOT NULL DEFAULT false,
	reasons text[] NOT NULL DEFAULT '{}',
	archive text NOT NULL,
	input jsonb NOT NULL,
	outcome jsonb,
	shown bytea,
	plan bytea,
	outputs bytea,
	queued timestamptz,
	started timestamptz,
	ended timestamptz,
	PRIMARY KEY (run, phase, n)
);
CREATE INDEX tasks_live ON tasks (status, queue) WHERE status IN ('queued', 'running');
CREATE INDEX tasks_ready ON tasks (run, queue, n) WHERE status = 'ready';
CREATE INDEX tasks_open ON tasks (run, phase) WHERE ended IS NULL;
CREATE INDEX tasks_ended ON tasks (run, phase, ended);
CREATE TABLE events (
	id bigserial PRIMARY KEY,
	run text NOT NULL REFERENCES runs ON DELETE CASCADE,
	phase int NOT NULL,
	n int NOT NULL,
	xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	at timestamptz NOT NULL DEFAULT clock_timestamp(),
	data bytea NOT NULL
);
CREATE INDEX events_run ON events (run, xid);
CREATE TABLE files (
	hash text PRIMARY KEY,
	data bytea NOT NULL,
	used timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE workers (
	id text PRIMARY KEY,
	host text NOT NULL,
	program text NOT NULL,
	protocol int NOT NULL,
	labels text[] NOT NULL,
	jobs int NOT NULL,
	running int NOT NULL DEFAULT 0,
	seen timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE queues (name text PRIMARY KEY, protocol int NOT NULL, labels text[] NOT NULL);
CREATE TABLE rates (
	account text NOT NULL,
	provider text NOT NULL,
	next timestamptz NOT NULL,
	PRIMARY KEY (account, provider)
);
CREATE TABLE label_limits (label text PRIMARY KEY, most int NOT NULL);
`

// Queue is a connection to the database of a queue.
type Queue struct {
	pool  *pgxpool.Pool
	river *river.Client[pgx.Tx] // only inserts jobs
}

// maxConns limits the connections of a process to the queue. Workers listen on two more, callers on one.
const maxConns = 3

// Open connects to a queue, and creates its tables if they are missing. address is a connection
// string of PostgreSQL.
func Open(ctx context.Context, address string) (*Queue, error) {
	fail := func(err error) error {
		if pg.Declined(err) {
			return tfdiags.Errorf("The queue can't be used", "%s. %s.", trimmed(err), pg.TLSAdvice)
		}
		return tfdiags.Errorf("The queue can't be used", "%s. The option -queue or TOFU_QUEUE must have the address of a "+
			"PostgreSQL database, such as postgres://USER@HOST/DATABASE.", trimmed(err))
	}
	config, err := pgxpool.ParseConfig(pg.WithTLS(address))
	if err != nil {
		return nil, fail(err)
	}
	config.MaxConns, config.MaxConnIdleTime = maxConns, time.Minute
	connect := config.ConnConfig
	if connect.ConnectTimeout == 0 {
		connect.ConnectTimeout = 10 * time.Second
	}
	// The search path is in the transactions' statements, because a pooler may refuse the parameter.
	connect.DefaultQueryExecMode = pgx.QueryExecModeExec
	connect.StatementCacheCapacity, connect.DescriptionCacheCapacity = 0, 0
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = "tofu queue"
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET search_path TO "+Schema)
		return err
	}
	q := &Queue{}
	if q.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fail(err)
	}
	if err := q.prepare(ctx); err != nil {
		q.Close()
		if _, known := errors.AsType[tfdiags.Diagnostic](err); known {
			return nil, err
		}
		return nil, fail(err)
	}
	q.river, err = river.NewClient(riverpgxv5.New(q.pool), &river.Config{Schema: Schema, Logger: silent,
		FetchCooldown: fetchCooldown})
	if err != nil {
		q.Close()
		return nil, fail(err)
	}
	return q, nil
}

// fetchCooldown is the shortest time between two notifications of new jobs, and between two fetches.
const fetchCooldown = 20 * time.Millisecond

// silent drops the log of River: its failures are also errors of its methods.
var silent = slog.New(slog.DiscardHandler)

// Close closes the connections.
func (q *Queue) Close() { q.pool.Close() }

// prepare creates the tables unless they are there, and checks their version.
func (q *Queue) prepare(ctx context.Context) error {
	version, err := q.version(ctx)
	if err == nil && version == 0 {
		err = q.create(ctx)
	}
	if err != nil || version <= format {
		return err
	}
	return tfdiags.Errorf("The queue is of another version", "Its tables have version %d, and this program knows version "+
		"%d. Use the version of the program that its workers have.", version, format)
}

// version returns the version of the tables, or 0 if there are none.
func (q *Queue) version(ctx context.Context) (version int, err error) {
	var found bool
	err = q.pool.QueryRow(ctx, "SELECT to_regclass('"+Schema+".format') IS NOT NULL").Scan(&found)
	if err == nil && found {
		err = q.pool.QueryRow(ctx, "SELECT version FROM format").Scan(&version)
	}
	return version, err
}

// creation is the key of the lock that lets one process at a time create the tables.
const creation = 0x746f6675_71756575

func (q *Queue) create(ctx context.Context) error {
	conn, err := q.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(creation)); err != nil {
		return err
	}
	defer func() { _, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(creation)) }()
	version, err := q.version(ctx)
	if err != nil || version != 0 {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+Schema); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Schema: Schema, Logger: silent})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("creating the tables of River: %w", err)
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Conn().PgConn().Exec(ctx, tables).ReadAll()
		return err
	})
}

// tx runs a function in a transaction.
func (q *Queue) tx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, q.pool, do)
}
