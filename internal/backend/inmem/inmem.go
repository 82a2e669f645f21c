package inmem

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
)

// Config is the configuration of the backend block.
type Config struct {
	LockID string `cfg:"lock_id"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"lock_id": "Initial lock ID. If set, the default workspace is locked at first.",
	}
}

// Driver is the inmem backend. It opens a new, empty store each time.
var Driver = backend.New("inmem", func(_ context.Context, c *Config) (backend.Store, error) {
	s := new(Store)
	if c.LockID != "" {
		s.locks = map[string]backend.LockInfo{backend.DefaultWorkspace: {ID: c.LockID}}
	}
	return s, nil
})

// Store holds snapshots and locks. The zero value is empty.
type Store struct {
	mu        sync.Mutex
	snapshots map[string][]byte
	locks     map[string]backend.LockInfo
}

// List implements backend.Store.
func (s *Store) List(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.snapshots)), nil
}

// Get implements backend.Store.
func (s *Store) Get(_ context.Context, workspace string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.snapshots[workspace]), nil
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(workspace, data)
	return nil
}

func (s *Store) put(workspace string, data []byte) {
	if s.snapshots == nil {
		s.snapshots = make(map[string][]byte)
	}
	s.snapshots[workspace] = append([]byte{}, data...)
}

// GetVersion implements backend.Swapper. The version is a hash of the snapshot.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	data, err := s.Get(ctx, workspace)
	return data, version(data), err
}

func version(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, old string, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if version(s.snapshots[workspace]) != old {
		return "", backend.ErrChanged
	}
	s.put(workspace, data)
	return version(data), nil
}

// Delete implements backend.Store.
func (s *Store) Delete(_ context.Context, workspace string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.snapshots, workspace)
	return nil
}

// Lock implements backend.Locker.
func (s *Store) Lock(_ context.Context, workspace string, info backend.LockInfo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder, ok := s.locks[workspace]; ok {
		return "", &backend.LockedError{Info: &holder}
	}
	if s.locks == nil {
		s.locks = make(map[string]backend.LockInfo)
	}
	s.locks[workspace] = info
	return info.ID, nil
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(_ context.Context, workspace, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	holder, ok := s.locks[workspace]
	if !ok {
		return errors.New("the state isn't locked")
	}
	if holder.ID != id {
		return fmt.Errorf("the lock has the ID %q, not %q", holder.ID, id)
	}
	delete(s.locks, workspace)
	return nil
}

// Identity implements backend.Identifier. Each directory has its own store.
func (*Config) Identity(workspace, dir string) ([]string, error) {
	return []string{"inmem", dir, workspace}, nil
}
