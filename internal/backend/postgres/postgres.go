package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tofu/internal/backend"
	"tofu/internal/backend/pg"
	"tofu/internal/configs/blocks"
	"tofu/internal/states/statemgr"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	ConnStr string `cfg:"conn_str,sensitive" env:"PG_CONN_STR"`
	Schema  string `cfg:"schema_name" env:"PG_SCHEMA_NAME" default:"tofu"`
	Keep    string `cfg:"keep"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"conn_str":    "The connection string: a postgres:// URL.",
		"schema_name": "The schema of the tables.",
		"keep":        "How long the history keeps earlier versions, such as 90d; without it, forever.",
	}
}

// Driver is the postgres backend.
var Driver = backend.New("postgres", open)

// Store is a database schema with the states of workspaces.
type Store struct {
	pool   *pool
	schema string
	keep   time.Duration // how long earlier versions are kept; 0 for forever
	owned  bool          // Close closes the pool
	// settings are the first statements of each transaction. They set the search path and time
	// limits.
	settings []string
}

// pool holds the connections to a server, which stores of several schemas may share.
type pool struct {
	*pgxpool.Pool
	// timeout limits a statement, including its waits for locks of other transactions. It is a
	// value for the server's setting statement_timeout.
	timeout string
	patient atomic.Bool // whether failures are retried for retryFor: a server was reached, or there are several hosts
}

const (
	// maxConns limits the connections of one process. A run uses one, and one more to renew its
	// lease.
	maxConns       = 4
	connectTimeout = 30 * time.Second
	idleTime       = time.Minute
	// statementTimeout limits a statement unless the connection string has that parameter.
	statementTimeout = "5min"
	// idleTimeout limits the time between two statements of a transaction, so that a machine that
	// goes to sleep during a transaction does not keep the lock of a workspace.
	idleTimeout = "1min"
)

func open(ctx context.Context, c *Config) (backend.Store, error) {
	keep, err := statemgr.ParseKeep(c.Keep)
	if err != nil {
		return nil, fmt.Errorf("the postgres backend's argument keep: %w", err)
	}
	shared, err := backend.Client(&c.Sharing, c.ConnStr, func() (*pool, error) {
		return newPool(ctx, c.ConnStr, c.Connections(maxConns))
	})
	if err != nil {
		return nil, err
	}
	s := &Store{pool: shared, schema: c.Schema, keep: keep, owned: c.Owned(), settings: []string{
		"SET LOCAL search_path TO " + pgx.Identifier{c.Schema}.Sanitize(),
		"SET LOCAL statement_timeout TO '" + strings.ReplaceAll(shared.timeout, "'", "''") + "'",
		"SET LOCAL idle_in_transaction_session_timeout TO '" + idleTimeout + "'"}}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newPool returns the connections to a server, at most most of them.
func newPool(ctx context.Context, address string, most int) (*pool, error) {
	config, err := pgxpool.ParseConfig(pg.WithTLS(address))
	if err != nil {
		return nil, fmt.Errorf("the postgres backend's connection string: %w", err)
	}
	config.MaxConns, config.MaxConnIdleTime = int32(most), idleTime
	connect := config.ConnConfig
	if connect.ConnectTimeout == 0 {
		connect.ConnectTimeout = connectTimeout
	}
	// Prepared statements are not used, because a pooler may use another connection for each
	// transaction.
	connect.DefaultQueryExecMode = pgx.QueryExecModeExec
	connect.StatementCacheCapacity, connect.DescriptionCacheCapacity = 0, 0
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = "tofu"
	}
	timeout := cmp.Or(connect.RuntimeParams["statement_timeout"], statementTimeout)
	delete(connect.RuntimeParams, "statement_timeout") // a pooler may refuse it
	p := &pool{timeout: timeout}
	config.AfterConnect = func(context.Context, *pgx.Conn) error {
		p.patient.Store(true)
		return nil
	}
	p.patient.Store(slices.ContainsFunc(connect.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != connect.Host || f.Port != connect.Port
	}))
	if p.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("the postgres backend: %w", err)
	}
	return p, nil
}

// Close implements io.Closer.
func (s *Store) Close() error {
	if s.owned {
		s.pool.Close()
	}
	return nil
}

// begin is the statement that begins a transaction.
type begin string

const (
	readOnly  begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	readWrite begin = "BEGIN ISOLATION LEVEL READ COMMITTED" // a standby server accepts this and refuses only writes
)

// retryFor is how long a transaction is repeated while the server can't be reached or ends it.
var retryFor = 30 * time.Second

// firstFor replaces retryFor for a server that has never been reached, because its address is
// probably wrong. A server that is only restarting is usually back by then.
const firstFor = 3 * time.Second

// transaction runs the function do in a transaction. If the server ends the transaction or can't be
// reached, it runs the function again. The function must therefore not depend on an earlier
// attempt, which may even have been committed.
func (s *Store) transaction(ctx context.Context, begin begin, do func(context.Context, pgx.Tx) error) error {
	opts := pgx.TxOptions{BeginQuery: string(begin) + "; " + strings.Join(s.settings, "; ")} // sent as one message
	return s.pool.repeat(ctx, func() error {
		return pgx.BeginTxFunc(ctx, s.pool.Pool, opts, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// A session executes statements in a transaction.
type session interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// pipeline executes a transaction in two round trips. The first one sends BEGIN and the statements
// that the function first queues. The second one sends the statements that the function do queues
// in the batch last, and COMMIT. The server commits without waiting for the callbacks of the last
// statements, so the errors of these callbacks can't prevent the commit. If do is nil, there is
// only one round trip.
func (s *Store) pipeline(
	ctx context.Context, begin begin, first func(*pgx.Batch) error,
	do func(ctx context.Context, tx session, last *pgx.Batch) error,
) error {
	return s.pool.repeat(ctx, func() error {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release() // closes the connection if it is still in a transaction
		b := &pgx.Batch{}
		b.Queue(string(begin))
		for _, setting := range s.settings {
			b.Queue(setting)
		}
		if err := first(b); err != nil {
			return err
		}
		if do != nil {
			err = send(ctx, conn, b)
			b = new(pgx.Batch)
			if err == nil {
				err = do(ctx, conn, b)
			}
		}
		if err == nil {
			b.Queue("COMMIT")
			err = send(ctx, conn, b)
		}
		if err != nil && !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(ctx, "ROLLBACK") // if this fails, closing the connection rolls back
		}
		return err
	})
}

// send sends statements, calls their callbacks and returns the first error.
func send(ctx context.Context, tx session, b *pgx.Batch) error { return tx.SendBatch(ctx, b).Close() }

// repeat calls the function do. It calls the function again while the server aborts transactions or
// can't be reached, but not longer than patience allows.
func (p *pool) repeat(ctx context.Context, do func() error) error {
	start, wait := time.Now(), 50*time.Millisecond
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !transient(err) || time.Since(start) > p.patience(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		wait = min(2*wait, 2*time.Second)
	}
}

// patience returns how long to retry an operation that failed with this error.
func (p *pool) patience(err error) time.Duration {
	var answer *pgconn.PgError
	if p.patient.Load() || errors.As(err, &answer) { // a server that is starting responds with an error
		return retryFor
	}
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound || pg.Declined(err) {
		return 0
	}
	return min(firstFor, retryFor)
}

// transientCodes are the codes of errors, or their classes, after which a transaction may succeed
// later.
var transientCodes = []string{
	"08",  // connections
	"53",  // resources, such as the number of connections
	"57P", // shutdown of the server
	tooLong,
	lockedUp,
	"40001", // serialization
	"40P01", // deadlock
	"25P03", // a transaction that was idle for too long
	readOnlyDatabase,
}

// transient reports whether a transaction that failed with this error may succeed later.
func transient(err error) bool {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return failed.Code != diskFull && slices.ContainsFunc(transientCodes,
			func(code string) bool { return strings.HasPrefix(failed.Code, code) }) ||
			failed.Code == internalError && strings.Contains(failed.Message, "new multixact has more than one")
	}
	var lost net.Error
	return errors.As(err, new(*pgconn.ConnectError)) || errors.As(err, &lost) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "unexpected EOF") || strings.Contains(err.Error(), "conn closed")
}

const (
	diskFull         = "53100"
	tooLong          = "57014" // a canceled statement
	lockedUp         = "55P03" // a lock that is not available in time
	noPrivilege      = "42501"
	noSchema         = "3F000"
	noTable          = "42P01"
	uniqueViolation  = "23505"
	readOnlyDatabase = "25006"

	// internalError is the code of server faults. PostgreSQL also returns it for a race between two
	// transactions that lock and update the same row, when it aborts one of them.
	internalError = "XX000"
)

// explained adds advice to an error of the server.
func explained(err error) error {
	if pg.Declined(err) {
		return fmt.Errorf("%w. %s", err, pg.TLSAdvice)
	}
	var failed *pgconn.PgError
	if !errors.As(err, &failed) {
		return err
	}
	if advice := advices[failed.Code]; advice != "" {
		return fmt.Errorf("%w. %s", err, advice)
	}
	return err
}

// advices say what to do about errors of the server, by error code.
var advices = map[string]string{
	diskFull: "The disk of the database server is full: nothing was written",
	noPrivilege: "The user of the connection string needs the rights on the schema that docs/POSTGRES.md " +
		"lists",
	readOnlyDatabase: "The server accepts only reads, as a standby does: connect to the primary, for example with " +
		"target_session_attrs=read-write",
	tooLong:  busy,
	lockedUp: busy,
}

const busy = "The statement waited too long: another program may hold the workspace, for example to migrate it. " +
	"Try again later, or set a longer statement_timeout in the connection string"

// Ping implements backend.Pinger.
func (s *Store) Ping(ctx context.Context) error {
	err := s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT FROM workspace LIMIT 1")
		return err
	})
	if err != nil {
		return fmt.Errorf("reading workspaces: %w", explained(err))
	}
	return nil
}

// List implements backend.Store.
func (s *Store) List(ctx context.Context) (names []string, err error) {
	err = s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT name FROM workspace WHERE revision > 0 ORDER BY name")
		if err != nil {
			return err
		}
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", explained(err))
	}
	return names, nil
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	connect, err := pgconn.ParseConfig(c.ConnStr)
	if err != nil {
		return nil, fmt.Errorf("the postgres backend's connection string: %w", err)
	}
	return []string{"postgres", strings.ToLower(connect.Host), fmt.Sprint(connect.Port), connect.Database, c.Schema,
		workspace}, nil
}
