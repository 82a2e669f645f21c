package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
)

// Store keeps states in a bucket, and their digests in a table if there is one.
type Store struct {
	*objects.Store
	table *table // may be nil
}

func digest(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// digestWait holds the delays before a state that doesn't match its digest is read again: another
// process may have written only one of them yet.
var digestWait = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, workspace)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	for attempt := 0; ; attempt++ {
		data, version, err := s.Store.GetVersion(ctx, workspace)
		if err != nil || s.table == nil {
			return data, version, err
		}
		want, err := s.table.digests(ctx, workspace)
		if err != nil {
			return nil, "", fmt.Errorf("reading the digest of the state: %w", err)
		}
		present := ""
		if data != nil {
			present = digest(data)
		}
		switch {
		case want.matches(present):
			if want.current == "" {
				present = ""
			}
			s.table.remember(workspace, known{version, present})
			return data, version, nil
		case attempt == len(digestWait):
			return nil, "", s.mismatch(workspace, present, want)
		}
		select {
		case <-ctx.Done():
			return nil, "", context.Cause(ctx)
		case <-time.After(digestWait[attempt]):
		}
	}
}

func (s *Store) mismatch(workspace, present string, want digests) error {
	item := s.table.path(workspace) + digestSuffix
	if present == "" {
		return fmt.Errorf("state data in S3 does not have the expected content: there is no state, but the DynamoDB table "+
			"%q has the digest %s of one in the item %q. Restore the state from an older version of the object, or "+
			"delete the item to start without a state", s.table.name, want.current, item)
	}
	return fmt.Errorf("state data in S3 does not have the expected content: it has the digest %s, and the DynamoDB table %q has "+
		"%s in the item %q. The state was changed by another program, or an older version of it was restored. Make sure "+
		"that it is the right one, and then set the attribute Digest of the item to %[1]s", present, s.table.name,
		want.current, item)
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	if s.table == nil {
		return s.Store.Put(ctx, workspace, data)
	}
	_, _, err := s.GetVersion(ctx, workspace) // the digest of the present state is needed
	if err != nil {
		return err
	}
	present, _ := s.table.remembered(workspace)
	_, err = s.write(ctx, workspace, present.digest, data, func() (string, error) {
		return "", s.Store.Put(ctx, workspace, data)
	})
	return err
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	if s.table == nil {
		return s.Store.Swap(ctx, workspace, version, data)
	}
	present, ok := s.table.remembered(workspace)
	if !ok || present.version != version {
		there, found, err := s.GetVersion(ctx, workspace)
		switch {
		case err != nil:
			return "", err
		case found != version && bytes.Equal(there, data): // an earlier attempt failed to write the digest
			return found, s.confirm(ctx, workspace, digest(data))
		case found != version:
			return "", backend.ErrChanged
		}
		present, _ = s.table.remembered(workspace)
	}
	return s.write(ctx, workspace, present.digest, data, func() (string, error) {
		return s.Store.Swap(ctx, workspace, version, data)
	})
}

// write writes a state between two updates of its digest. present is the digest of the state that
// is replaced.
func (s *Store) write(
	ctx context.Context, workspace, present string, data []byte, write func() (string, error),
) (string, error) {
	next := digest(data)
	if err := s.table.announce(ctx, workspace, present, next); err != nil {
		return "", fmt.Errorf("writing the digest of the state: %w", err)
	}
	version, err := write()
	if err != nil {
		return "", err
	}
	s.table.remember(workspace, known{version, next})
	return version, s.confirm(ctx, workspace, next)
}

func (s *Store) confirm(ctx context.Context, workspace, next string) error {
	if err := s.table.confirm(ctx, workspace, next); err != nil {
		return fmt.Errorf("the state was written, but not its digest: %w", err)
	}
	return nil
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	if err := s.Store.Delete(ctx, workspace); err != nil || s.table == nil {
		return err
	}
	s.table.remember(workspace, known{})
	if err := s.table.deleteDigests(ctx, workspace); err != nil {
		return fmt.Errorf("deleting the digest of the state: %w", err)
	}
	return nil
}

// lock is one of the locks of a lockedStore.
type lock interface {
	Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error)
	Unlock(ctx context.Context, workspace, id string) error
}

// lockedStore is a Store with one or two locks.
type lockedStore struct {
	*Store
	locks []lock
}

// Lock implements backend.Locker. It takes all locks or none.
func (s *lockedStore) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	for i, l := range s.locks {
		if _, err := l.Lock(ctx, workspace, info); err != nil {
			for _, taken := range s.locks[:i] {
				if again := taken.Unlock(context.WithoutCancel(ctx), workspace, info.ID); again != nil {
					err = errors.Join(err, again)
				}
			}
			return "", err
		}
	}
	return info.ID, nil
}

// Unlock implements backend.Locker. If only one of two locks has that ID, as after a killed
// process, it releases that one.
func (s *lockedStore) Unlock(ctx context.Context, workspace, id string) error {
	var errs []error
	for _, l := range s.locks {
		if err := l.Unlock(ctx, workspace, id); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) < len(s.locks) {
		errs = withoutUnlocked(errs)
	}
	return errors.Join(errs...)
}

// withoutUnlocked removes the errors of locks that nobody holds.
func withoutUnlocked(errs []error) []error {
	var out []error
	for _, err := range errs {
		if !errors.Is(err, objects.ErrUnlocked) {
			out = append(out, err)
		}
	}
	return out
}
