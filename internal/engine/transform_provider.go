package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang"
	"tofu/internal/parallel"
	"tofu/internal/providers"
	"tofu/internal/spelling"
	"tofu/internal/tfdiags"
)

// providerConfig is a provider configuration that something in the graph uses.
type providerConfig struct {
	addr   addrs.AbsProviderConfig
	module *module
	cfg    *configs.Provider // nil: implied, with an empty body
	schema *providers.Schema
	body   *lang.Body
	each   map[addrs.InstanceKey]cty.Value // of a configuration with for_each: each.value by key; nil for others

	functionsOnly bool // nothing but its functions is used, so it isn't configured
	assumed       bool // a caller that isn't there would pass it: it can only be validated with

	node, close *Node
}

var providerTransformer = &Transformer{
	Name:  "Provider",
	Doc:   "adds a Provider node for each provider configuration in use and connects its users",
	After: []*Transformer{configTransformer, stateTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		var diags tfdiags.Diagnostics
		for _, r := range b.g.resources {
			diags = diags.Append(b.connectProvider(r))
		}
		return diags
	},
}

func (b *build) connectProvider(r *resource) tfdiags.Diagnostics {
	if r.cfg != nil {
		use, ok := r.module.cfg.ProviderOf(r.cfg)
		assumed := use.Expected && b.op.phase == PhaseValidate // a module that is made to be called is validated by itself
		if !ok && !assumed {
			return tfdiags.Diagnostics{missingProvider(r.cfg.ProviderConfig(), r.module.path).InText(r.cfg.Range)}
		}
		r.provider, r.providerKey = b.provider(use)
		r.provider.assumed = assumed
		b.after(r.node, r.provider.node)
		b.after(r.open, r.provider.node)
		return nil
	}
	// The state says which configuration an object belongs to; it must still be there to do anything with the object.
	addr := r.prior[0].Provider
	p, ok := b.stateProvider(addr)
	if !ok {
		var diags tfdiags.Diagnostics
		for _, prior := range r.prior {
			for _, key := range prior.SortedKeys() {
				inst := prior.Addr.Instance(key)
				diags = diags.Append(tfdiags.Errorf("Provider configuration not present",
					"The state has %s as managed with %s, and the configuration has no such provider configuration any more. Put it back, destroy %s, and remove it then.",
					inst, addr, inst))
			}
		}
		return diags
	}
	r.provider = p
	b.after(r.node, p.node)
	return nil
}

func missingProvider(local addrs.LocalProviderConfig, m addrs.Module) tfdiags.Diagnostic {
	return tfdiags.Errorf("Provider configuration not present",
		"The provider configuration %s is neither declared in %s nor passed to it.", local, moduleName(m))
}

// provider gives the node of a configuration that was resolved, and the key of the instance that is meant.
func (b *build) provider(use configs.ProviderUse) (*providerConfig, *keyExpr) {
	p := b.providerConfig(use.Config, b.g.modules[use.Module.Path], use.Block)
	if use.Key == nil {
		return p, nil
	}
	key := &keyExpr{expr: b.known.expr(use.Key), module: b.g.modules[use.KeyModule.Path]}
	if use.KeyCall != nil {
		key.call = use.KeyCall.Name
	}
	return p, key
}

func localName(m *configs.Module, p addrs.Provider) string {
	if name, ok := m.LocalNames[p]; ok {
		return name
	}
	return p.Type
}

// stateProvider finds the configuration at an absolute address.
func (b *build) stateProvider(addr addrs.AbsProviderConfig) (*providerConfig, bool) {
	if p := b.g.providers[addr]; p != nil {
		return p, true
	}
	m := b.g.modules[addr.Module]
	if m == nil || m.cfg == nil {
		return nil, false
	}
	local := addrs.LocalProviderConfig{LocalName: localName(m.cfg.Module, addr.Provider), Alias: addr.Alias}
	if block := m.cfg.Module.Providers[local]; block != nil {
		return b.providerConfig(addr, m, block), true
	}
	if addr.Alias != "" || !addr.Module.IsRoot() {
		return nil, false
	}
	return b.providerConfig(addr, m, nil), true
}

