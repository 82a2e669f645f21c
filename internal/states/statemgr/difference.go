package statemgr

import (
	"iter"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// Difference returns the change that turns one state into another, without the configurations of providers;
// see ProviderChanges.
func Difference(from, to *states.State) *Change {
	c := &Change{Objects: objectChanges(from, to), Outputs: map[string]*states.Output{}}
	for _, name := range to.OutputNames() {
		if !statefile.SameOutput(from.Output(name), to.Output(name)) {
			c.Outputs[name] = to.Output(name)
		}
	}
	for _, name := range from.OutputNames() {
		if to.Output(name) == nil {
			c.Outputs[name] = nil
		}
	}
	for r := range to.Resources() {
		if old := from.Resource(r.Addr); len(r.Instances) == 0 && (old == nil || old.Provider != r.Provider) {
			c.Resources = append(c.Resources, ResourceChange{Addr: r.Addr, Provider: r.Provider})
		}
	}
	for r := range from.Resources() {
		if len(r.Instances) == 0 && to.Resource(r.Addr) == nil {
			c.Resources = append(c.Resources, ResourceChange{Addr: r.Addr, Gone: true})
		}
	}
	if !statefile.SameChecks(from, to) {
		c.NewChecks, c.Checks = true, to.Checks
	}
	return c
}

// objectChanges returns the changes of objects that turn one state into another.
func objectChanges(from, to *states.State) []ObjectChange {
	var out []ObjectChange
	var gone []ObjectID // the addresses whose objects are elsewhere now, or nowhere
	for id, place := range ownObjects(to, from) {
		old := find(from, id)
		if !statefile.SameObject(old, place.obj) || old != nil && providerOf(from, id.Addr) != place.provider {
			c := ObjectChange{ObjectID: id, Object: place.obj, Provider: place.provider,
				Existed: from.Instance(id.Addr) != nil}
			switch {
			case old != nil && sameIdentity(old, providerOf(from, id.Addr), &c):
				c.From = &ObjectID{id.Addr, id.Deposed}
			case old != nil:
				gone = append(gone, id)
			}
			out = append(out, c)
		}
	}
	for id := range ownObjects(from, to) {
		if find(to, id) == nil {
			out = append(out, ObjectChange{ObjectID: id, Existed: true})
			gone = append(gone, id)
		}
	}
	findMoves(from, gone, out)
	return out
}

// sameIdentity reports whether an object and the object that replaces it have the same identity. It
// returns true if one of the identities is unknown.
func sameIdentity(old *states.Object, provider addrs.ProviderInstance, c *ObjectChange) bool {
	typ := c.Addr.Resource.Type
	before, known := old.Identify(provider.Config.Provider, typ)
	now, ok := c.Object.Identify(c.Provider.Config.Provider, typ)
	return before == now || !known || !ok
}

// findMoves sets the field From of the objects in changes that were at another address before. The
// parameter gone lists the addresses from which objects have disappeared. findMoves recognizes
// an object by its identity, unless several objects at these addresses have the same identity.
func findMoves(from *states.State, gone []ObjectID, changes []ObjectChange) {
	origins := make(map[states.ObjectIdentity]*ObjectID, len(gone))
	for i, at := range gone {
		identity, ok := find(from, at).Identify(providerOf(from, at.Addr).Config.Provider, at.Addr.Resource.Type)
		if !ok {
			continue
		}
		origin := &gone[i]
		if _, twice := origins[identity]; twice {
			origin = nil
		}
		origins[identity] = origin
	}
	for i := range changes {
		c := &changes[i]
		if len(origins) == 0 || c.Object == nil || c.From != nil {
			continue
		}
		if identity, ok := c.Object.Identify(c.Provider.Config.Provider, c.Addr.Resource.Type); ok {
			c.From = origins[identity]
			delete(origins, identity) // only one object can have moved from there
		}
	}
}

// ProviderChanges returns the changes of the last configurations of providers that accompany changes of
// objects. kept are the configurations that the ledger has.
func ProviderChanges(
	kept map[addrs.ProviderInstance]*states.ProviderConfig, to *states.State, objects []ObjectChange,
) []ProviderChange {
	used := to.ProviderConfigs()
	out := neededProviders(kept, to, objects)
	accompanied := make(map[addrs.ProviderInstance]bool, len(out))
	for _, c := range out {
		accompanied[c.Provider] = true
	}
	for p, config := range used {
		if !accompanied[p] && !statefile.SameProvider(kept[p], config) {
			out = append(out, ProviderChange{Provider: p, Config: config, Changed: true})
		}
	}
	for p := range kept {
		if used[p] == nil {
			out = append(out, ProviderChange{Provider: p, Changed: true})
		}
	}
	return out
}

// neededProviders returns the configurations that a state has of the providers of the objects that are
// written.
func neededProviders(
	kept map[addrs.ProviderInstance]*states.ProviderConfig, in *states.State, objects []ObjectChange,
) []ProviderChange {
	var out []ProviderChange
	done := map[addrs.ProviderInstance]bool{}
	for i := range objects {
		o := &objects[i]
		if o.Object == nil || o.Addr.Resource.Mode != addrs.Managed || done[o.Provider] {
			continue
		}
		done[o.Provider] = true
		if config := in.ProviderConfig(o.Provider); config != nil {
			out = append(out, ProviderChange{Provider: o.Provider, Config: config,
				Changed: !statefile.SameProvider(kept[o.Provider], config)})
		}
	}
	return out
}

// ChangedInstances returns the instances with objects that differ between two states. Some are
// listed more than once.
func ChangedInstances(from, to *states.State) []addrs.AbsInstance {
	var out []addrs.AbsInstance
	for _, o := range objectChanges(from, to) {
		out = append(out, o.Addr)
	}
	return out
}

type ownedObject struct {
	obj      *states.Object
	provider addrs.ProviderInstance
}

// allObjects iterates over all objects of a state.
func allObjects(s *states.State) iter.Seq2[ObjectID, ownedObject] { return ownObjects(s, nil) }

// ownObjects iterates over the objects of a state that another one doesn't share with it.
func ownObjects(s, other *states.State) iter.Seq2[ObjectID, ownedObject] {
	return func(yield func(ObjectID, ownedObject) bool) {
		for r := range s.Resources() {
			if other.Resource(r.Addr) == r {
				continue
			}
			for key, inst := range r.Instances {
				addr := r.Addr.Instance(key)
				provider := addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
				if inst.Current != nil && !yield(ObjectID{addr, addrs.NotDeposed},
					ownedObject{inst.Current, provider}) {
					return
				}
				for deposed, obj := range inst.Deposed {
					if !yield(ObjectID{addr, deposed}, ownedObject{obj, provider}) {
						return
					}
				}
			}
		}
	}
}

func providerOf(s *states.State, addr addrs.AbsInstance) addrs.ProviderInstance {
	r := s.Resource(addr.Abs())
	return addrs.ProviderInstance{Config: r.Provider, Key: r.Instances[addr.Key].ProviderKey}
}
