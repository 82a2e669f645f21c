package configs

import (
	"maps"
	"slices"

	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
)

// ProviderUse is the provider configuration of a resource or function.
type ProviderUse struct {
	Config addrs.AbsProviderConfig
	// Block is nil if Expected is set, and for the root module's implied default configuration,
	// which is empty.
	Block *Provider
	// Module is the module of the configuration.
	Module *Config
	// Key selects the instance of a configuration with for_each. It is nil if the configuration has
	// no for_each. It is evaluated in KeyModule: once per resource instance if KeyModule is the
	// resource's own module, or else once per module instance.
	Key       hcl.Expression
	KeyModule *Config
	// KeyCall is the call whose providers argument contains the key. It is nil if there is no key
	// or the resource itself contains it.
	KeyCall *ModuleCall
	// Expected reports whether the configuration is missing but declared in configuration_aliases
	// of the root module. Such a root module is intended to be called by another module.
	Expected bool
}

// ProviderFor returns the configuration of a provider that ref selects in this module. ref may be
// nil, which selects the default configuration. ProviderFor returns false if no configuration has
// the alias, even if the root module's callers are expected to pass it (see ProviderUse.Expected).
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

// ProviderOf is like ProviderFor, for a resource block of this module.
func (c *Config) ProviderOf(r *Resource) (ProviderUse, bool) {
	return c.ProviderFor(r.Provider, r.ProviderAddr)
}

// ProviderForLocal is like ProviderFor, but takes the local name of a configuration, as written in
// calls of provider functions.
func (c *Config) ProviderForLocal(local addrs.LocalProviderConfig) (ProviderUse, bool) {
	return c.resolve(c.Module.ProviderByLocalName(local.LocalName), local.Alias, ProviderUse{})
}

// resolve looks for the configuration in c. If the configuration is passed or inherited, it
// continues in the calling modules.
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

// passedFor returns the configuration that the module's call passes for provider and alias, or nil.
func (c *Config) passedFor(provider addrs.Provider, alias string) *ProviderRef {
	for _, passed := range c.Call.Providers.Value {
		if passed.InChild.Alias == alias && c.Module.ProviderByLocalName(passed.InChild.Name) == provider {
			return passed.InParent
		}
	}
	return nil
}

// providerBlock returns the block that configures a provider, under any of the provider's local
// names.
func (m *Module) providerBlock(provider addrs.Provider, alias string) *Provider {
	if name, ok := m.LocalNames[provider]; ok {
		if p := m.Providers[addrs.LocalProviderConfig{LocalName: name, Alias: alias}]; p != nil {
			return p
		}
	}
	for local, p := range m.Providers { // the provider may have a second local name
		if local.Alias == alias && p.Provider == provider {
			return p
		}
	}
	return nil
}

// expects reports whether the module declares a configuration that callers must pass.
func (m *Module) expects(provider addrs.Provider, alias string) bool {
	for name, req := range m.RequiredProviders {
		if req.Provider == provider && slices.Contains(req.Aliases,
			addrs.LocalProviderConfig{LocalName: name, Alias: alias}) {
			return true
		}
	}
	return false
}

// Requirement is a module's requirement of a provider.
type Requirement struct {
	Provider    addrs.Provider
	Constraints constraints.IntersectionSpec // nil if any version is acceptable
	Module      addrs.Module
	Range       hcl.Range // range of the constraint, or of a block that uses the provider
}

// ProviderRequirements returns the requirements of all modules of the tree for each provider they
// require or use. Providers without version constraints are included. Resources that are only in
// the state may need further providers.
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

// requirements returns the module's declared requirements and those implied by its blocks.
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
	for _, r := range m.Blocks() {
		implied(r.ProviderAddr, r.Range)
	}
	for _, im := range m.Imports {
		if im.ToResource.Module.IsRoot() {
			implied(im.ProviderAddr, im.Range)
		}
	}
	return out
}
