package configs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// checkProviders checks the references to provider configurations and the providers arguments of
// the whole tree.
func (c *Config) checkProviders(warn tfdiags.Sink) error {
	ck := &providerCheck{warn: warn}
	ck.module(c, nil)
	return ck.errs.Err()
}

type providerCheck struct {
	errs tfdiags.Diagnostics
	warn tfdiags.Sink
}

func (ck *providerCheck) errorf(at hcl.Range, summary, detail string, args ...any) {
	ck.errs.Add(tfdiags.Errorf(summary, detail, args...).At(at))
}

func (ck *providerCheck) warnf(at hcl.Range, summary, detail string, args ...any) {
	ck.warn(tfdiags.Warningf(summary, detail, args...).At(at))
}

// module checks cfg and the modules below it. repeated is the position of a count, for_each,
// enabled or depends_on argument of a call on the path to cfg, or nil if no call has one. Modules
// with provider configurations of their own can't be called with these arguments.
func (ck *providerCheck) module(cfg *Config, repeated *hcl.Range) {
	if cfg.Parent != nil {
		ck.ownConfigurations(cfg, repeated)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Module.Calls)) {
		call, child := cfg.Module.Calls[name], cfg.Children[name]
		for _, passed := range call.Providers.Value {
			ck.key(cfg, passed.InParent, "module")
		}
		if child == nil {
			continue
		}
		ck.passed(cfg, child)
		ck.missing(child)
		ck.module(child, cmp.Or(call.repetition(), repeated))
	}
	for _, r := range cfg.Module.Blocks() {
		if r.Provider != nil {
			ck.key(cfg, r.Provider, "resource")
		}
	}
}

// repetition returns the position of a count, for_each, enabled or depends_on argument of the call,
// or nil if none exists.
func (c *ModuleCall) repetition() *hcl.Range {
	for _, expr := range []hcl.Expression{c.Count, c.ForEach, c.Enabled} {
		if expr != nil {
			rng := expr.Range()
			return &rng
		}
	}
	if len(c.DependsOn) > 0 {
		rng := c.DependsOn[0].SourceRange()
		return &rng
	}
	return nil
}

// empty reports whether a provider block in a called module has no settings. Such a block is the
// old way to declare that the caller must pass a provider configuration.
func (p *Provider) empty() bool {
	if p.VersionText != "" {
		return false
	}
	attrs, diags := p.Config.JustAttributes()
	return len(attrs) == 0 && !diags.HasErrors()
}

// ownConfigurations checks the provider blocks of a called module.
func (ck *providerCheck) ownConfigurations(cfg *Config, repeated *hcl.Range) {
	warned, reported := map[string]bool{}, false
	for _, local := range slices.SortedFunc(maps.Keys(cfg.Module.Providers), addrs.LocalProviderConfig.Compare) {
		p := cfg.Module.Providers[local]
		switch {
		case p.empty() && !warned[p.Name]:
			warned[p.Name] = true
			ck.warnf(p.Range, "Redundant empty provider block",
				"An empty provider block is the old way to declare that a module requires a provider "+
					"configuration. Declare %s in required_providers instead, with additional configurations "+
					"in configuration_aliases, and remove the block from %s.",
				p.Name, cfg.Path)
		case !p.empty() && repeated != nil && !reported:
			reported = true
			ck.errorf(*repeated, "Module is incompatible with count, for_each, enabled and depends_on",
				"%s has its own provider configurations (%s). A call with count, for_each, enabled or "+
					"depends_on must pass them with the providers argument instead.",
				cfg.Path, tfdiags.Place(p.Range))
		}
	}
}

