package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"tofu/internal/backend"
)

// Lock implements backend.Locker.
func (s *Store) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	if err := onlyDefault(workspace); err != nil {
		return "", err
	}
	request, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	resp, err := s.send(ctx, s.config.LockMethod, s.lockAddress, request)
	if err != nil {
		return "", fmt.Errorf("locking the state: %w", err)
	}
	switch resp.status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
	case http.StatusLocked, http.StatusConflict:
		holder := &backend.LockInfo{}
		if err := json.Unmarshal(resp.body, holder); err != nil {
			return "", &backend.LockedError{Err: errors.New("the server didn't say who holds the lock")}
		}
		if holder.ID != info.ID {
			return "", &backend.LockedError{Info: holder}
		}
		// We have the lock: the response to an earlier attempt was lost.
	default:
		return "", fmt.Errorf("locking the state: %w", resp.failure())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lock, s.id = request, info.ID
	return info.ID, nil
}

// Unlock implements backend.Locker.
func (s *Store) Unlock(ctx context.Context, workspace, id string) error {
	if err := onlyDefault(workspace); err != nil {
		return err
	}
	if s.unlockAddress == nil {
		return nil // without an unlock address, unlocking is up to the server
	}
	s.mu.Lock()
	request := s.lock
	if s.id != id { // the lock belongs to another process
		request = nil
	}
	s.mu.Unlock()
	if request == nil {
		var err error
		request, err = json.Marshal(backend.LockInfo{ID: id})
		if err != nil {
			return err
		}
	}
	resp, err := s.send(ctx, s.config.UnlockMethod, s.unlockAddress, request)
	if err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	if resp.status != http.StatusOK && resp.status != http.StatusNoContent {
		return fmt.Errorf("unlocking the state: %w", resp.failure())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == id {
		s.lock, s.id = nil, ""
	}
	return nil
}
