package pg

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/backend"
)

// held is a lock that this store has taken on a workspace.
type held struct {
	id   string
	name string  // the session's application name
	keys []int64 // keys of the advisory locks
}

func tryLock(ctx context.Context, conn *pgconn.PgConn, key int64) (bool, error) {
	found, err := queryRow(ctx, conn, "SELECT pg_try_advisory_lock($1)", number(key))
	return err == nil && string(found[0]) == "t", err
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// add takes the lock with the given key, which is the ID of the workspace's row, unless this
// process already holds it.
func (h *held) add(ctx context.Context, conn *pgconn.PgConn, key int64) error {
	if slices.Contains(h.keys, key) {
		return nil
	}
	ok, err := tryLock(ctx, conn, key)
	if err == nil && !ok {
		err = errors.New("another process has locked the state")
	}
	if err == nil {
		h.keys = append(h.keys, key)
	}
	return err
}

// reacquire takes the locks in a new session.
func (h *held) reacquire(ctx context.Context, conn *pgconn.PgConn) error {
	if err := setName(ctx, conn, h.name); err != nil {
		return err
	}
	for _, key := range h.keys {
		ok, err := tryLock(ctx, conn, key)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("another process has since locked the state")
		}
	}
	return nil
}

// nameKey returns the lock key of a workspace's name. It can't clash with the IDs of rows, which
// are positive.
func (s *Store) nameKey(workspace string) int64 {
	h := fnv.New64a()
	h.Write([]byte(s.table + "\x00" + workspace))
	return -int64(h.Sum64()>>1) - 1
}

// Lock implements backend.Locker.
func (s *Store) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.locks[s.row(workspace)]; h != nil { // the database would grant the lock to the same session again
		return "", &backend.LockedError{Info: &backend.LockInfo{ID: h.id, Who: h.name}}
	}
	conn, err := s.session(ctx)
	if err != nil {
		return "", err
	}
	h := &held{id: info.ID, name: strings.Join([]string{"tofu", info.ID, info.Who}, " ")}
	if err := s.acquire(ctx, conn, workspace, h); err != nil {
		return "", errors.Join(err, unlock(ctx, conn, h))
	}
	s.locks[s.row(workspace)] = h
	return info.ID, nil
}

// acquire takes the locks of a workspace. The first is the lock of its name, so that no other
// session creates its row in the meantime. The second is the lock of the row, if there is one.
func (s *Store) acquire(ctx context.Context, conn *pgconn.PgConn, workspace string, h *held) error {
	if err := h.acquire(ctx, conn, s.nameKey(workspace)); err != nil {
		return err
	}
	row, err := queryNumber(ctx, conn, "SELECT id FROM "+s.table+" WHERE name = $1", workspace)
	switch {
	case err == nil:
		if err := h.acquire(ctx, conn, row); err != nil {
			return err
		}
	case !errors.Is(err, errNoRow):
		return fmt.Errorf("locking the state: %w", err)
	}
	if err := setName(ctx, conn, h.name); err != nil {
		return fmt.Errorf("locking the state: %w", err)
	}
	return nil
}

// acquire takes one of the locks, or returns an error that names the holder.
func (h *held) acquire(ctx context.Context, conn *pgconn.PgConn, key int64) error {
	ok, err := tryLock(ctx, conn, key)
	if err != nil {
		return fmt.Errorf("locking the state: %w", err)
	}
	if !ok {
		return &backend.LockedError{Info: holder(ctx, conn, key)}
	}
	h.keys = append(h.keys, key)
	return nil
}

// setName sets the application name of the session, which identifies this process to other
// sessions. The server limits its length in bytes and accepts only whole characters.
func setName(ctx context.Context, conn *pgconn.PgConn, name string) error {
	const longest = 63
	_, err := query(ctx, conn, "SELECT set_config('application_name', $1, false)",
		strings.ToValidUTF8(name[:min(len(name), longest)], ""))
	return err
}

// holder describes the session that holds an advisory lock.
func holder(ctx context.Context, conn *pgconn.PgConn, key int64) *backend.LockInfo {
	found, err := queryRow(ctx, conn, `SELECT a.pid, coalesce(a.application_name, ''), host(a.client_addr),
		extract(epoch FROM a.backend_start)::bigint
		FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
		AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND (l.classid::bigint << 32 | l.objid::bigint) = $1`, number(key))
	if err != nil {
		return &backend.LockInfo{Who: "unknown"}
	}
	pid, name, address := string(found[0]), string(found[1]), string(found[2])
	since, _ := strconv.ParseInt(string(found[3]), 10, 64) // the server's clock, in seconds
	info := &backend.LockInfo{Who: name, Created: time.Unix(since, 0).UTC()}
	if rest, ours := strings.CutPrefix(name, "tofu "); ours {
		info.ID, info.Who, _ = strings.Cut(rest, " ")
	}
	info.Info = fmt.Sprintf("database session with process ID %s", pid)
	if address != "" {
		info.Info += " from " + address
	}
	return info
}

// CheckUnlock implements backend.UnlockChecker.
func (s *Store) CheckUnlock(string, string) error {
	return errors.New("this process doesn't hold the lock. The lock ends with its holder's database " +
		"session. If the session hangs, the database administrator can end it with pg_terminate_backend")
}

// Unlock implements backend.Locker. It can't release the lock of another session, which ends with
// that session.
func (s *Store) Unlock(ctx context.Context, workspace, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.locks[s.row(workspace)]
	if h == nil {
		return s.CheckUnlock(workspace, id)
	}
	if h.id != id {
		return fmt.Errorf("the lock has the ID %q, not %q", h.id, id)
	}
	delete(s.locks, s.row(workspace))
	if s.conn == nil || s.conn.IsClosed() {
		return nil // the lock ended with its session
	}
	return unlock(ctx, s.conn, h)
}

func unlock(ctx context.Context, conn *pgconn.PgConn, h *held) error {
	var err error
	for _, key := range h.keys {
		_, uerr := query(ctx, conn, "SELECT pg_advisory_unlock($1)", number(key))
		err = errors.Join(err, uerr)
	}
	if err != nil {
		// ending the session unlocks too
		return fmt.Errorf("unlocking the state: %w", errors.Join(err, conn.Close(ctx)))
	}
	return nil
}
