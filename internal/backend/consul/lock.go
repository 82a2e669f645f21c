package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"tofu/internal/backend"
	"tofu/internal/restapi"
)

const (
	// sessionTTL is the time after which the server ends a session that isn't renewed; the server
	// may take up to twice as long.
	sessionTTL = 15 * time.Second
	// lockDelay is the time for which a lock can't be taken after its session ended.
	lockDelay = 5 * time.Second
	// renewal is the time between renewals of the session.
	renewal = 5 * time.Second
	// lockFlags marks keys that are locks. It is a convention of all clients of Consul.
	lockFlags = 0x2ddccbc058a50c18
)

// held is a lock that this process has taken.
type held struct {
	store *Store
	id    string // ID of the first session
	key   string
	info  backend.LockInfo
	stop  context.CancelFunc
	ended chan struct{} // closed when the session is no longer renewed

	regaining sync.Mutex // serializes calls of regain
	mu        sync.Mutex
	current   string // ID of the current session; guarded by mu
}

func (h *held) session() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

func (s *Store) held(workspace string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locks[workspace]
}

func lockKey(key string) string { return key + "/.lock" }
func infoKey(key string) string { return key + "/.lockinfo" }

// Lock implements backend.Locker.
func (s locker) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	h := &held{store: s.Store, key: lockKey(s.config.key(workspace)), info: info, ended: make(chan struct{})}
	h.info.Path = s.config.key(workspace)
	if err := h.acquire(ctx); err != nil {
		return "", fmt.Errorf("locking the state: %w", err)
	}
	h.id = h.current
	renewed, stop := context.WithCancel(context.WithoutCancel(ctx))
	h.stop = stop
	s.mu.Lock()
	s.locks[workspace] = h
	s.mu.Unlock()
	go h.watch(renewed)
	return h.id, nil
}

// acquire takes the lock with a new session.
func (h *held) acquire(ctx context.Context) error {
	session, err := h.store.newSession(ctx)
	if err != nil {
		return err
	}
	info := h.info
	info.ID, info.Info = session, "consul session: "+session
	text, err := json.Marshal(info)
	if err == nil {
		_, err = h.store.transact(ctx, []operation{
			{Verb: "lock", Key: h.key, Flags: lockFlags, Session: session},
			{Verb: "set", Key: infoKey(h.info.Path), Value: text}})
	}
	if err != nil {
		err = h.explain(ctx, session, err)
	}
	if err != nil {
		h.store.endSession(ctx, session)
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = session
	return nil
}

// explain returns the reason why the lock could not be taken, or nil if an earlier attempt has
// taken the lock.
func (h *held) explain(ctx context.Context, session string, err error) error {
	if _, ok := errors.AsType[*refusal](err); !ok {
		return err
	}
	e, readErr := h.store.get(ctx, h.key)
	switch {
	case readErr != nil:
		return readErr
	case e != nil && e.Session == session:
		return nil
	case e == nil || e.Session == "":
		return &backend.LockedError{Err: fmt.Errorf("a process lost the lock a moment ago, and Consul doesn't "+
			"let another process take it for %s (%w)", lockDelay, err)}
	}
	holder, readErr := h.store.holder(ctx, h.info.Path)
	if holder == nil {
		holder = &backend.LockInfo{ID: e.Session, Who: "unknown", Info: "consul session: " + e.Session}
	}
	return &backend.LockedError{Info: holder, Err: readErr}
}

// holder returns the description of a state's lock, or nil if none exists.
func (s *Store) holder(ctx context.Context, key string) (*backend.LockInfo, error) {
	e, err := s.get(ctx, infoKey(key))
	if err != nil || e == nil {
		return nil, err
	}
	info := new(backend.LockInfo)
	if err := json.Unmarshal(e.Value, info); err != nil {
		return nil, fmt.Errorf("the key %s is damaged: %w", infoKey(key), err)
	}
	return info, nil
}

func (s *Store) newSession(ctx context.Context) (string, error) {
	body, err := json.Marshal(map[string]string{"Name": "Consul API Lock", "TTL": sessionTTL.String(),
		"LockDelay": lockDelay.String()})
	if err != nil {
		return "", err
	}
	resp, err := s.do(ctx, http.MethodPut, "/v1/session/create", restapi.Request{Body: body})
	if err != nil {
		return "", fmt.Errorf("creating a session: %w", err)
	}
	var session struct{ ID string }
	if resp.Status != http.StatusOK || json.Unmarshal(resp.Body, &session) != nil || session.ID == "" {
		return "", fmt.Errorf("creating a session: %w", s.failure(resp))
	}
	return session.ID, nil
}

// endSession ends a session now rather than when it expires.
func (s *Store) endSession(ctx context.Context, id string) {
	resp, err := s.do(context.WithoutCancel(ctx), http.MethodPut, "/v1/session/destroy/"+id, restapi.Request{})
	if err == nil && resp.Status != http.StatusOK {
		err = s.failure(resp)
	}
	if err != nil {
		slog.Debug("could not end a session", "error", err)
	}
}

// watch renews the session until ctx ends, and takes the lock again if the session was lost.
func (h *held) watch(ctx context.Context) {
	defer close(h.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renewal):
		}
		alive, err := h.renew(ctx)
		if err == nil && !alive {
			slog.Warn("the session that holds the state lock was lost; taking the lock again", "path", h.info.Path)
			err = h.regain(ctx)
		}
		if err != nil && ctx.Err() == nil {
			slog.Warn("the state lock may have been lost", "path", h.info.Path, "error", err)
		}
	}
}

