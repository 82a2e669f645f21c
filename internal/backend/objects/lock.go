package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"tofu/internal/backend"
)

// Locked is a Store whose locks are objects. It implements backend.Locker.
type Locked struct {
	*Store
	// LockClient writes the lock objects. It differs from the client of the store if lock objects
	// are written in another way, for instance with other tags.
	LockClient Client
	// ID returns the ID of a lock from its information and the version of its object. If the
	// function is nil, the ID is the one in the information.
	ID func(info *backend.LockInfo, version string) string
}

// WithLocks returns a store whose locks are objects.
func WithLocks(s *Store) *Locked { return &Locked{Store: s, LockClient: s.client} }

// Lock implements backend.Locker.
func (s *Locked) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	info.Path = s.layout.State(workspace)
	if s.layout.Path != nil {
		info.Path = s.layout.Path(workspace)
	}
	data, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	key := s.layout.Lock(workspace)
	version, err := putOnce(ctx, s.LockClient, key, data, Condition{Absent: true})
	switch {
	case errors.Is(err, ErrPrecondition):
		return "", s.held(ctx, key)
	case err != nil:
		return "", fmt.Errorf("locking the state with the object %s: %w", key, err)
	}
	return s.id(&info, version), nil
}

// held returns an error that names the holder of a lock.
func (s *Locked) held(ctx context.Context, key string) error {
	info, _, err := s.holder(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return &backend.LockedError{Err: errors.New("another process took the lock and released it just now")}
	}
	return &backend.LockedError{Info: info, Err: err}
}

// holder reads a lock object. The ID of the result is the one to pass to Unlock.
func (s *Locked) holder(ctx context.Context, key string) (*backend.LockInfo, string, error) {
	data, version, err := s.LockClient.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, "", err
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the lock object %s: %w", key, err)
	}
	info := new(backend.LockInfo)
	if err := json.Unmarshal(data, info); err != nil {
		return nil, version, fmt.Errorf("the lock object %s can't be read: %w; if no command is using the state, "+
			"delete the object", key, err)
	}
	info.ID = s.id(info, version)
	return info, version, nil
}

func (s *Locked) id(info *backend.LockInfo, version string) string {
	if s.ID == nil {
		return info.ID
	}
	return s.ID(info, version)
}

// Unlock implements backend.Locker. It succeeds if the lock object is gone after a failed attempt,
// which may have deleted it although the response was lost.
func (s *Locked) Unlock(ctx context.Context, workspace, id string) error {
	key := s.layout.Lock(workspace)
	info, version, err := s.holder(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("unlocking the state: %w", ErrUnlocked)
	case err != nil:
		return fmt.Errorf("unlocking the state: %w", err)
	case info.ID != id:
		return fmt.Errorf("unlocking the state: %w", &backend.LockedError{Info: info,
			Err: fmt.Errorf("the lock has the ID %q, not %q", info.ID, id)})
	}
	err = s.LockClient.Delete(ctx, key, version)
	if err == nil {
		return nil
	}
	if _, _, again := s.LockClient.Get(ctx, key); errors.Is(again, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("unlocking the state: deleting the lock object %s: %w", key, err)
}
