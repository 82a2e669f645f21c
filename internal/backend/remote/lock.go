package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tofu/internal/backend"
)

// lockID returns the ID of a workspace's lock. The service has no lock IDs, so the workspace's name
// is used.
func (s *Store) lockID(w *workspace) string { return s.organization + "/" + w.name }

// Lock implements backend.Locker.
func (s *Store) Lock(ctx context.Context, local string, info backend.LockInfo) (string, error) {
	id := ""
	err := s.with(ctx, local, func(w *workspace) error {
		if err := s.lock(ctx, w, info); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.locked[w.name], id = true, s.lockID(w)
		return nil
	})
	return id, err
}

func (s *Store) lock(ctx context.Context, w *workspace, info backend.LockInfo) error {
	reason := "Locked by OpenTofu"
	if info.Who != "" {
		reason += fmt.Sprintf(": %s by %s, %s", info.Operation, info.Who, info.Info)
	}
	_, repeated, err := s.call(ctx, http.MethodPost, "workspaces/"+w.id+"/actions/lock",
		map[string]any{"data": resource{Attributes: map[string]any{"reason": reason}}}, nil)
	switch {
	case err == nil:
		return nil
	case !hasStatus(err, http.StatusConflict):
		return fmt.Errorf("locking the workspace %q: %w", w.name, err)
	}
	holder, found, findErr := s.holder(ctx, w)
	if findErr == nil && repeated && found == reason {
		return nil // an earlier attempt, whose response was lost, has locked it
	}
	return &backend.LockedError{Info: holder, Err: findErr}
}

// holder returns who has locked a workspace (a user, a team or a run), and the recorded reason.
func (s *Store) holder(ctx context.Context, w *workspace) (*backend.LockInfo, string, error) {
	found := new(resource)
	doc, _, err := s.call(ctx, http.MethodGet, "workspaces/"+w.id, nil, found, "include", "locked_by")
	if err != nil {
		return nil, "", fmt.Errorf("finding out who has locked the workspace: %w", err)
	}
	info := &backend.LockInfo{ID: s.lockID(w), Path: s.host + "/" + s.lockID(w), Who: "unknown"}
	for _, r := range doc.Included {
		switch r.Type {
		case "users":
			info.Who = "user " + r.text("username")
		case "teams":
			info.Who = "team " + r.text("name")
		case "runs":
			info.Who = "run " + r.ID
		}
	}
	reason := found.text("locked-reason")
	_, info.Info, _ = strings.Cut(reason, ": ")
	if info.Info == "" {
		info.Info = reason
	}
	return info, reason, nil
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(ctx context.Context, local, id string) error {
	w, err := s.mustFind(ctx, local)
	if err != nil {
		return err
	}
	if want := s.lockID(w); id != want {
		return fmt.Errorf("the lock has the ID %q, not %q", want, id)
	}
	s.mu.Lock()
	held := s.locked[w.name]
	delete(s.locked, w.name)
	s.mu.Unlock()
	if held {
		return s.unlock(ctx, w, "unlock")
	}
	return s.unlock(ctx, w, "force-unlock")
}

func (s *Store) unlock(ctx context.Context, w *workspace, action string) error {
	_, repeated, err := s.call(ctx, http.MethodPost, "workspaces/"+w.id+"/actions/"+action, nil, nil)
	if err == nil {
		return nil
	}
	if found := new(resource); repeated && hasStatus(err, http.StatusConflict) {
		_, _, findErr := s.call(ctx, http.MethodGet, "workspaces/"+w.id, nil, found)
		if locked, _ := found.Attributes["locked"].(bool); findErr == nil && !locked {
			return nil // an earlier attempt, whose response was lost, has unlocked it
		}
		err = errors.Join(err, findErr)
	}
	return fmt.Errorf("unlocking the workspace %q: %w", w.name, err)
}
