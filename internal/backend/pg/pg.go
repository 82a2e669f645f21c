package pg

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	ConnStr    string `cfg:"conn_str,sensitive" env:"PG_CONN_STR"`
	Schema     string `cfg:"schema_name" env:"PG_SCHEMA_NAME" default:"terraform_remote_state"`
	SkipSchema bool   `cfg:"skip_schema_creation" env:"PG_SKIP_SCHEMA_CREATION"`
	Table      string `cfg:"table_name" env:"PG_TABLE_NAME" default:"states"`
	SkipTable  bool   `cfg:"skip_table_creation" env:"PG_SKIP_TABLE_CREATION"`
	Index      string `cfg:"index_name" env:"PG_INDEX_NAME" default:"states_by_name"`
	SkipIndex  bool   `cfg:"skip_index_creation" env:"PG_SKIP_INDEX_CREATION"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"conn_str":             "The connection string: a postgres:// URL.",
		"schema_name":          "The schema of the tables.",
		"skip_schema_creation": "Do not create the schema; it exists.",
		"table_name":           "The table that holds the states.",
		"skip_table_creation":  "Do not create the table; it exists.",
		"index_name":           "The index of the table by workspace.",
		"skip_index_creation":  "Do not create the index; it exists.",
	}
}

// Driver is the pg backend.
var Driver = backend.New("pg", open)

// Store keeps states in a table. Several stores may share a client.
type Store struct {
	*client
	config Config
	table  string // quoted, with its schema
}

// client is a session with a server. Stores for several tables may share it.
type client struct {
	connect *pgconn.Config

	mu       sync.Mutex // one query at a time; guards the fields below
	conn     *pgconn.PgConn
	locks    map[lockedRow]*held
	prepared map[string]bool // the tables that are known to exist
}

// lockedRow identifies a workspace in a table, as the key of client.locks.
type lockedRow struct{ table, workspace string }

const (
	dialTimeout  = 30 * time.Second
	closeTimeout = 5 * time.Second
)

func open(ctx context.Context, c *Config) (backend.Store, error) {
	client, err := backend.Client(&c.Sharing, c.ConnStr, func() (*client, error) { return newClient(c.ConnStr) })
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, config: *c, table: quoted(c.Schema, c.Table)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.session(ctx); err != nil {
		return nil, err
	}
	if s.prepared[s.table] {
		return s, nil
	}
	if err := s.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing the database for states: %w", err)
	}
	s.prepared[s.table] = true
	return s, nil
}

func newClient(address string) (*client, error) {
	connect, err := pgconn.ParseConfig(WithTLS(address))
	if err != nil {
		return nil, fmt.Errorf("the pg backend's connection string: %w", err)
	}
	if connect.ConnectTimeout == 0 {
		connect.ConnectTimeout = dialTimeout
	}
	connect.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, CancelRequestDelay: 0,
			DeadlineDelay: 10 * time.Second}
	}
	return &client{connect: connect, locks: make(map[lockedRow]*held), prepared: make(map[string]bool)}, nil
}

// session returns the connection. If the last one was lost, it opens a new one and takes the held
// locks again. c.mu must be held.
func (c *client) session(ctx context.Context) (*pgconn.PgConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.conn != nil && !c.conn.IsClosed() {
		return c.conn, nil
	}
	conn, err := pgconn.ConnectConfig(ctx, c.connect)
	if Declined(err) {
		return nil, fmt.Errorf("connecting to the database: %w. %s", err, TLSAdvice)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	for row, h := range c.locks {
		if err := h.reacquire(ctx, conn); err != nil {
			_ = conn.Close(ctx)
			return nil, fmt.Errorf("the connection was lost, and with it the lock of workspace %q: %w",
				row.workspace, err)
		}
	}
	c.conn = conn
	return conn, nil
}

// Close implements io.Closer. A new session is opened if the store is used again.
func (s *Store) Close() error {
	if s.config.Owned() {
		s.client.Close()
	}
	return nil
}

// Close ends the session.
func (c *client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.conn.Close(ctx)
}

// prepare creates the schema and table if they don't exist.
func (s *Store) prepare(ctx context.Context) error {
	if !s.config.SkipSchema {
		// Users who may not create schemas can still use an existing one.
		n, err := queryNumber(ctx, s.conn, "SELECT count(1) FROM information_schema.schemata WHERE schema_name = $1",
			s.config.Schema)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := s.create(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted(s.config.Schema)); err != nil {
				return err
			}
		}
	}
	if !s.config.SkipTable {
		// IDs are the keys of advisory locks, which apply to the whole database, so IDs must be
		// unique across schemas. Therefore all schemas share a sequence.
		for _, statement := range []string{
			"CREATE SEQUENCE IF NOT EXISTS public.global_states_id_seq AS bigint",
			"CREATE TABLE IF NOT EXISTS " + s.table + ` (
				id bigint NOT NULL DEFAULT nextval('public.global_states_id_seq') PRIMARY KEY,
				name text UNIQUE,
				data text
			)`,
		} {
			if err := s.create(ctx, statement); err != nil {
				return err
			}
		}
	}
	if !s.config.SkipIndex {
		return s.create(ctx, "CREATE UNIQUE INDEX IF NOT EXISTS "+quoted(s.config.Index)+" ON "+s.table+" (name)")
	}
	return nil
}

// create runs a statement that creates something. It retries if another session creates the same
// object concurrently.
func (s *Store) create(ctx context.Context, statement string) error {
	const uniqueViolation, duplicateTable = "23505", "42P07"
	_, err := query(ctx, s.conn, statement)
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (failed.Code == uniqueViolation || failed.Code == duplicateTable) {
		_, err = query(ctx, s.conn, statement)
	}
	return err
}

func (s *Store) row(workspace string) lockedRow { return lockedRow{s.table, workspace} }

// List implements backend.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := query(ctx, conn, "SELECT name FROM "+s.table+` ORDER BY name COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	var names []string
	for _, columns := range rows {
		names = append(names, string(columns[0]))
	}
	return names, nil
}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	found, err := queryRow(ctx, conn, "SELECT data FROM "+s.table+" WHERE name = $1", workspace)
	switch {
	case errors.Is(err, errNoRow):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the state: %w", err)
	case found[0] == nil:
		return []byte{}, nil
	}
	return found[0], nil
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	return s.write(ctx, workspace, func(conn *pgconn.PgConn) (id int64, err error) {
		return queryNumber(ctx, conn, "INSERT INTO "+s.table+" (name, data) VALUES ($1, $2) ON CONFLICT (name) DO "+
			"UPDATE SET data = $2 RETURNING id", workspace, string(data))
	})
}