// passed checks the providers argument of the call of child in parent.
func (ck *providerCheck) passed(parent, child *Config) {
	for _, passed := range child.Call.Providers.Value {
		key, from := passed.InChild.Local(), passed.InParent
		ck.receives(child, passed.InChild)
		want, got := child.Module.declaredProvider(key.LocalName), parent.Module.declaredProvider(from.Name)
		if want != got {
			ck.errorf(from.NameRange, "Provider type mismatch",
				"%q refers to provider %s in %s, but %q refers to %s in %s. Pass a configuration of the same "+
					"provider, or change the source in required_providers.",
				from.Local(), got.ForDisplay(), parent.describe(), key, want.ForDisplay(), child.describe())
		}
		if from.Alias == "" && parent.Module.RequiredProviders[from.Name] == nil {
			ck.warnf(from.NameRange, "Reference to undefined provider",
				"The local provider name %q is not declared in %s, so %s is assumed. Add it to "+
					"required_providers there.",
				from.Name, parent.describe(), got.ForDisplay())
		}
	}
}

// receives checks that a called module declares a configuration that is passed to it.
func (ck *providerCheck) receives(child *Config, ref *ProviderRef) {
	key := ref.Local()
	block := child.Module.Providers[key]
	if block != nil && !block.empty() {
		ck.errorf(ref.NameRange, "Cannot override provider configuration",
			"%s has its own configuration for %s, so no other configuration can be passed. Remove the provider block "+
				"there, or this argument.", child.describe(), key)
	}
	proxy := block != nil && block.empty()
	req := child.Module.RequiredProviders[key.LocalName]
	switch {
	case proxy || req != nil && (key.Alias == "" || slices.Contains(req.Aliases, key)):
	case req != nil:
		ck.errorf(ref.NameRange, "Reference to undefined provider",
			"%s declares no provider configuration %q. Add it to configuration_aliases of %s in the "+
				"required_providers block there, or remove it here.",
			child.describe(), key, key.LocalName)
	default:
		aliases := ""
		if key.Alias != "" {
			aliases = fmt.Sprintf(", with configuration_aliases = [%s]", key)
		}
		ck.warnf(ref.NameRange, "Reference to undefined provider",
			"The local provider name %q is not declared in %s, so %s is assumed. Add it to required_providers there%s.",
			key.LocalName, child.describe(), addrs.DefaultProvider(key.LocalName).ForDisplay(), aliases)
	}
}

// missing reports the configurations in the called module's configuration_aliases that its call
// doesn't pass, unless the module configures them itself.
func (ck *providerCheck) missing(child *Config) {
	given := map[addrs.LocalProviderConfig]bool{}
	for _, passed := range child.Call.Providers.Value {
		given[passed.InChild.Local()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(child.Module.RequiredProviders)) {
		req := child.Module.RequiredProviders[name]
		for _, alias := range req.Aliases {
			own := child.Module.Providers[alias]
			if given[alias] || own != nil && !own.empty() {
				continue
			}
			ck.errorf(child.Call.Range, "Missing required provider configuration",
				"%s requires a configuration of provider %s with the local name %q. Add %s = … to the "+
					"providers argument.",
				child.describe(), req.Provider.ForDisplay(), alias, alias)
		}
	}
}

// key checks that a reference has an instance key if and only if the configuration has for_each.
func (ck *providerCheck) key(cfg *Config, ref *ProviderRef, what string) {
	block := cfg.Module.Providers[ref.Local()]
	switch repeated := block != nil && block.ForEach != nil; {
	case repeated && ref.Key == nil:
		ck.errorf(ref.NameRange, "Invalid "+what+" provider configuration",
			"%s has for_each, so the reference must select one of its instances: %s[KEY].", ref.Local(), ref.Local())
	case !repeated && ref.Key != nil:
		ck.errorf(ref.NameRange, "Invalid "+what+" provider configuration",
			"An instance key requires a provider %q block with alias = %q and for_each in the same module.",
			ref.Name, ref.Alias)
	}
}

// describe returns the name of the module for messages.
func (c *Config) describe() string {
	if c.Path.IsRoot() {
		return "the root module"
	}
	return c.Path.String()
}
