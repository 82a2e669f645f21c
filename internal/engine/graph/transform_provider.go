package graph

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
type Provider struct {
	Addr      addrs.AbsProviderConfig
	Module    *Module
	Config    *configs.Provider // nil: implied, with an empty body
	Schema    *providers.Schema
	Body      *lang.Body
	Instances map[addrs.InstanceKey]cty.Value // of a configuration with for_each: each.value by key; nil for others

	FunctionsOnly bool // nothing but its functions is used, so it isn't configured
	Assumed       bool // a caller that isn't there would pass it: it can only be validated with

	Node, close *Node
}

var providerTransformer = &Transformer{
	Name:  "Provider",
	Doc:   "adds a Provider node for each provider configuration in use and connects its users",
	After: []*Transformer{configTransformer, stateTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		var diags tfdiags.Diagnostics
		for _, r := range b.g.Resources {
			diags = diags.Append(b.connectProvider(r))
		}
		return diags
	},
}

func (b *build) connectProvider(r *Resource) tfdiags.Diagnostics {
	if r.Config != nil {
		use, ok := r.Module.Config.ProviderOf(r.Config)
		assumed := use.Expected && b.op.Phase == PhaseValidate // a module that is made to be called is validated by itself
		if !ok && !assumed {
			return tfdiags.Diagnostics{MissingProvider(r.Config.ProviderConfig(), r.Module.Path).InText(r.Config.Range)}
		}
		r.Provider, r.ProviderKey = b.provider(use)
		r.Provider.Assumed = assumed
		b.after(r.Node, r.Provider.Node)
		b.after(r.Inputs, r.Provider.Node)
		return nil
	}
	// The state says which configuration an object belongs to; it must still be there to do anything with the object.
	addr := r.Prior[0].Provider
	p, ok := b.stateProvider(addr)
	if !ok {
		var diags tfdiags.Diagnostics
		for _, prior := range r.Prior {
			for _, key := range prior.SortedKeys() {
				inst := prior.Addr.Instance(key)
				diags = diags.Append(tfdiags.Errorf("Provider configuration not present",
					"The state has %s as managed with %s, and the configuration has no such provider configuration any more. Put it back, destroy %s, and remove it then.",
					inst, addr, inst))
			}
		}
		return diags
	}
	r.Provider = p
	b.after(r.Node, p.Node)
	return nil
}

func MissingProvider(local addrs.LocalProviderConfig, m addrs.Module) tfdiags.Diagnostic {
	return tfdiags.Errorf("Provider configuration not present",
		"The provider configuration %s is neither declared in %s nor passed to it.", local, ModuleName(m))
}

// provider gives the node of a configuration that was resolved, and the key of the instance that is meant.
func (b *build) provider(use configs.ProviderUse) (*Provider, *ProviderKey) {
	p := b.providerConfig(use.Config, b.g.Modules[use.Module.Path], use.Block)
	if use.Key == nil {
		return p, nil
	}
	key := &ProviderKey{Expr: b.known.Expr(use.Key), Module: b.g.Modules[use.KeyModule.Path]}
	if use.KeyCall != nil {
		key.Call = use.KeyCall.Name
	}
	return p, key
}

func LocalName(m *configs.Module, p addrs.Provider) string {
	if name, ok := m.LocalNames[p]; ok {
		return name
	}
	return p.Type
}

// stateProvider finds the configuration at an absolute address.
func (b *build) stateProvider(addr addrs.AbsProviderConfig) (*Provider, bool) {
	if p := b.g.Providers[addr]; p != nil {
		return p, true
	}
	m := b.g.Modules[addr.Module]
	if m == nil || m.Config == nil {
		return nil, false
	}
	local := addrs.LocalProviderConfig{LocalName: LocalName(m.Config.Module, addr.Provider), Alias: addr.Alias}
	if block := m.Config.Module.Providers[local]; block != nil {
		return b.providerConfig(addr, m, block), true
	}
	if addr.Alias != "" || !addr.Module.IsRoot() {
		return nil, false
	}
	return b.providerConfig(addr, m, nil), true
}

