package moves

import (
	"encoding/json"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// Follow returns the objects of an earlier state at the addresses that they have in a later one. It
// recognizes an object that has moved since by its type, provider and attribute id. Outputs and
// deposed objects are left out.
func Follow(past, present *states.State) *states.State {
	gone, come := onlyIn(past, present), onlyIn(present, past)
	out := states.New()
	for r := range past.Resources() {
		for key, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			addr := r.Addr.Instance(key)
			provider := addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
			if id, ok := identityOf(r, inst.Current); ok && gone[id] == addr {
				if to, moved := come[id]; moved && to != ambiguous {
					addr = to
				}
			}
			out.SetCurrent(addr, inst.Current, provider)
		}
	}
	return out
}

// objectIdentity identifies an object in all states.
type objectIdentity struct {
	provider addrs.Provider
	typ, id  string
}

// ambiguous stands for several instances.
var ambiguous addrs.AbsInstance

// identityOf returns the identity of an object of a managed resource, and whether it has one.
func identityOf(r *states.Resource, obj *states.Object) (objectIdentity, bool) {
	var in struct {
		ID *string `json:"id"`
	}
	if r.Addr.Resource.Mode != addrs.Managed || json.Unmarshal(obj.Attrs, &in) != nil || in.ID == nil || *in.ID == "" {
		return objectIdentity{}, false
	}
	return objectIdentity{r.Provider.Provider, r.Addr.Resource.Type, *in.ID}, true
}

// onlyIn returns the instances with current objects that one state has and the other one has not,
// by the identity of the object.
func onlyIn(st, other *states.State) map[objectIdentity]addrs.AbsInstance {
	out := map[objectIdentity]addrs.AbsInstance{}
	for r := range st.Resources() {
		for key, inst := range r.Instances {
			addr := r.Addr.Instance(key)
			if there := other.Instance(addr); inst.Current == nil || there != nil && there.Current != nil {
				continue
			}
			id, ok := identityOf(r, inst.Current)
			if !ok {
				continue
			}
			if _, twice := out[id]; twice {
				addr = ambiguous
			}
			out[id] = addr
		}
	}
	return out
}
