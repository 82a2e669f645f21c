package roots

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/configs/blocks"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// StateID identifies a state: the backend, the settings that say where in it the state is, and the
// workspace.
type StateID string

// places lists, by backend, the settings that say where a state is. Other settings say how to reach
// or to protect it, and may differ between those who use the same state. All settings count for
// backends that are not listed.
var places = map[string][]string{
	"azurerm":    {"storage_account_name", "container_name", "key"},
	"consul":     {"address", "datacenter", "path"},
	"cos":        {"region", "bucket", "prefix", "key"},
	"gcs":        {"bucket", "prefix"},
	"http":       {"address"},
	"kubernetes": {"host", "config_context", "config_path", "namespace", "secret_suffix"},
	"oss":        {"region", "bucket", "prefix", "key"},
	"pg":         {"conn_str", "schema_name"},
	"remote":     {"hostname", "organization", "workspaces"},
	"s3":         {"bucket", "key", "workspace_key_prefix", "endpoint", "endpoints"},
}

// Identify returns the identity of a state. s is the session of the root module that uses it.
func Identify(s *session.Session, settings *session.BackendSettings, workspace string) (StateID, error) {
	config := settings.Driver.Config()
	if err := blocks.Decode(settings.Config, config, s.Env, tfdiags.Drop); err != nil {
		return "", err
	}
	name := settings.Driver.Name
	if c, ok := config.(*local.Config); ok {
		file := local.New(c, &local.Options{Dir: s.Base}).File(workspace)
		return encodeID(name, Absolute(file))
	}
	values := blocks.Values(config)
	if name == "cloud" { // the same service by another name
		name = "remote"
	}
	if only, ok := values["workspaces"].(map[string]any); ok && only["name"] != "" && only["name"] != nil {
		workspace = backend.DefaultWorkspace // the only one that the settings allow
	}
	if names, ok := places[name]; ok {
		for key := range values {
			if !slices.Contains(names, key) {
				delete(values, key)
			}
		}
	}
	return encodeID(name, workspace, values)
}

func encodeID(parts ...any) (StateID, error) {
	text, err := json.Marshal(parts)
	return StateID(text), err
}

// Show returns the identity as text for messages: the path of a local state, or the backend with
// its settings.
func (id StateID) Show() string {
	var parts []any
	if json.Unmarshal([]byte(id), &parts) == nil && len(parts) == 2 && parts[0] == "local" {
		path, _ := parts[1].(string)
		if rel, err := filepath.Rel(Absolute("."), path); err == nil {
			return rel
		}
		return path
	}
	return string(id)
}