// renew renews the session and reports whether it still exists.
func (h *held) renew(ctx context.Context) (bool, error) {
	resp, err := h.store.do(ctx, http.MethodPut, "/v1/session/renew/"+h.session(), restapi.Request{})
	if err != nil {
		return false, err
	}
	if resp.Status != http.StatusOK && resp.Status != http.StatusNotFound {
		return false, h.store.failure(resp)
	}
	return resp.Status == http.StatusOK, nil
}

// regain takes a lost lock again, after the lock delay if necessary. It fails if another process
// has the lock.
func (h *held) regain(ctx context.Context) error {
	h.regaining.Lock()
	defer h.regaining.Unlock()
	e, err := h.store.get(ctx, h.key)
	if err != nil {
		return err
	}
	if e != nil && e.Session != "" && e.Session == h.session() {
		return nil // already regained
	}
	limit := time.Now().Add(lockDelay + 2*time.Second)
	for {
		err := h.acquire(ctx)
		var locked *backend.LockedError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &locked):
			return fmt.Errorf("the lock of the state was lost: %w", err)
		case locked.Info != nil || time.Now().After(limit):
			// not a *LockedError, because this process must not wait for the other one
			return fmt.Errorf("the lock of the state was lost and could not be taken again: %s", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Unlock implements backend.Locker.
func (s locker) Unlock(ctx context.Context, workspace, id string) error {
	s.mu.Lock()
	h := s.locks[workspace]
	if h != nil && h.id == id {
		delete(s.locks, workspace)
	}
	s.mu.Unlock()
	if h == nil || h.id != id {
		return s.forceUnlock(ctx, s.config.key(workspace), id)
	}
	h.stop()
	<-h.ended
	return s.release(ctx, h.info.Path, h.session())
}

// release removes a lock that a session holds, and ends the session. It returns an error if another
// process has the lock now.
func (s *Store) release(ctx context.Context, key, session string) error {
	_, err := s.transact(ctx, []operation{
		{Verb: "check-session", Key: lockKey(key), Session: session},
		{Verb: "delete", Key: lockKey(key)},
		{Verb: "delete", Key: infoKey(key)}})
	if _, ok := errors.AsType[*refusal](err); ok {
		e, readErr := s.get(ctx, lockKey(key))
		switch {
		case readErr != nil:
			err = readErr
		case e != nil && e.Session != "":
			err = errors.New("the lock was lost, and another process has it now")
		default: // the session ended, or an earlier attempt has removed the lock
			_, err = s.transact(ctx, []operation{{Verb: "delete", Key: infoKey(key)}})
		}
	}
	if err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	s.endSession(ctx, session)
	return nil
}

// forceUnlock removes the lock of another process.
func (s *Store) forceUnlock(ctx context.Context, key, id string) error {
	e, err := s.get(ctx, lockKey(key))
	if err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	holder, err := s.holder(ctx, key)
	switch {
	case err != nil && (e == nil || e.Session != id):
		return fmt.Errorf("unlocking the state: %w", err)
	case e != nil && e.Session == id:
		return s.release(ctx, key, id)
	case e != nil && e.Session != "":
		return fmt.Errorf("the lock has the ID %q, not %q", e.Session, id)
	case holder == nil:
		return errors.New("the state is not locked")
	case holder.ID != id:
		return fmt.Errorf("the lock has the ID %q, not %q", holder.ID, id)
	}
	_, err = s.transact(ctx, []operation{{Verb: "delete", Key: lockKey(key)}, {Verb: "delete", Key: infoKey(key)}})
	return err
}