// providerConfig gives the configuration's node, adding it when it is first used.
func (b *build) providerConfig(addr addrs.AbsProviderConfig, m *Module, cfg *configs.Provider) *Provider {
	if p := b.g.Providers[addr]; p != nil {
		return p
	}
	p := &Provider{Addr: addr, Module: m, Config: cfg}
	var rng *hcl.Range
	if cfg != nil {
		rng = &cfg.Range
		p.Instances = m.Config.ProviderInstances[addrs.LocalProviderConfig{LocalName: cfg.Name, Alias: cfg.Alias}]
	}
	p.Node = b.node(KindProvider, m, addr.String(), rng)
	p.close = b.node(KindProviderClose, m, addr.String()+" (close)", nil)
	p.Node.Object, p.close.Object = p, p
	b.after(p.close, p.Node)
	b.g.Providers[addr] = p
	return p
}

func (b *build) sortedProviders() []*Provider {
	return slices.SortedFunc(maps.Values(b.g.Providers), func(x, y *Provider) int {
		return strings.Compare(x.Addr.String(), y.Addr.String())
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
		for _, p := range b.g.Providers {
			p.Schema = b.schemas[p.Addr.Provider]
		}
		for _, r := range b.g.Resources {
			diags = diags.Append(b.attachSchema(r))
		}
		return diags
	},
}

func (b *build) fetchSchemas() tfdiags.Diagnostics {
	b.schemas = make(map[addrs.Provider]*providers.Schema)
	for addr := range b.g.Providers {
		b.schemas[addr.Provider] = nil
	}
	needed := slices.SortedFunc(maps.Keys(b.schemas), addrs.Provider.Compare)
	defer b.op.Timings.Phase("schemas")()
	schemas := make([]*providers.Schema, len(needed))
	problems := make([]tfdiags.Diagnostics, len(needed))
	parallel.Each(len(needed), len(needed), func(i int) { schemas[i], problems[i] = b.op.Schema(b.ctx, needed[i]) })
	var diags tfdiags.Diagnostics
	for i, addr := range needed {
		b.schemas[addr] = schemas[i]
		diags = diags.Append(problems[i])
	}
	return diags
}

// attachSchema finds a resource type's schema. A type that its provider doesn't have is a problem of the block alone, so that
// others are looked at too.
func (b *build) attachSchema(r *Resource) tfdiags.Diagnostics {
	schema := b.schemas[r.Provider.Addr.Provider]
	var table providers.TypeTable
	kind := "resource type"
	switch r.Addr.Resource.Mode {
	case addrs.Data:
		table, kind = schema.DataSources, "data source"
	case addrs.Ephemeral:
		table, kind = schema.Ephemerals, "ephemeral resource type"
	default:
		table = schema.Resources
	}
	if table != nil {
		r.Schema = table.Type(r.Addr.Resource.Type)
	}
	if r.Schema != nil && r.Schema.Invalid != nil {
		return tfdiags.Diagnostics{tfdiags.Errorf("Invalid provider schema", "The schema of the %s %q of the provider %s is wrong: %s.\n\n%s",
			kind, r.Addr.Resource.Type, r.Provider.Addr.Provider.ForDisplay(), r.Schema.Invalid, providers.BugNotice)}
	}
	if r.Schema != nil {
		return nil
	}
	if r.Config == nil {
		r.Node.Problems = r.Node.Problems.Append(tfdiags.Errorf("Unknown "+kind, "The provider %s does not know the %s %q of %s, which is in the state.",
			r.Provider.Addr.Provider.ForDisplay(), kind, r.Addr.Resource.Type, r.Addr))
		return nil
	}
	var names []string
	if table != nil {
		names = table.Names()
	}
	d := tfdiags.Errorf("Invalid "+kind, "The provider %s does not support the %s %q.%s", r.Provider.Addr.Provider.ForDisplay(), kind,
		r.Addr.Resource.Type, spelling.DidYouMean(r.Addr.Resource.Type, names)).At(r.Config.TypeRange)
	r.Inputs.Problems = r.Inputs.Problems.Append(d)
	return nil
}

func ModuleName(m addrs.Module) string {
	if m.IsRoot() {
		return "the root module"
	}
	return m.String()
}
