package s3

import (
	"context"
	"errors"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
)

// lock is one of the locks of a lockedStore.
type lock interface {
	Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error)
	Unlock(ctx context.Context, workspace, id string) error
}

// store is a backend.Store that can also compare versions.
type store interface {
	backend.Store
	backend.Swapper
}

// lockedStore is a store with one or two locks.
type lockedStore struct {
	store
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

// Unlock implements backend.Locker. If only one of two locks has this ID, for example because a
// process was killed, it releases that lock.
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
