package states

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/lang/marks"
)

// State is a snapshot of a state. The zero value is an empty state.
type State struct {
	resources map[addrs.AbsResource]*Resource
	// owner is the owner of the resources that no other state shares; see Clone.
	owner   atomic.Pointer[owner]
	outputs map[string]*Output
	// providers holds the last configurations of provider instances; see ProviderConfig.
	providers map[addrs.ProviderInstance]*ProviderConfig
	// Checks holds the results of the last run's checks and conditions, or nil if none were
	// recorded.
	Checks *checks.Results
}

// An owner identifies a state between two calls of Clone.
type owner struct{ _ byte }

// Resource is a resource within one module instance. States may share it, so it is changed only
// through the methods of a state.
type Resource struct {
	owner     *owner
	Addr      addrs.AbsResource
	Provider  addrs.AbsProviderConfig
	Instances map[addrs.InstanceKey]*Instance
}

// Instance is an instance of a resource. It has at most one current object and any number of
// deposed ones.
type Instance struct {
	Current *Object
	Deposed map[addrs.DeposedKey]*Object // nil if there are none
	// ProviderKey is the instance key of the provider configuration. It is NoKey unless that
	// configuration has for_each.
	ProviderKey addrs.InstanceKey
}

// Status is the result of the last operation on an object: whether it was completed.
type Status uint8

const (
	Ready   Status = iota // the last operation on the object was completed
	Tainted               // the object must be replaced, because its creation was not completed
)

// Object is the stored form of one real object. It is immutable once it is in a state.
type Object struct {
	Status        Status
	SchemaVersion int64
	// Attrs is the object's value as JSON, in the type of its schema. Objects from states older
	// than version 4 have Flatmap instead.
	Attrs   []byte
	Flatmap map[string]string
	// SensitivePaths holds the paths of the values that were sensitive when the object was stored.
	SensitivePaths []cty.Path
	// Private is opaque data that belongs to the provider.
	Private []byte
	// Identity is the object's resource identity as JSON, or nil if it has none.
	Identity        []byte
	IdentityVersion int64
	// Dependencies holds the resources that the object depended on when it was last written,
	// sorted. Only the nearest dependencies are stored. In states written by OpenTofu, it holds the
	// transitive closure.
	Dependencies *Dependencies
	// DependencyInstances says which instances of some resources the object depended on, if this is
	// known. For a resource that is named here, the object depends only on the listed instances. An
	// address without a key means that it depends on none of them. The object's own resource may be
	// named here too, although it is not in Dependencies.
	DependencyInstances []addrs.AbsInstance
	CreateBeforeDestroy bool
	// SkipDestroy reports whether the object is removed from the state instead of being destroyed.
	SkipDestroy bool
}

// Output is a root module output value. Value has no marks.
type Output struct {
	Value      cty.Value
	Sensitive  bool
	Deprecated string
}

// New returns an empty state.
func New() *State { return &State{} }

// Empty reports whether the state has neither resources nor outputs.
func (s *State) Empty() bool {
	return s == nil || len(s.resources) == 0 && len(s.outputs) == 0
}

// Clone returns an independent copy of the state. The copy shares its objects with the original, and
// each resource until one of the states changes it: most operations change few of them.
func (s *State) Clone() *State {
	if s == nil {
		return New()
	}
	out := &State{resources: maps.Clone(s.resources), outputs: maps.Clone(s.outputs),
		providers: maps.Clone(s.providers), Checks: s.Checks}
	s.owner.Store(new(owner))
	out.owner.Store(new(owner))
	return out
}

// own returns the resource at addr for changes, or nil if none exists. It is a copy if other states may
// share the resource.
func (s *State) own(addr addrs.AbsResource) *Resource {
	r := s.resources[addr]
	if r != nil && r.owner != s.owner.Load() {
		r = r.clone(s.owner.Load())
		s.resources[addr] = r
	}
	return r
}

func (r *Resource) clone(by *owner) *Resource {
	out := &Resource{owner: by, Addr: r.Addr, Provider: r.Provider,
		Instances: make(map[addrs.InstanceKey]*Instance, len(r.Instances))}
	for key, inst := range r.Instances {
		out.Instances[key] = inst.clone()
	}
	return out
}

func (i *Instance) clone() *Instance {
	out := *i
	out.Deposed = maps.Clone(i.Deposed)
	return &out
}

// Objects iterates over the instance's objects, the current one first.
func (i *Instance) Objects() iter.Seq[*Object] {
	return func(yield func(*Object) bool) {
		if i.Current != nil && !yield(i.Current) {
			return
		}
		for _, o := range i.Deposed {
			if !yield(o) {
				return
			}
		}
	}
}

