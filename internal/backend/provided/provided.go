package provided

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tofu/internal/backend"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Provider has the calls of a provider that a store needs.
type Provider interface {
	providers.StateStore
	providers.StateLocker
	Close() error
}

// Store is a state store of a provider that is running and configured.
type Store struct {
	provider Provider
	typ      string
	warn     tfdiags.Sink
}

// New returns the store of a type, which the provider must have been configured for. Warnings of the
// provider are passed to warn.
func New(p Provider, typ string, warn tfdiags.Sink) *Store { return &Store{p, typ, warn} }

// Close ends the provider.
func (s *Store) Close() error { return s.provider.Close() }

// List implements backend.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	ids, diags := s.provider.ListStates(ctx, s.typ)
	if err := diags.Report(s.warn); err != nil {
		return nil, err
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Get implements backend.Store. A provider returns no bytes for a missing state and for an empty one,
// so only the list can distinguish these.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, diags := s.provider.ReadState(ctx, s.typ, workspace)
	if err := diags.Report(s.warn); err != nil || len(data) > 0 {
		return data, err
	}
	exists, err := s.exists(ctx, workspace)
	if err != nil || !exists {
		return nil, err
	}
	return []byte{}, nil
}

func (s *Store) exists(ctx context.Context, workspace string) (bool, error) {
	names, err := s.List(ctx)
	return slices.Contains(names, workspace), err
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	return s.provider.WriteState(ctx, s.typ, workspace, data).Report(s.warn)
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	data, err := s.Get(ctx, workspace)
	return data, version(data), err
}

// Swap implements backend.Swapper. The comparison and the write are two calls.
func (s *Store) Swap(ctx context.Context, workspace, old string, data []byte) (string, error) {
	switch _, now, err := s.GetVersion(ctx, workspace); {
	case err != nil:
		return "", err
	case now != old:
		return "", backend.ErrChanged
	}
	return version(data), s.Put(ctx, workspace, data)
}

// version returns the version of a snapshot: its hash, or "" without a snapshot.
func version(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	if exists, err := s.exists(ctx, workspace); err != nil || !exists {
		return err
	}
	return s.provider.DeleteState(ctx, s.typ, workspace).Report(s.warn)
}

// Lock implements backend.Locker. The ID is "" if the store has no locks.
func (s *Store) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	id, diags := s.provider.LockState(ctx, s.typ, workspace, info.Operation)
	err := diags.Report(s.warn)
	for _, d := range diags {
		if d.Severity == tfdiags.Error && isLocked(d.Summary) {
			return "", &backend.LockedError{Info: holder(d.Detail)}
		}
	}
	return id, err
}

// isLocked reports whether the summary of an error says that another process has a lock.
// terraform-plugin-framework writes "Workspace Already Locked".
func isLocked(summary string) bool {
	summary = strings.ToLower(summary)
	return strings.Contains(summary, "already locked") || strings.Contains(summary, "is locked") ||
		strings.Contains(summary, "lock held")
}

// holder returns the holder of a lock that the text of an error describes, or nil.
func holder(text string) *backend.LockInfo {
	info := &backend.LockInfo{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "ID":
			info.ID = value
		case "Operation":
			info.Operation = value
		case "Who":
			info.Who = value
		case "Created": // an unknown form leaves the zero time
			info.Created, _ = time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", value)
		}
	}
	if info.ID == "" {
		return nil
	}
	return info
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(ctx context.Context, workspace, id string) error {
	if id == "" {
		return nil
	}
	if err := s.provider.UnlockState(ctx, s.typ, workspace, id).Report(s.warn); err != nil {
		return fmt.Errorf("the store %s did not release the lock: %w", s.typ, err)
	}
	return nil
}
