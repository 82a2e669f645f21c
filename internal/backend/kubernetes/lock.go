package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"tofu/internal/backend"
)

// infoAnnotation is the annotation of a lease that describes its holder.
const infoAnnotation = "app.terraform.io/lock-info"

func (s *Store) leaseName(workspace string) string { return "lock-" + s.config.secretName(workspace) }

// lease reads the lease of a workspace. The error is errNotFound if it doesn't exist.
func (s *Store) lease(ctx context.Context, workspace string) (*object, error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	lease := new(object)
	err := s.call(ctx, http.MethodGet, leases, s.leaseName(workspace), nil, lease)
	return lease, err
}

// holder returns the ID of the lock that a lease represents, or "" if no process holds the lease.
func (o *object) holder() string {
	if o.Spec == nil {
		return ""
	}
	return o.Spec.Holder
}

// Lock implements backend.Locker.
func (s *Store) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	present, err := s.lease(ctx, workspace)
	switch {
	case errors.Is(err, errNotFound):
		present = nil
	case err != nil:
		return "", fmt.Errorf("locking the state: %w", err)
	case present.holder() != "":
		return "", heldBy(present)
	}
	text, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	lease := s.newObject(leases, s.leaseName(workspace), workspace)
	lease.Metadata.Annotations = map[string]string{infoAnnotation: string(text)}
	lease.Spec = &leaseSpec{Holder: info.ID}
	if present == nil {
		err = s.call(ctx, http.MethodPost, leases, "", lease, nil)
	} else {
		lease.Metadata.ResourceVersion = present.Metadata.ResourceVersion
		err = s.call(ctx, http.MethodPut, leases, lease.Metadata.Name, lease, nil)
	}
	if conflicts(err) || errors.Is(err, errNotFound) {
		return s.lost(ctx, workspace, info.ID)
	}
	if err != nil {
		return "", fmt.Errorf("locking the state: %w", err)
	}
	return info.ID, nil
}

// lost returns the result of an attempt to lock that conflicted with another attempt. The other
// attempt may be an earlier one of this process whose response was lost.
func (s *Store) lost(ctx context.Context, workspace, id string) (string, error) {
	lease, err := s.lease(ctx, workspace)
	switch {
	case err == nil && lease.holder() == id:
		return id, nil
	case err == nil && lease.holder() != "":
		return "", heldBy(lease)
	case err == nil || errors.Is(err, errNotFound):
		return "", &backend.LockedError{Err: errors.New("another process took the lock and released it just now")}
	}
	return "", fmt.Errorf("locking the state: %w", err)
}

// heldBy returns a *LockedError that names the holder of a lease.
func heldBy(lease *object) error {
	info := &backend.LockInfo{ID: lease.holder(), Who: "unknown"}
	if text := lease.Metadata.Annotations[infoAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), info); err != nil {
			return &backend.LockedError{Info: info, Err: fmt.Errorf("the annotation %s of the lease %q is damaged: %w",
				infoAnnotation, lease.Metadata.Name, err)}
		}
	}
	return &backend.LockedError{Info: info}
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(ctx context.Context, workspace, id string) error {
	for attempt := 0; ; attempt++ {
		lease, err := s.lease(ctx, workspace)
		switch {
		case errors.Is(err, errNotFound) || err == nil && lease.holder() == "":
			if attempt > 0 { // an attempt whose response was lost has removed the lock
				return nil
			}
			return errors.New("the state isn't locked")
		case err != nil:
			return fmt.Errorf("unlocking the state: %w", err)
		case lease.holder() != id:
			return fmt.Errorf("unlocking the state: the lock has the ID %q, not %q", lease.holder(), id)
		}
		free := s.newObject(leases, lease.Metadata.Name, workspace)
		free.Metadata.ResourceVersion, free.Spec = lease.Metadata.ResourceVersion, &leaseSpec{}
		err = s.call(ctx, http.MethodPut, leases, free.Metadata.Name, free, nil)
		if err == nil {
			return nil
		}
		if attempt == 2 || !conflicts(err) {
			return fmt.Errorf("unlocking the state: %w", err)
		}
	}
}

// removeLease removes the lease of a deleted workspace, unless it is held.
func (s *Store) removeLease(ctx context.Context, workspace string) error {
	lease, err := s.lease(ctx, workspace)
	if err == nil && lease.holder() == "" {
		version := lease.Metadata.ResourceVersion
		err = s.call(ctx, http.MethodDelete, leases, lease.Metadata.Name,
			map[string]any{"kind": "DeleteOptions", "apiVersion": "v1",
				"preconditions": map[string]string{"resourceVersion": version}}, nil)
	}
	if errors.Is(err, errNotFound) || conflicts(err) {
		return nil
	}
	return err
}
