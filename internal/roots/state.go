package roots

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// StateID identifies a state. It is a JSON list of the kind of store and the location of the state
// in stores of that kind. Backends determine the content; see backend.Identifier.
type StateID string

// Identify returns the identity of a state. s is the session of the root module that uses it.
func Identify(s *session.Session, settings *session.BackendSettings, workspace string) (StateID, error) {
	config := settings.Driver.Config()
	if err := blocks.Decode(settings.Config, config, s.Env, tfdiags.Drop); err != nil {
		return "", err
	}
	parts, err := config.Identity(workspace, s.Base)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(parts)
	return StateID(text), err
}

// lastState returns the identity of the state that a root module has according to its working files,
// or "" if they don't tell. s is the session of the root module.
func lastState(s *session.Session) StateID {
	settings := session.LocalSettings()
	record, err := s.ReadBackendRecord()
	if err == nil && record != nil {
		settings = &session.BackendSettings{}
		if settings.Driver, err = all.Driver(record.Type); err == nil {
			settings.Config, err = record.Value(blocks.Schema(settings.Driver.Config()))
		}
	}
	if err != nil {
		return ""
	}
	workspace, err := s.Workspace()
	if err != nil {
		return ""
	}
	id, err := Identify(s, settings, workspace)
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