// providerConfig gives the configuration's node, adding it when it is first used.
func (b *build) providerConfig(addr addrs.AbsProviderConfig, m *module, cfg *configs.Provider) *providerConfig {
	if p := b.g.providers[addr]; p != nil {
		return p
	}
	p := &providerConfig{addr: addr, module: m, cfg: cfg}
	var rng *hcl.Range
	if cfg != nil {
		rng = &cfg.Range
		p.each = m.cfg.ProviderInstances[addrs.LocalProviderConfig{LocalName: cfg.Name, Alias: cfg.Alias}]
	}
	p.node = b.node(KindProvider, m, addr.String(), rng)
	p.close = b.node(KindProviderClose, m, addr.String()+" (close)", nil)
	p.node.Object, p.close.Object = p, p
	b.after(p.close, p.node)
	b.g.providers[addr] = p
	return p
}

func (b *build) sortedProviders() []*providerConfig {
	return slices.SortedFunc(maps.Values(b.g.providers), func(x, y *providerConfig) int {
		return strings.Compare(x.addr.String(), y.addr.String())
	})
}

var schemaTransformer = &Transformer{
	Name:  "Schema",
	Doc:   "attaches the schemas of providers and resource types, fetching all providers' at once",
	After: []*Transformer{providerTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		diags := b.fetchSchemas()
		if diags.HasErrors() {
			return diags
		}
		for _, p := range b.g.providers {
			p.schema = b.schemas[p.addr.Provider]
		}
		for _, r := range b.g.resources {
			diags = diags.Append(b.attachSchema(r))
		}
		return diags
	},
}

func (b *build) fetchSchemas() tfdiags.Diagnostics {
	b.schemas = make(map[addrs.Provider]*providers.Schema)
	for addr := range b.g.providers {
		b.schemas[addr.Provider] = nil
	}
	needed := slices.SortedFunc(maps.Keys(b.schemas), addrs.Provider.Compare)
	defer b.op.timings.Phase("schemas")()
	schemas := make([]*providers.Schema, len(needed))
	problems := make([]tfdiags.Diagnostics, len(needed))
	parallel.Each(len(needed), len(needed), func(i int) { schemas[i], problems[i] = b.op.schema(b.ctx, needed[i]) })
	var diags tfdiags.Diagnostics
	for i, addr := range needed {
		b.schemas[addr] = schemas[i]
		diags = diags.Append(problems[i])
	}
	return diags
}

// attachSchema finds a resource type's schema. A type that its provider doesn't have is a problem of the block alone, so that
// others are looked at too.
func (b *build) attachSchema(r *resource) tfdiags.Diagnostics {
	schema := b.schemas[r.provider.addr.Provider]
	var table providers.TypeTable
	kind := "resource type"
	switch r.addr.Resource.Mode {
	case addrs.Data:
		table, kind = schema.DataSources, "data source"
	case addrs.Ephemeral:
		table, kind = schema.Ephemerals, "ephemeral resource type"
	default:
		table = schema.Resources
	}
	if table != nil {
		r.schema = table.Type(r.addr.Resource.Type)
	}
	if r.schema != nil && r.schema.Invalid != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Invalid provider schema", "The schema of the %s %q of the provider %s is wrong: %s.\n\n%s",
			kind, r.addr.Resource.Type, r.provider.addr.Provider.ForDisplay(), r.schema.Invalid, providers.BugNotice)}
	}
	if r.schema != nil {
		return nil
	}
	if r.cfg == nil {
		r.node.Problems = r.node.Problems.Append(tfdiags.Errorf("Unknown "+kind, "The provider %s does not know the %s %q of %s, which is in the state.",
			r.provider.addr.Provider.ForDisplay(), kind, r.addr.Resource.Type, r.addr))
		return nil
	}
	var names []string
	if table != nil {
		names = table.Names()
	}
	d := tfdiags.Errorf("Invalid "+kind, "The provider %s does not support the %s %q.%s", r.provider.addr.Provider.ForDisplay(), kind,
		r.addr.Resource.Type, spelling.DidYouMean(r.addr.Resource.Type, names)).At(r.cfg.TypeRange)
	r.open.Problems = r.open.Problems.Append(d)
	return nil
}

func moduleName(m addrs.Module) string {
	if m.IsRoot() {
		return "the root module"
	}
	return m.String()
}
