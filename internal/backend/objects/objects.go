package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"tofu/internal/backend"
)

// Store keeps states in an object store. It implements backend.Store and backend.Swapper.
type Store struct {
	client Client
	layout Layout
}

// New returns a store without locks.
func New(c Client, l Layout) *Store { return &Store{c, l} }

// List implements backend.Store. The default workspace always exists, but it is listed only if it
// has a state whose key is below the prefix of the layout.
func (s *Store) List(ctx context.Context) ([]string, error) {
	var names []string
	err := s.client.List(ctx, s.layout.Prefix, func(key string) {
		if name, ok := s.layout.Workspace(key); ok {
			names = append(names, name)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, workspace)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	data, version, err := s.client.Get(ctx, s.layout.State(workspace))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("reading the state: %w", err)
	case data == nil:
		data = []byte{}
	}
	return data, version, nil
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	_, err := s.write(ctx, workspace, data, Condition{})
	return err
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	return s.write(ctx, workspace, data, Condition{Absent: version == "", Version: version})
}

func (s *Store) write(ctx context.Context, workspace string, data []byte, c Condition) (string, error) {
	version, err := putOnce(ctx, s.client, s.layout.State(workspace), data, c)
	switch {
	case errors.Is(err, ErrPrecondition):
		return "", backend.ErrChanged
	case err != nil:
		return "", fmt.Errorf("writing the state: %w", err)
	}
	return version, nil
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	if err := s.client.Delete(ctx, s.layout.State(workspace), ""); err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}

// putOnce writes an object. If the write fails, it reads the object to find out whether the data
// was written nevertheless.
func putOnce(ctx context.Context, client Client, key string, data []byte, c Condition) (string, error) {
	version, err := client.Put(ctx, key, data, c)
	if err == nil || ctx.Err() != nil {
		return version, err
	}
	present, version, readErr := client.Get(ctx, key)
	if readErr == nil && bytes.Equal(present, data) {
		return version, nil
	}
	return "", err
}
