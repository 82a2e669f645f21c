package configs

import (
	"maps"
	"slices"

	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// ProviderUse is the provider configuration that serves something.
type ProviderUse struct {
	Config addrs.AbsProviderConfig
	// Block is the configuration's block; nil for the root module's default configuration without a block, which is empty.
	Block *Provider
	// Module is where the configuration belongs to.
	Module *Config
	// Key is the expression that chooses the instance of a configuration with for_each; nil for one without. It is evaluated in
	// KeyModule: for each instance of the resource when that is the resource's own module, for the module instance otherwise.
	Key       hcl.Expression
	KeyModule *Config
	// KeyCall is the call whose providers argument has the key; nil when the resource itself has it.
	KeyCall *ModuleCall
	// Expected says of a configuration that isn't there that the root module is made to be called with it, and declares so.
	Expected bool
}

// ProviderFor finds the configuration that a resource of this module is served by, given its provider argument (nil for none) and the
// provider. It is false when there is none of that alias.
func (c *Config) ProviderFor(ref *ProviderRef, provider addrs.Provider) (ProviderUse, bool) {
	use := ProviderUse{}
	alias := ""
	if ref != nil {
		alias = ref.Alias
		if ref.Key != nil {
			use.Key, use.KeyModule = ref.Key, c
		}
	}
	return c.resolve(provider, alias, use)
}

// ProviderOf is ProviderFor for a resource block of this module.
func (c *Config) ProviderOf(r *Resource) (ProviderUse, bool) {
	return c.ProviderFor(r.Provider, r.ProviderAddr)
}

// ProviderForLocal is ProviderFor for a configuration by the name that this module has for it, as provider functions name it.
func (c *Config) ProviderForLocal(local addrs.LocalProviderConfig) (ProviderUse, bool) {
	return c.resolve(c.Module.ProviderByLocalName(local.LocalName), local.Alias, ProviderUse{})
}

// resolve looks in c and, for what it is given or inherits, in its callers.
func (c *Config) resolve(provider addrs.Provider, alias string, use ProviderUse) (ProviderUse, bool) {
	if c.Parent != nil {
		if from := c.passedFor(provider, alias); from != nil {
			if from.Key != nil {
				use.Key, use.KeyModule, use.KeyCall = from.Key, c.Parent, c.Call
			}
			return c.Parent.resolve(c.Parent.Module.ProviderByLocalName(from.Name), from.Alias, use)
		}
	}
	block := c.Module.providerBlock(provider, alias)
	use.Expected = block == nil && c.Parent == nil && alias != "" && c.Module.expects(provider, alias)
	switch {
	case block != nil || c.Parent == nil && alias == "" || use.Expected:
		use.Config = addrs.AbsProviderConfig{Module: c.Path, Provider: provider, Alias: alias}
		use.Block, use.Module = block, c
		return use, !use.Expected
	case c.Parent == nil || alias != "":
		return use, false
	}
	return c.Parent.resolve(provider, alias, use)
}

// passedFor finds what the call gives the module as that configuration; nil when it gives nothing.
func (c *Config) passedFor(provider addrs.Provider, alias string) *ProviderRef {
	for _, passed := range c.Call.Providers {
		if passed.InChild.Alias == alias && c.Module.ProviderByLocalName(passed.InChild.Name) == provider {
			return passed.InParent
		}
	}
	return nil
}

// providerBlock finds a configuration's block by provider, whatever local name it has.
func (m *Module) providerBlock(provider addrs.Provider, alias string) *Provider {
	if name, ok := m.LocalNames[provider]; ok {
		if p := m.Providers[addrs.LocalProviderConfig{LocalName: name, Alias: alias}]; p != nil {
			return p
		}
	}
	for local, p := range m.Providers { // a second local name for the same provider
		if local.Alias == alias && p.Provider == provider {
			return p
		}
	}
	return nil
}

// expects tells whether a module declares that its caller passes a configuration.
func (m *Module) expects(provider addrs.Provider, alias string) bool {
	for name, req := range m.RequiredProviders {
		if req.Provider == provider && slices.Contains(req.Aliases, addrs.LocalProviderConfig{LocalName: name, Alias: alias}) {
			return true
		}
	}
	return false
}

// Requirement is one module's wish for a provider.
type Requirement struct {
	Provider    addrs.Provider
	Constraints constraints.IntersectionSpec // nil: any version
	Module      addrs.Module
	Range       hcl.Range // of the constraint, or of what uses the provider
}

// ProviderRequirements gives, for every provider that the modules of the tree require or use, the version constraints of each module.
// Providers without constraints have an entry all the same. Objects that only the state knows may need further ones.
func (c *Config) ProviderRequirements() map[addrs.Provider][]Requirement {
	out := map[addrs.Provider][]Requirement{}
	for cfg := range c.AllModules() {
		for _, req := range cfg.Module.reqs {
			req.Module = cfg.Path
			out[req.Provider] = append(out[req.Provider], req)
		}
	}
	return out
}

// requirements are those of one module: what it declares, and what it uses without saying so.
func (m *Module) requirements() []Requirement {
	var out []Requirement
	known := map[addrs.Provider]bool{}
	for _, name := range slices.Sorted(maps.Keys(m.RequiredProviders)) {
		req := m.RequiredProviders[name]
		known[req.Provider] = true
		out = append(out, Requirement{Provider: req.Provider, Constraints: req.Constraints, Range: req.Range})
	}
	implied := func(provider addrs.Provider, at hcl.Range) {
		if !known[provider] {
			known[provider] = true
			out = append(out, Requirement{Provider: provider, Range: at})
		}
	}
	for _, local := range slices.SortedFunc(maps.Keys(m.Providers), addrs.LocalProviderConfig.Compare) {
		p := m.Providers[local]
		implied(p.Provider, p.Range)
		if p.constraints != nil {
			out = append(out, Requirement{Provider: p.Provider, Constraints: p.constraints, Range: p.versionRange})
		}
	}
	for _, addr := range m.SortedResources() {
		implied(m.Resources[addr].ProviderAddr, m.Resources[addr].Range)
	}
	for _, im := range m.Imports {
		if im.ToResource.Module.IsRoot() {
			implied(im.ProviderAddr, im.Range)
		}
	}
	return out
}
