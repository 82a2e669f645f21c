package moves

import (
	"tofu/internal/addrs"
	"tofu/internal/states"
)

// Followed is an earlier state in which every object has the address that it has in a later state.
// It contains neither outputs nor deposed objects.
type Followed struct {
	State *states.State
	// From maps later addresses to earlier ones, for objects that have moved between the two
	// states.
	From map[addrs.AbsInstance]addrs.AbsInstance
	// Displaced holds the earlier addresses of objects that are missing in the later state, if
	// another object of the earlier state now has the address.
	Displaced []addrs.AbsInstance
}

// Follow finds the objects of an earlier state in a later one. It recognizes an object by its type,
// provider and identity. The combination of these must be unique in each of the two states, unless
// the address of the object is the same in both.
func Follow(past, present *states.State) *Followed {
	before, now := identities(past), identities(present)
	out := &Followed{State: states.New(), From: map[addrs.AbsInstance]addrs.AbsInstance{}}
	var absent []addrs.AbsInstance // instances whose objects are not known to be in the later state
	for r := range past.Resources() {
		for key, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			from := r.Addr.Instance(key)
			to, found := from, false
			if id, ok := identify(r, inst.Current); ok {
				at := now[id]
				switch {
				case holds(present, from, id):
					found = true
				case at.count == 1 && before[id].count == 1:
					to, found = at.Addr, true
				}
			}
			if !found {
				absent = append(absent, from)
				continue
			}
			out.set(past, from, to)
		}
	}
	for _, addr := range absent {
		if out.State.Instance(addr) != nil {
			out.Displaced = append(out.Displaced, addr)
			continue
		}
		out.set(past, addr, addr)
	}
	return out
}

// set adds an object. from is its address in the earlier state, and to is its address in the later
// state.
func (f *Followed) set(past *states.State, from, to addrs.AbsInstance) {
	r := past.Resource(from.Abs())
	inst := r.Instances[from.Key]
	f.State.SetCurrent(to, inst.Current, addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey})
	if from != to {
		f.From[to] = from
	}
}

// holders describes the instances that have the same identity: the address of one of them, and
// their number.
type holders struct {
	Addr  addrs.AbsInstance
	count int
}

// identities returns the instances that have a current object, by the identity of the object.
func identities(st *states.State) map[states.ObjectIdentity]holders {
	out := map[states.ObjectIdentity]holders{}
	for r := range st.Resources() {
		for key, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			if id, ok := identify(r, inst.Current); ok {
				out[id] = holders{r.Addr.Instance(key), out[id].count + 1}
			}
		}
	}
	return out
}

// holds reports whether the current object at an address has the given identity.
func holds(st *states.State, addr addrs.AbsInstance, id states.ObjectIdentity) bool {
	obj := st.Current(addr)
	if obj == nil {
		return false
	}
	has, ok := identify(st.Resource(addr.Abs()), obj)
	return ok && has == id
}

// identify returns the identity of an object of a managed resource. It returns false if the object
// has no identity.
func identify(r *states.Resource, obj *states.Object) (states.ObjectIdentity, bool) {
	if r.Addr.Resource.Mode != addrs.Managed {
		return states.ObjectIdentity{}, false
	}
	return obj.Identify(r.Provider.Provider, r.Addr.Resource.Type)
}