// Resource returns the resource at addr, or nil if none exists.
func (s *State) Resource(addr addrs.AbsResource) *Resource {
	if s == nil {
		return nil
	}
	return s.resources[addr]
}

// Instance returns the instance at addr, or nil if none exists.
func (s *State) Instance(addr addrs.AbsInstance) *Instance {
	r := s.Resource(addr.Abs())
	if r == nil {
		return nil
	}
	return r.Instances[addr.Key]
}

// Object returns the current object of the instance at addr, or the deposed one with the given key. It
// returns nil if there is no such object.
func (s *State) Object(addr addrs.AbsInstance, key addrs.DeposedKey) *Object {
	return s.Instance(addr).Object(key)
}

// Current returns the current object of the instance at addr, or nil.
func (s *State) Current(addr addrs.AbsInstance) *Object { return s.Object(addr, addrs.NotDeposed) }

// Object returns the current object, or the deposed one with the given key. It returns nil if there is no
// such object.
func (i *Instance) Object(key addrs.DeposedKey) *Object {
	switch {
	case i == nil:
		return nil
	case key == addrs.NotDeposed:
		return i.Current
	}
	return i.Deposed[key]
}

// Resources iterates over all resources in no particular order.
func (s *State) Resources() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		if s == nil {
			return
		}
		for _, r := range s.resources {
			if !yield(r) {
				return
			}
		}
	}
}

// Sorted returns all resources sorted by address.
func (s *State) Sorted() []*Resource {
	if s == nil {
		return nil
	}
	out := make([]*Resource, 0, len(s.resources))
	for _, r := range s.resources {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Resource) int { return a.Addr.Compare(b.Addr) })
	return out
}

// SortedKeys returns the instance keys in order.
func (r *Resource) SortedKeys() []addrs.InstanceKey {
	return slices.SortedFunc(maps.Keys(r.Instances), addrs.InstanceKey.Compare)
}

// EnsureResource returns the resource at addr for changes, and sets its provider configuration. It
// creates the resource if necessary.
func (s *State) EnsureResource(addr addrs.AbsResource, provider addrs.AbsProviderConfig) *Resource {
	r := s.own(addr)
	if r == nil {
		if s.resources == nil {
			s.resources = make(map[addrs.AbsResource]*Resource)
		}
		r = &Resource{owner: s.owner.Load(), Addr: addr, Instances: make(map[addrs.InstanceKey]*Instance)}
		s.resources[addr] = r
	}
	r.Provider = provider
	return r
}

// SetObject sets the current object, or a deposed one, like SetCurrent and SetDeposed.
func (s *State) SetObject(
	addr addrs.AbsInstance, key addrs.DeposedKey, obj *Object, provider addrs.ProviderInstance,
) {
	if key == addrs.NotDeposed {
		s.SetCurrent(addr, obj, provider)
	} else {
		s.SetDeposed(addr, key, obj, provider)
	}
}

// SetCurrent sets the current object of an instance. A nil object removes it.
func (s *State) SetCurrent(addr addrs.AbsInstance, obj *Object, provider addrs.ProviderInstance) {
	s.set(addr, provider, obj, func(i *Instance) *Object { return i.Current }, func(i *Instance) { i.Current = obj })
}

// SetDeposed sets a deposed object of an instance. A nil object removes it.
func (s *State) SetDeposed(addr addrs.AbsInstance, key addrs.DeposedKey, obj *Object, provider addrs.ProviderInstance) {
	s.set(addr, provider, obj, func(i *Instance) *Object { return i.Deposed[key] }, func(i *Instance) {
		if obj == nil {
			delete(i.Deposed, key)
			return
		}
		if i.Deposed == nil {
			i.Deposed = make(map[addrs.DeposedKey]*Object)
		}
		i.Deposed[key] = obj
	})
}

// set changes an instance, and removes it if it has no objects left. If the instance doesn't exist,
// set adds it unless obj is nil. It changes nothing if the instance already has the object.
func (s *State) set(
	addr addrs.AbsInstance, provider addrs.ProviderInstance, obj *Object,
	get func(*Instance) *Object, change func(*Instance),
) {
	r := s.Resource(addr.Abs())
	if inst := s.Instance(addr); inst == nil && obj == nil || inst != nil && get(inst) == obj &&
		(inst.Current != nil || len(inst.Deposed) > 0) && inst.ProviderKey == provider.Key && r.Provider == provider.Config {
		return
	}
	r = s.own(addr.Abs())
	inst := s.Instance(addr)
	if inst == nil {
		inst = &Instance{}
	}
	change(inst)
	if inst.Current == nil && len(inst.Deposed) == 0 {
		delete(r.Instances, addr.Key)
		return
	}
	inst.ProviderKey = provider.Key
	s.EnsureResource(addr.Abs(), provider.Config).Instances[addr.Key] = inst
}

