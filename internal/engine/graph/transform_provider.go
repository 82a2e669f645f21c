package graph

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/parallel"
	"tofu/internal/providers"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

var providerTransformer = &Transformer{
	Name:  "Provider",
	Doc:   "adds a Provider node for each provider configuration in use and connects its users",
	After: []*Transformer{configTransformer, stateTransformer},
	Run: func(_ context.Context, b *build) error {
		var errs tfdiags.Diagnostics
		for _, r := range b.g.Resources {
			errs = errs.AppendError(b.providers.connect(r))
		}
		return errs.AppendError(b.providers.connectActions()).Err()
	},
}

// providerSet finds provider configurations, adds those in use to the graph, and fetches the
// schemas of their providers.
type providerSet struct {
	b       *build
	schemas map[addrs.Provider]*providers.Schema
}

// connect finds the provider configuration of a resource and connects the resource to it.
func (s *providerSet) connect(r *reads.Resource) error {
	if r.Config != nil {
		use, ok := r.Module.Config.ProviderOf(r.Config)
		assumed := use.Expected && s.b.op.Phase.InputsUnknown() // the module needs a caller but is validated without one
		if !ok && !assumed {
			return MissingProvider(r.Config.ProviderConfig(), r.Module.Path).InText(r.Config.Range)
		}
		r.ProviderUse = s.find(use)
		r.Provider.Assumed = assumed
		s.b.after(r.Node, r.Provider.Node)
		s.b.after(r.Inputs, r.Provider.Node)
		return nil
	}
	// The state names the provider configuration of an object, which every operation on the object
	// needs.
	addr := r.Prior[0].Provider
	p, ok := s.inState(addr)
	if !ok {
		var err error
		if p, err = s.gone(r, addr); err != nil {
			return err
		}
	}
	r.Provider = p
	s.b.after(r.Node, p.Node)
	return nil
}

