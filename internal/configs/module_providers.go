package configs

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
)

// ProviderByLocalName returns the provider that a local name refers to in this module.
func (m *Module) ProviderByLocalName(name string) addrs.Provider {
	if req, ok := m.RequiredProviders[name]; ok {
		return req.Provider
	}
	return addrs.DefaultProvider(name)
}

// declaredProvider is like ProviderByLocalName, but for names in a providers argument. There
// "terraform" refers to the built-in provider only if required_providers declares it.
func (m *Module) declaredProvider(name string) addrs.Provider {
	if m.RequiredProviders[name] == nil && name == addrs.BuiltinTerraform.Type {
		return addrs.Provider{Host: addrs.DefaultHost, Namespace: "hashicorp", Type: name}
	}
	return m.ProviderByLocalName(name)
}

// providerOf returns the provider of a resource. ref is the resource's provider argument, or nil.
func (m *Module) providerOf(addr addrs.Resource, ref *ProviderRef) addrs.Provider {
	if ref != nil {
		return m.ProviderByLocalName(ref.Name)
	}
	return m.ProviderByLocalName(addr.ImpliedProvider())
}

// resolveProviders sets the provider of every block. All required_providers entries must be known.
func (mb *moduleBuilder) resolveProviders() {
	for _, p := range mb.Providers {
		p.Provider = mb.ProviderByLocalName(p.Name)
	}
	for _, im := range mb.Imports {
		im.ProviderAddr = mb.providerOf(im.ToResource.Resource, im.Provider)
	}
	for _, r := range mb.Blocks() {
		r.ProviderAddr = mb.providerOf(r.Addr, r.Provider)
	}
	// Provider functions and messages use a provider's local name even if it is not declared.
	for provider, name := range mb.impliedLocalNames() {
		if _, ok := mb.LocalNames[provider]; !ok {
			mb.LocalNames[provider] = name
		}
	}
}

// checkLocalNames warns about providers that have several local names.
func (mb *moduleBuilder) checkLocalNames() {
	for _, req := range mb.repeated {
		mb.warnf(req.Range, "Duplicate required provider",
			"Provider %s with the local name %q was previously required as %q. A provider can be required only once.",
			req.Provider.ForDisplay(), req.LocalName, mb.LocalNames[req.Provider])
	}
	byProvider := map[addrs.Provider][]string{} // local names in required_providers
	for _, name := range slices.Sorted(maps.Keys(mb.RequiredProviders)) {
		provider := mb.RequiredProviders[name].Provider
		byProvider[provider] = append(byProvider[provider], name)
	}
	for _, r := range mb.Blocks() {
		addr := r.Addr
		if r.Provider != nil || mb.RequiredProviders[addr.ImpliedProvider()] != nil {
			continue
		}
		for _, name := range byProvider[r.ProviderAddr] {
			mb.warnf(r.Range, "Duplicate required provider",
				"Provider %q is implied by %s, but required_providers lists it as %q. Either use the local "+
					"name %q there, or set provider = %s in the resource.",
				r.ProviderAddr, addr, name, addr.ImpliedProvider(), name)
		}
	}
}

// impliedLocalNames maps each provider that a provider or resource block uses to the local name that
// the block uses for it.
func (mb *moduleBuilder) impliedLocalNames() map[addrs.Provider]string {
	out := map[addrs.Provider]string{}
	for local := range mb.Providers {
		out[mb.ProviderByLocalName(local.LocalName)] = local.LocalName
	}
	for _, r := range mb.Blocks() {
		out[r.ProviderAddr] = r.ProviderConfig().LocalName
	}
	return out
}

// SortedResources returns the module's resources, sorted by address.
func (m *Module) SortedResources() []addrs.Resource { return m.sorted }

// Blocks returns the module's resources and actions, which use providers, sorted by address.
func (m *Module) Blocks() []*Resource {
	out := make([]*Resource, 0, len(m.Resources)+len(m.Actions))
	for _, addr := range m.sorted {
		out = append(out, m.Resources[addr])
	}
	for _, addr := range slices.SortedFunc(maps.Keys(m.Actions), addrs.Resource.Compare) {
		out = append(out, m.Actions[addr])
	}
	return out
}
