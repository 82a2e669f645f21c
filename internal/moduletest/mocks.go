package moduletest

import (
	"cmp"
	"context"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/engine"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// mocks holds the mocks of one run: provider configurations that are mocked as a whole, and
// individual resources and data sources. It implements engine.Mocks.
type mocks struct {
	schema    func(context.Context, addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)
	configs   map[addrs.AbsProviderConfig]*configs.MockProvider
	overrides configs.OverrideTable
	// used maps each resource in the configuration to its provider configuration.
	used map[addrs.ConfigResource]addrs.AbsProviderConfig

	mu sync.Mutex
	// uninvoked names the actions that were planned but mocked, each with the object that triggers it if
	// that is why.
	uninvoked map[string]bool
}

var _ engine.Mocks = (*mocks)(nil)

func newMocks(schema func(context.Context, addrs.Provider) (*providers.Schema, tfdiags.Diagnostics)) *mocks {
	return &mocks{
		schema: schema, configs: map[addrs.AbsProviderConfig]*configs.MockProvider{},
		overrides: configs.OverrideTable{},
		used:      map[addrs.ConfigResource]addrs.AbsProviderConfig{},
		uninvoked: map[string]bool{},
	}
}

// attach records which provider configurations the resources in cfg use.
func (m *mocks) attach(cfg *configs.Config) {
	for module := range cfg.AllModules() {
		for addr, r := range module.Module.Resources {
			if use, ok := module.ProviderOf(r); ok {
				m.used[addr.In(module.Path)] = use.Config
			}
		}
	}
}

// Configuration implements engine.Mocks.
func (m *mocks) Configuration(addr addrs.AbsProviderConfig) bool { return m.configs[addr] != nil }

// covers reports whether this run mocks the object at addr. stored is the provider configuration of
// the object in the state. It is used only if the configuration doesn't declare the resource.
func (m *mocks) covers(addr addrs.AbsInstance, stored addrs.AbsProviderConfig) bool {
	if used, ok := m.used[addr.Config()]; ok {
		stored = used
	}
	return m.overrides.Of(addr) != nil || m.configs[stored] != nil
}

// Instance implements engine.Mocks.
func (m *mocks) Instance(addr addrs.AbsInstance, config addrs.AbsProviderConfig) providers.Interface {
	mock := m.configs[config]
	override := m.overrides.Of(addr)
	if override == nil && mock != nil {
		override = mock.OverrideOf(addr)
	}
	out := &mockObject{addr: addr}
	switch defaults := mock.Defaults(addr.Resource); {
	case override != nil:
		out.values, out.origin = override.Values, "the override at "+tfdiags.Place(override.Range)
		out.during = cmp.Or(override.During, defaults.During)
	case mock == nil:
		return nil
	default:
		out.during = defaults.During
		out.values, out.origin = defaults.Values, "the defaults of the mocked provider at "+tfdiags.Place(mock.Range)
	}
	schema, diags := m.schema(context.Background(), config.Provider)
	out.schema, out.diags = schemaOf(schema, addr.Resource), diags
	out.planned = func() { m.skip(addr.String()) }
	return out
}

// Triggered implements engine.Mocks.
func (m *mocks) Triggered(action, caller addrs.AbsInstance, of addrs.AbsProviderConfig) providers.Interface {
	if !m.covers(caller, of) {
		return nil
	}
	return &mockObject{addr: action, planned: func() { m.skip(action.String() + ", triggered by " + caller.String()) }}
}

// skip records an action that is not invoked.
func (m *mocks) skip(action string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.uninvoked[action] = true
}

func schemaOf(schema *providers.Schema, r addrs.Resource) *providers.ResourceSchema {
	if schema == nil {
		return nil
	}
	table := map[addrs.ResourceMode]providers.TypeTable{addrs.Managed: schema.Resources,
		addrs.Data: schema.DataSources, addrs.Ephemeral: schema.Ephemerals}[r.Mode]
	if table == nil {
		return nil
	}
	return table.Type(r.Type)
}

func blockOf(s *providers.ResourceSchema) *configschema.Block {
	if s == nil || s.Block == nil {
		return configschema.Empty()
	}
	return s.Block
}
