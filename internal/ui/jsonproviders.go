package ui

import (
	"maps"
	"slices"

	"github.com/apparentlymart/go-versions/versions/constraints"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
)

// providerEntry is one provider configuration in the configuration document.
type providerEntry struct {
	Name              string         `json:"name,omitempty"`
	FullName          string         `json:"full_name,omitempty"`
	Alias             string         `json:"alias,omitempty"`
	VersionConstraint string         `json:"version_constraint,omitempty"`
	ModuleAddress     string         `json:"module_address,omitempty"`
	Expressions       map[string]any `json:"expressions,omitempty"`
}

// providerKeys holds the key of the entry of each provider configuration that a module can refer
// to. Such a configuration is the module's own, or an ancestor passes it down.
type providerKeys map[addrs.LocalProviderConfig]entryKey

// entryKey holds the key of an entry and the provider that it configures.
type entryKey struct {
	key      string
	provider addrs.Provider
}

func (k providerKeys) of(local addrs.LocalProviderConfig, module addrs.Module) string {
	if entry, ok := k[local]; ok {
		return entry.key
	}
	return providerKey(local, module)
}

func providerKey(local addrs.LocalProviderConfig, module addrs.Module) string {
	if module.IsRoot() {
		return local.String()
	}
	return module.String() + ":" + local.String()
}

// providers adds the entries of a module and returns its keys. It adds an entry for each provider
// block, for each configuration that is passed to the module, for each local name that the module
// uses and, as in OpenTofu, for the type of each provider. Except for provider blocks, it uses an
// entry of the calling module instead, if there is one for the same name and provider.
func (c *configWriter) providers(cfg *configs.Config, parent providerKeys) providerKeys {
	m := cfg.Module
	keys := make(providerKeys)
	for local, p := range m.Providers {
		addr := m.ProviderByLocalName(p.Name)
		e := c.entry(cfg, keys, local, addr)
		if c.schemas != nil {
			if sch := c.schemas(addr); sch != nil && sch.Provider != nil && p.Config != nil {
				e.Expressions = bodyJSON(p.Config, sch.Provider)
			}
		}
	}
	if cfg.Call != nil {
		for _, passed := range cfg.Call.Providers.Value {
			local := passed.InChild.Local()
			c.inherit(cfg, keys, local, m.ProviderByLocalName(local.LocalName), parent, passed.InParent.Local())
		}
	}
	for _, name := range localNames(m) {
		local := addrs.LocalProviderConfig{LocalName: name}
		c.inherit(cfg, keys, local, m.ProviderByLocalName(name), parent, local)
	}
	for _, addr := range neededProviders(m) {
		local := addrs.LocalProviderConfig{LocalName: addr.Type}
		c.inherit(cfg, keys, local, addr, parent, local)
	}
	return keys
}

// inherit sets the entry of a provider configuration that has none yet. If the calling module's
// entry is for the same provider, inherit uses it. Otherwise, it adds a new entry.
func (c *configWriter) inherit(cfg *configs.Config, keys providerKeys, local addrs.LocalProviderConfig,
	addr addrs.Provider,
	parent providerKeys, inParent addrs.LocalProviderConfig) {
	if _, done := keys[local]; done {
		return
	}
	if entry, ok := parent[inParent]; ok && entry.provider == addr {
		keys[local] = entry
		return
	}
	c.entry(cfg, keys, local, addr)
}

// entry adds an entry for a provider configuration of the module itself.
func (c *configWriter) entry(
	cfg *configs.Config, keys providerKeys, local addrs.LocalProviderConfig, addr addrs.Provider,
) *providerEntry {
	key := providerKey(local, cfg.Path)
	e := &providerEntry{
		Name: local.LocalName, Alias: local.Alias, FullName: addr.String(), ModuleAddress: cfg.Path.String(),
		VersionConstraint: depsfile.ConstraintsString(entryConstraints(cfg.Module, local, addr)),
	}
	keys[local], c.entries[key] = entryKey{key, addr}, e
	return e
}

// entryConstraints returns the version constraints of an entry. With a provider block, they are
// all constraints that the module has for the provider. Without one, they are the constraints
// of its local name.
func entryConstraints(
	m *configs.Module, local addrs.LocalProviderConfig, addr addrs.Provider,
) constraints.IntersectionSpec {
	if m.Providers[local] == nil {
		if req := m.RequiredProviders[local.LocalName]; req != nil {
			return req.Constraints
		}
		return nil
	}
	var all constraints.IntersectionSpec
	for _, name := range slices.Sorted(maps.Keys(m.RequiredProviders)) {
		if req := m.RequiredProviders[name]; req.Provider == addr {
			all = append(all, req.Constraints...)
		}
	}
	for _, local := range slices.SortedFunc(maps.Keys(m.Providers), addrs.LocalProviderConfig.Compare) {
		if p := m.Providers[local]; p.VersionText != "" && m.ProviderByLocalName(p.Name) == addr {
			if spec, err := depsfile.ParseConstraints(p.VersionText); err == nil {
				all = append(all, spec...)
			}
		}
	}
	return all
}

// localNames returns the sorted local provider names in a module's own blocks.
func localNames(m *configs.Module) []string {
	names := make(map[string]bool)
	for name := range m.RequiredProviders {
		names[name] = true
	}
	for local := range m.Providers {
		names[local.LocalName] = true
	}
	for _, r := range m.Resources {
		names[r.ProviderConfig().LocalName] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// neededProviders returns the sorted providers that a module's own blocks require.
func neededProviders(m *configs.Module) []addrs.Provider {
	needed := make(map[addrs.Provider]bool)
	for _, req := range m.RequiredProviders {
		needed[req.Provider] = true
	}
	for _, p := range m.Providers {
		needed[m.ProviderByLocalName(p.Name)] = true
	}
	for _, r := range m.Resources {
		needed[r.ProviderAddr] = true
	}
	for _, i := range m.Imports {
		if !i.ProviderAddr.IsZero() {
			needed[i.ProviderAddr] = true
		}
	}
	return slices.SortedFunc(maps.Keys(needed), addrs.Provider.Compare)
}
