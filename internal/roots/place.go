package roots

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/memo"
	"tofu/internal/session"
)

// place says where a state is: a backend with its settings, and a workspace.
type place struct {
	driver    *backend.Driver
	config    cty.Value
	workspace string
	secret    bool // the settings have values that may not be stored
}

func (p *place) identify(s *session.Session) (StateID, error) {
	return Identify(s, &session.BackendSettings{Driver: p.driver, Config: p.config}, p.workspace)
}

// storedPlace is the stored form of a place.
type storedPlace struct {
	ID        StateID         `json:"i"` // the state that it means as long as the environment doesn't change
	Backend   json.RawMessage `json:"b"` // the settings that are not null
	Type      string          `json:"t"`
	Workspace string          `json:"w"`
}

// stored returns the form in which the place of a state is stored; nil if it can't be stored.
func (p *place) stored(id StateID) *storedPlace {
	if p == nil || p.secret || !p.config.IsWhollyKnown() || p.config.IsNull() {
		return nil
	}
	values := p.config.AsValueMap()
	maps.DeleteFunc(values, func(_ string, v cty.Value) bool { return v.IsNull() })
	text, err := json.Marshal(ctyjson.SimpleJSONValue{Value: cty.ObjectVal(values)})
	if err != nil {
		return nil
	}
	out := &storedPlace{ID: id, Backend: text, Type: p.driver.Name, Workspace: p.workspace}
	if again, err := out.place(); err != nil || !again.config.RawEquals(p.config) {
		return nil
	}
	return out
}

func (p *storedPlace) place() (*place, error) {
	driver, err := all.Driver(p.Type)
	if err != nil {
		return nil, err
	}
	record := &session.BackendRecord{Type: p.Type, Config: p.Backend}
	config, err := record.Value(blocks.Schema(driver.Config()))
	return &place{driver: driver, config: config, workspace: p.Workspace}, err
}

// places finds out which states places mean.
type places struct {
	same  bool // whether the environment is that of the IDs
	found memo.Map[string, StateID]
}

// readsFiles are the backends that find out from files of the user, such as those of kubectl and libpq, which
// state their settings mean.
var readsFiles = map[string]bool{"kubernetes": true, "pg": true, "postgres": true}

// identify returns which state a place means to a root module with the session s.
func (k *places) identify(s *session.Session, p *storedPlace) (StateID, error) {
	if k.same && !readsFiles[p.Type] {
		return p.ID, nil
	}
	key := strings.Join([]string{p.Type, p.Workspace, s.Base, string(p.Backend)}, "\x00")
	return k.found.Do(key, func() (StateID, error) {
		at, err := p.place()
		if err != nil {
			return "", err
		}
		return at.identify(s)
	})
}