// replaceObjects replaces each object with the result of change, which may be the same object. deposed
// is addrs.NotDeposed for a current object.
func (s *State) replaceObjects(change func(addr addrs.AbsInstance, deposed addrs.DeposedKey, o *Object) *Object) {
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			addr := r.Addr.Instance(key)
			if o := inst.Current; o != nil {
				if now := change(addr, addrs.NotDeposed, o); now != o {
					s.own(r.Addr).Instances[key].Current = now
				}
			}
			for deposed, o := range inst.Deposed {
				if now := change(addr, deposed, o); now != o {
					s.own(r.Addr).Instances[key].Deposed[deposed] = now
				}
			}
		}
	}
}

// SetInstance sets an instance to a copy of inst, which may be of another state or address.
func (s *State) SetInstance(addr addrs.AbsInstance, inst *Instance, provider addrs.AbsProviderConfig) {
	s.EnsureResource(addr.Abs(), provider).Instances[addr.Key] = inst.clone()
}

// Forget removes an instance and all its objects.
func (s *State) Forget(addr addrs.AbsInstance) {
	if s.Instance(addr) != nil {
		delete(s.own(addr.Abs()).Instances, addr.Key)
	}
}

// Take moves the resources of another state into the state, unless both states have one of them. It
// reports whether it has done so. The other state must not be used afterwards.
func (s *State) Take(from *State) bool {
	for addr := range from.resources {
		if s.resources[addr] != nil {
			return false
		}
	}
	if s.resources == nil {
		s.resources = from.resources
	} else {
		maps.Copy(s.resources, from.resources)
	}
	return true
}

// RemoveResource removes a resource and all its instances, if it exists.
func (s *State) RemoveResource(addr addrs.AbsResource) { delete(s.resources, addr) }

// AddResource adds a copy of a resource. It replaces a resource that has the same address.
func (s *State) AddResource(r *Resource) {
	if s.resources == nil {
		s.resources = make(map[addrs.AbsResource]*Resource)
	}
	s.resources[r.Addr] = r.clone(s.owner.Load())
}

// Prune removes all resources that have no instances.
func (s *State) Prune() {
	maps.DeleteFunc(s.resources, func(_ addrs.AbsResource, r *Resource) bool { return len(r.Instances) == 0 })
}

// PruneSince removes each resource that has no instances, unless the state before already had the
// resource without instances.
func (s *State) PruneSince(before *State) {
	maps.DeleteFunc(s.resources, func(addr addrs.AbsResource, r *Resource) bool {
		had := before.Resource(addr)
		return len(r.Instances) == 0 && (had == nil || len(had.Instances) > 0)
	})
}

// Output returns a root module output value, or nil if none exists.
func (s *State) Output(name string) *Output {
	if s == nil {
		return nil
	}
	return s.outputs[name]
}

// OutputNames returns the sorted names of the root module's output values.
func (s *State) OutputNames() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.outputs))
}

// Outputs returns the root module's output values by name.
func (s *State) Outputs() map[string]*Output {
	if s == nil {
		return nil
	}
	return maps.Clone(s.outputs)
}

// OutputValues returns the values of the root module's outputs by name. Those of sensitive outputs
// are marked.
func (s *State) OutputValues() map[string]cty.Value {
	out := make(map[string]cty.Value)
	for name, o := range s.Outputs() {
		out[name] = o.Value
		if o.Sensitive {
			out[name] = o.Value.Mark(marks.Sensitive)
		}
	}
	return out
}

// SetOutput sets a root module output value. A nil output removes it.
func (s *State) SetOutput(name string, o *Output) {
	if o == nil {
		delete(s.outputs, name)
		return
	}
	if s.outputs == nil {
		s.outputs = make(map[string]*Output)
	}
	s.outputs[name] = o
}

// Providers returns the sorted provider configurations of all resources in the state.
func (s *State) Providers() []addrs.AbsProviderConfig {
	seen := map[addrs.AbsProviderConfig]bool{}
	for r := range s.Resources() {
		seen[r.Provider] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b addrs.AbsProviderConfig) int {
		return strings.Compare(a.String(), b.String())
	})
}