// GetVersion implements backend.Swapper. The version is the MD5 hash of the snapshot, which the
// server can compute.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	data, err := s.Get(ctx, workspace)
	if data == nil {
		return nil, "", err
	}
	return data, version(data), nil
}

func version(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, old string, data []byte) (string, error) {
	err := s.write(ctx, workspace, func(conn *pgconn.PgConn) (id int64, err error) {
		if old == "" {
			id, err = queryNumber(ctx, conn, "INSERT INTO "+s.table+" (name, data) VALUES ($1, $2) "+
				"ON CONFLICT (name) DO NOTHING RETURNING id", workspace, string(data))
		} else {
			id, err = queryNumber(ctx, conn, "UPDATE "+s.table+" SET data = $2 WHERE name = $1 "+
				"AND md5(convert_to(coalesce(data, ''), 'UTF8')) = $3 RETURNING id", workspace, string(data), old)
		}
		if errors.Is(err, errNoRow) {
			err = backend.ErrChanged
		}
		return id, err
	})
	return version(data), err
}

// write runs a statement that writes a row. If the row is new and the workspace is locked, the lock
// of the row is taken before the row becomes visible to others.
func (s *Store) write(
	ctx context.Context, workspace string, statement func(*pgconn.PgConn) (id int64, err error),
) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.session(ctx)
	if err != nil {
		return err
	}
	err = inTransaction(ctx, conn, func() error {
		id, err := statement(conn)
		if err != nil {
			return err
		}
		if h := s.locks[s.row(workspace)]; h != nil {
			return h.add(ctx, conn, id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.session(ctx)
	if err != nil {
		return err
	}
	if _, err := query(ctx, conn, "DELETE FROM "+s.table+" WHERE name = $1", workspace); err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}

// errProbe causes the rollback of the probe's transaction.
var errProbe = errors.New("probe")

// Probe implements backend.Prober. It writes in a transaction and rolls back.
func (s *Store) Probe(ctx context.Context, workspace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.session(ctx)
	if err != nil {
		return err
	}
	err = inTransaction(ctx, conn, func() error {
		_, err := query(ctx, conn, "INSERT INTO "+s.table+" AS s (name, data) VALUES ($1, '') ON CONFLICT (name) "+
			"DO UPDATE SET data = s.data", workspace)
		if err == nil {
			err = errProbe
		}
		return err
	})
	if errors.Is(err, errProbe) && conn.IsClosed() {
		err = errors.New("the connection to the database was lost")
	}
	if !errors.Is(err, errProbe) {
		return fmt.Errorf("the state can't be written: %w", err)
	}
	return nil
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	connect, err := pgconn.ParseConfig(c.ConnStr)
	if err != nil {
		return nil, fmt.Errorf("the pg backend's connection string: %w", err)
	}
	return []string{"pg", strings.ToLower(connect.Host), fmt.Sprint(connect.Port), connect.Database, c.Schema, c.Table,
		workspace}, nil
}
