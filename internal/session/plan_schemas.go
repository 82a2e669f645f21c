package session

import (
	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui"
)

// shownSchemas returns the schemas that are needed to show a plan: those of provider blocks,
// and those of the resource types in the plan, its state and its configuration.
func shownSchemas(cfg *configs.Config, plan *plans.Plan, all ui.Schemas) map[addrs.Provider]*providers.Schema {
	some := make(schemaSubset)
	for module := range cfg.AllModules() {
		for _, p := range module.Module.Providers {
			some.provider(module.Module.ProviderByLocalName(p.Name), all)
		}
		for addr, r := range module.Module.Resources {
			some.add(r.ProviderAddr, addr, all)
		}
	}
	for r := range plan.Prior.Resources() {
		some.add(r.Provider.Provider, r.Addr.Resource, all)
	}
	for _, list := range [][]*plans.InstanceChange{plan.Changes.Instances, plan.Drift} {
		for _, c := range list {
			some.add(c.Provider.Config.Provider, c.Addr.Resource, all)
		}
	}
	for inv := range plan.Changes.Invocations() {
		some.add(inv.Provider.Config.Provider, inv.Addr.Resource, all)
	}
	return some
}

// schemaSubset holds the schemas of some resource types, by provider. The schemas of each mode are
// a providers.Types.
type schemaSubset map[addrs.Provider]*providers.Schema

// provider returns the subset of a provider's schema, or nil if the provider has no schema.
func (some schemaSubset) provider(p addrs.Provider, all ui.Schemas) *providers.Schema {
	out, ok := some[p]
	if ok {
		return out
	}
	if schema := all(p); schema != nil {
		out = &providers.Schema{Provider: schema.Provider, Resources: providers.Types{},
			DataSources: providers.Types{}, Ephemerals: providers.Types{}, Actions: providers.Types{}}
		some[p] = out
	}
	return out
}

// add adds the schema of a resource's type. It does nothing if the provider has no valid schema of
// the type.
func (some schemaSubset) add(p addrs.Provider, r addrs.Resource, all ui.Schemas) {
	out := some.provider(p, all)
	if out == nil {
		return
	}
	table := out.Table(r.Mode).(providers.Types)
	if _, ok := table[r.Type]; ok {
		return
	}
	if source := all(p).Table(r.Mode); source != nil {
		if t := source.Type(r.Type); t != nil && t.Invalid == nil {
			table[r.Type] = t
		}
	}
}
