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

// providerKeys gives, for the provider configurations that a module can name, the key of the entry that describes each: the
// module's own, or that of an ancestor which passed it down.
type providerKeys map[addrs.LocalProviderConfig]string

func (k providerKeys) of(local addrs.LocalProviderConfig, module addrs.Module) string {
	if key, ok := k[local]; ok {
		return key
	}
	return providerKey(local, module)
}

func providerKey(local addrs.LocalProviderConfig, module addrs.Module) string {
	if module.IsRoot() {
		return local.String()
	}
	return module.String() + ":" + local.String()
}

// providers adds a module's own entries and gives its keys. Besides the module's provider blocks, every provider it needs has an
// entry under each local name and, as programs have come to expect, under its type, unless the calling module has one of that name.
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
		for _, passed := range cfg.Call.Providers {
			if key, ok := parent[passed.InParent.Local()]; ok {
				keys[passed.InChild.Local()] = key
			}
		}
	}
	own := func(name string, addr addrs.Provider) {
		local := addrs.LocalProviderConfig{LocalName: name}
		if _, done := keys[local]; done {
			return
		}
		if key, ok := parent[local]; ok {
			keys[local] = key
			return
		}
		c.entry(cfg, keys, local, addr)
	}
	for _, name := range slices.Sorted(maps.Keys(m.RequiredProviders)) {
		own(name, m.RequiredProviders[name].Provider)
	}
	for _, addr := range neededProviders(m) {
		own(addr.Type, addr)
	}
	return keys
}

// entry makes the entry of a configuration that belongs to the module itself.
func (c *configWriter) entry(cfg *configs.Config, keys providerKeys, local addrs.LocalProviderConfig, addr addrs.Provider) *providerEntry {
	key := providerKey(local, cfg.Path)
	e := &providerEntry{
		Name: local.LocalName, Alias: local.Alias, FullName: addr.String(), ModuleAddress: cfg.Path.String(),
		VersionConstraint: depsfile.ConstraintsString(localConstraints(cfg.Module, local.LocalName)),
	}
	keys[local], c.entries[key] = key, e
	return e
}

func localConstraints(m *configs.Module, name string) constraints.IntersectionSpec {
	var all constraints.IntersectionSpec
	if req := m.RequiredProviders[name]; req != nil {
		all = append(all, req.Constraints...)
	}
	for _, local := range slices.SortedFunc(maps.Keys(m.Providers), addrs.LocalProviderConfig.Compare) {
		if p := m.Providers[local]; p.Name == name && p.VersionText != "" {
			if spec, err := depsfile.ParseConstraints(p.VersionText); err == nil {
				all = append(all, spec...)
			}
		}
	}
	return all
}

// neededProviders lists the providers that a module's own blocks need, in order.
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