// gone returns a provider configuration that only the state has. It returns an error if the state doesn't
// have the configurations of all provider instances that manage objects of r.
func (s *providerSet) gone(r *reads.Resource, addr addrs.AbsProviderConfig) (*reads.Provider, error) {
	var errs tfdiags.Diagnostics
	for _, prior := range r.Prior {
		for _, key := range prior.SortedKeys() {
			by := addrs.ProviderInstance{Config: addr, Key: prior.Instances[key].ProviderKey}
			if r.Addr.Resource.Mode == addrs.Data || s.b.op.Prior.ProviderConfig(by) != nil {
				continue
			}
			inst := prior.Addr.Instance(key)
			errs = errs.Append(tfdiags.Errorf("Provider configuration not present",
				"%s was created with %s, which the configuration no longer has, and the state doesn't say how it was "+
					"configured. Restore the provider configuration, destroy %s, and then remove the provider "+
					"configuration again. To leave the object as it is, remove it from the state: "+
					"tofu state rm '%[1]s'",
				inst, addr, inst))
		}
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	m := s.b.g.Modules[addr.Module]
	if m == nil {
		m = s.b.g.Root
	}
	p := s.ensure(addr, m, nil)
	p.Gone, p.Instances = true, map[addrs.InstanceKey]cty.Value{}
	return p, nil
}

// MissingProvider returns the error for a provider configuration that a module does not have.
func MissingProvider(local addrs.LocalProviderConfig, m addrs.Module) tfdiags.Diagnostic {
	if m.IsRoot() {
		return tfdiags.Errorf("Provider configuration not present",
			"The root module has no provider configuration %s. Add a provider block for it, or correct the reference.", local)
	}
	return tfdiags.Errorf("Provider configuration not present",
		"The provider configuration %s is neither declared in %s nor passed to it.", local, reads.ModuleName(m))
}

// find returns the provider configuration that a block uses.
func (s *providerSet) find(use configs.ProviderUse) reads.ProviderUse {
	p := s.ensure(use.Config, s.b.g.Modules[use.Module.Path], use.Block)
	if p.Gone { // the configuration uses it without a block
		p.Gone, p.Instances = false, nil
	}
	if use.Key == nil {
		return reads.ProviderUse{Provider: p}
	}
	key := &reads.ProviderKey{Expr: s.b.known.Expr(use.Key), Module: s.b.g.Modules[use.KeyModule.Path]}
	if use.KeyCall != nil {
		key.Call = use.KeyCall.Name
	}
	return reads.ProviderUse{Provider: p, ProviderKey: key}
}

// LocalName returns the name of a provider within a module.
func LocalName(m *configs.Module, p addrs.Provider) string {
	if name, ok := m.LocalNames[p]; ok {
		return name
	}
	return p.Type
}

// inState returns the provider configuration at addr, which the state names, and reports whether it
// exists. The root module has an implied configuration of every provider, unless the state has another.
func (s *providerSet) inState(addr addrs.AbsProviderConfig) (*reads.Provider, bool) {
	if p := s.b.g.Providers[addr]; p != nil {
		return p, true
	}
	m := s.b.g.Modules[addr.Module]
	if m == nil || m.Config == nil {
		return nil, false
	}
	local := addrs.LocalProviderConfig{LocalName: LocalName(m.Config.Module, addr.Provider), Alias: addr.Alias}
	if block := m.Config.Module.Providers[local]; block != nil {
		return s.ensure(addr, m, block), true
	}
	if addr.Alias != "" || !addr.Module.IsRoot() || s.b.op.Prior.ProviderConfig(addrs.ProviderInstance{Config: addr}) != nil {
		return nil, false
	}
	return s.ensure(addr, m, nil), true
}

// ensure returns a provider configuration, and adds it and its nodes on first use.
func (s *providerSet) ensure(addr addrs.AbsProviderConfig, m *reads.Module, cfg *configs.Provider) *reads.Provider {
	if p := s.b.g.Providers[addr]; p != nil {
		return p
	}
	p := &reads.Provider{Addr: addr, Module: m, Config: cfg}
	var rng *hcl.Range
	if cfg != nil {
		rng = &cfg.Range
		p.Instances = m.Config.ProviderInstances[addrs.LocalProviderConfig{LocalName: cfg.Name, Alias: cfg.Alias}]
	}
	p.Node = s.b.node(reads.KindProvider, m, addr.String(), rng)
	p.Close = s.b.node(reads.KindProviderClose, m, addr.String()+" (close)", nil)
	p.Node.Object, p.Close.Object = p, p
	s.b.after(p.Close, p.Node)
	s.b.g.Providers[addr] = p
	return p
}

func (g *Graph) sortedProviders() []*reads.Provider {
	return slices.SortedFunc(maps.Values(g.Providers), func(x, y *reads.Provider) int {
		return strings.Compare(x.Addr.String(), y.Addr.String())
	})
}

var schemaTransformer = &Transformer{
	Name:  "Schema",
	Doc:   "attaches the schemas of providers and resource types, which are fetched in parallel",
	After: []*Transformer{providerTransformer},
	Run: func(ctx context.Context, b *build) error {
		if err := b.providers.fetchSchemas(ctx); err != nil {
			return err
		}
		for _, p := range b.g.Providers {
			p.Schema = b.providers.schemas[p.Addr.Provider]
		}
		var errs tfdiags.Diagnostics
		for _, r := range slices.Concat(b.g.Resources, b.actions) {
			errs = errs.AppendError(b.providers.attachSchema(r))
		}
		return errs.Err()
	},
}

// fetchSchemas fetches the schemas of all providers in use.
func (s *providerSet) fetchSchemas(ctx context.Context) error {
	s.schemas = make(map[addrs.Provider]*providers.Schema)
	for addr := range s.b.g.Providers {
		s.schemas[addr.Provider] = nil
	}
	needed := slices.SortedFunc(maps.Keys(s.schemas), addrs.Provider.Compare)
	defer s.b.op.Timings.Phase("schemas")()
	schemas := make([]*providers.Schema, len(needed))
	answers := make([]tfdiags.Diagnostics, len(needed))
	parallel.Each(len(needed), len(needed), func(i int) { schemas[i], answers[i] = s.b.op.Schema(ctx, needed[i]) })
	for i, addr := range needed {
		s.schemas[addr] = schemas[i]
	}
	return slices.Concat(answers...).Report(s.b.op.Warn)
}

// schema returns the schema of a provider, and fetches it on first use.
func (s *providerSet) schema(ctx context.Context, addr addrs.Provider) (*providers.Schema, error) {
	if s.schemas[addr] == nil {
		schema, diags := s.b.op.Schema(ctx, addr)
		if err := diags.Report(s.b.op.Warn); err != nil {
			return nil, err
		}
		s.schemas[addr] = schema
	}
	return s.schemas[addr], nil
}

// attachSchema sets the schema of a resource. If the provider doesn't have the resource type, the
// error is added to the node's Problems, so the other blocks are checked too.
func (s *providerSet) attachSchema(r *reads.Resource) error {
	schema := s.schemas[r.Provider.Addr.Provider]
	table, kind := schema.Table(r.Addr.Resource.Mode), "resource type"
	switch r.Addr.Resource.Mode {
	case addrs.Data:
		kind = "data source"
	case addrs.Ephemeral:
		kind = "ephemeral resource type"
	case addrs.Action:
		kind = "action type"
	}
	if table != nil {
		r.Schema = table.Type(r.Addr.Resource.Type)
	}
	if r.Schema != nil && r.Schema.Invalid != nil {
		return tfdiags.Errorf(
			"Invalid provider schema",
			"The schema of the %s %q of the provider %s is invalid: %s.\n\n%s",
			kind,
			r.Addr.Resource.Type,
			r.Provider.Addr.Provider.ForDisplay(),
			r.Schema.Invalid,
			providers.BugNotice,
		)
	}
	if r.Schema != nil {
		return nil
	}
	if r.Config == nil {
		r.Node.Problems = r.Node.Problems.Append(
			tfdiags.Errorf("Unknown "+kind, "The provider %s does not support the %s %q of %s, which is in the state.",
				r.Provider.Addr.Provider.ForDisplay(), kind, r.Addr.Resource.Type, r.Addr),
		)
		return nil
	}
	var names []string
	if table != nil {
		names = table.Names()
	}
	hint := suggest.DidYouMean(r.Addr.Resource.Type, names)
	if r.Addr.Resource.Mode == addrs.Action && len(names) == 0 {
		hint = " The installed version has no actions at all; a newer one may have them."
	}
	d := tfdiags.Errorf("Invalid "+kind, "The provider %s does not support the %s %q.%s",
		r.Provider.Addr.Provider.ForDisplay(), kind, r.Addr.Resource.Type, hint).At(r.Config.TypeRange)
	r.Inputs.Problems = r.Inputs.Problems.Append(d)
	return nil
}
