package roots

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"

	"tofu/internal/session"
)

// StateID identifies a state. It is a JSON list of the kind of store and the location of the state
// in stores of that kind. Backends determine the content; see backend.Identifier.
type StateID string

// Identify returns the identity of a state. s is the session of the root module that uses it.
func Identify(s *session.Session, settings *session.BackendSettings, workspace string) (StateID, error) {
	parts, err := settings.Identity(s, workspace)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(parts)
	return StateID(text), err
}

// LastState returns the state that a root module has according to its working files, which show it
// even if the configuration can't be read. If they name no backend, the state is a local file. s is
// the session of the root module.
func LastState(ctx context.Context, s *session.Session) (*session.RemoteState, error) {
	out := &session.RemoteState{Settings: session.LocalSettings()}
	record, err := s.ReadBackendRecord()
	if err == nil && record != nil {
		out.Settings, err = s.RecordedBackend(ctx, record)
	}
	if err != nil {
		return nil, err
	}
	out.Workspace, err = s.Workspace()
	return out, err
}

// lastID returns the identity of [LastState], or "" if it is not known.
func lastID(ctx context.Context, s *session.Session) StateID {
	last, err := LastState(ctx, s)
	if err != nil {
		return ""
	}
	id, err := Identify(s, last.Settings, last.Workspace)
	if err != nil {
		return ""
	}
	return id
}

// Show returns the identity as text for messages: the path of a local state, or the kind of store
// and the parts of the location.
func (id StateID) Show() string {
	var parts []string
	if json.Unmarshal([]byte(id), &parts) != nil || len(parts) < 2 {
		return string(id)
	}
	if parts[0] != "local" {
		return parts[0] + ":" + strings.Join(parts[1:], "/")
	}
	if rel, err := filepath.Rel(Absolute("."), parts[1]); err == nil {
		return rel
	}
	return parts[1]
}
