package states

import (
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
)

// State is one snapshot. The zero value is an empty state.
type State struct {
	resources map[addrs.AbsResource]*Resource
	outputs   map[string]*Output
	// Checks are the results of the last run's conditions; nil when none were recorded.
	Checks *checks.Results
}

// Resource is one resource of one module instance.
type Resource struct {
	Addr      addrs.AbsResource
	Provider  addrs.AbsProviderConfig
	Instances map[addrs.InstanceKey]*Instance
}

// Instance is one instance of a resource: at most one current object and any number of deposed ones.
type Instance struct {
	Current *Object
	Deposed map[addrs.DeposedKey]*Object // nil when there are none
	// ProviderKey is the instance of the provider configuration, NoKey unless that has for_each.
	ProviderKey addrs.InstanceKey
}

// Status is an object's condition.
type Status uint8

const (
	Ready   Status = iota // as the configuration described it
	Tainted               // to be replaced: its creation did not go through
)

// Object is what is known of one real object. It never changes once it is in a state.
type Object struct {
	Status        Status
	SchemaVersion int64
	// Attrs is the object's value as JSON in its schema's type; Flatmap is set instead in states older than version 4.
	Attrs   []byte
	Flatmap map[string]string
	// SensitivePaths are the paths whose values were sensitive when the object was stored.
	SensitivePaths []cty.Path
	// Private is the provider's own note.
	Private []byte
	// Identity is the object's identity as JSON, nil for none.
	Identity        []byte
	IdentityVersion int64
	// Dependencies are the resources that this object depended on when it was last written: the nearest ones, sorted.
	// States written by OpenTofu hold the closed list instead.
	Dependencies        []addrs.ConfigResource
	CreateBeforeDestroy bool
	// SkipDestroy: the object is to be forgotten instead of destroyed.
	SkipDestroy bool
}

// Output is a root output value. The value carries no marks.
type Output struct {
	Value      cty.Value
	Sensitive  bool
	Deprecated string
}

// New gives an empty state.
func New() *State { return &State{} }

// Empty tells whether there is nothing in the state.
func (s *State) Empty() bool {
	return s == nil || len(s.resources) == 0 && len(s.outputs) == 0
}

// Clone gives a state that can be changed on its own; objects are shared.
func (s *State) Clone() *State {
	if s == nil {
		return New()
	}
	out := &State{
		resources: make(map[addrs.AbsResource]*Resource, len(s.resources)),
		outputs:   maps.Clone(s.outputs),
		Checks:    s.Checks,
	}
	for addr, r := range s.resources {
		c := &Resource{Addr: r.Addr, Provider: r.Provider, Instances: make(map[addrs.InstanceKey]*Instance, len(r.Instances))}
		for key, inst := range r.Instances {
			copied := *inst
			copied.Deposed = maps.Clone(inst.Deposed)
			c.Instances[key] = &copied
		}
		out.resources[addr] = c
	}
	return out
}

// Objects lists the instance's objects, the current one first.
func (i *Instance) Objects() func(yield func(*Object) bool) {
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

// Resource gives a resource, nil when the state has none of that address.
func (s *State) Resource(addr addrs.AbsResource) *Resource {
	if s == nil {
		return nil
	}
	return s.resources[addr]
}

// Instance gives an instance, nil when there is none.
func (s *State) Instance(addr addrs.AbsInstance) *Instance {
	r := s.Resource(addr.Abs())
	if r == nil {
		return nil
	}
	return r.Instances[addr.Key]
}

// Resources lists all resources in no particular order.
func (s *State) Resources() func(yield func(*Resource) bool) {
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

// Sorted lists all resources by address.
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

// SortedKeys lists the instance keys in order.
func (r *Resource) SortedKeys() []addrs.InstanceKey {
	return slices.SortedFunc(maps.Keys(r.Instances), addrs.InstanceKey.Compare)
}

// EnsureResource gives the resource, creating it where needed, and records its provider configuration.
func (s *State) EnsureResource(addr addrs.AbsResource, provider addrs.AbsProviderConfig) *Resource {
	r := s.resources[addr]
	if r == nil {
		if s.resources == nil {
			s.resources = make(map[addrs.AbsResource]*Resource)
		}
		r = &Resource{Addr: addr, Instances: make(map[addrs.InstanceKey]*Instance)}
		s.resources[addr] = r
	}
	r.Provider = provider
	return r
}

// SetCurrent records an instance's current object; a nil object removes it.
func (s *State) SetCurrent(addr addrs.AbsInstance, obj *Object, provider addrs.ProviderInstance) {
	s.set(addr, provider, obj != nil, func(i *Instance) { i.Current = obj })
}

// SetDeposed records a deposed object; a nil object removes it.
func (s *State) SetDeposed(addr addrs.AbsInstance, key addrs.DeposedKey, obj *Object, provider addrs.ProviderInstance) {
	s.set(addr, provider, obj != nil, func(i *Instance) {
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

// set changes an instance and drops it when nothing is left of it.
func (s *State) set(addr addrs.AbsInstance, provider addrs.ProviderInstance, create bool, change func(*Instance)) {
	inst := s.Instance(addr)
	if inst == nil {
		if !create {
			return
		}
		inst = &Instance{}
	}
	change(inst)
	if inst.Current == nil && len(inst.Deposed) == 0 {
		delete(s.resources[addr.Abs()].Instances, addr.Key)
		return
	}
	inst.ProviderKey = provider.Key
	s.EnsureResource(addr.Abs(), provider.Config).Instances[addr.Key] = inst
}

// Forget removes an instance with all its objects.
func (s *State) Forget(addr addrs.AbsInstance) {
	if r := s.Resource(addr.Abs()); r != nil {
		delete(r.Instances, addr.Key)
	}
}

// RemoveResource removes a resource with all its instances.
func (s *State) RemoveResource(addr addrs.AbsResource) { delete(s.resources, addr) }

// AddResource puts a whole resource into the state, replacing one of the same address.
func (s *State) AddResource(r *Resource) {
	if s.resources == nil {
		s.resources = make(map[addrs.AbsResource]*Resource)
	}
	s.resources[r.Addr] = r
}

// Prune drops resources that have no instances.
func (s *State) Prune() {
	maps.DeleteFunc(s.resources, func(_ addrs.AbsResource, r *Resource) bool { return len(r.Instances) == 0 })
}

// PruneSince drops resources that have lost their instances since the state was another one; those that had none then stay.
func (s *State) PruneSince(before *State) {
	maps.DeleteFunc(s.resources, func(addr addrs.AbsResource, r *Resource) bool {
		had := before.Resource(addr)
		return len(r.Instances) == 0 && (had == nil || len(had.Instances) > 0)
	})
}

// Output gives a root output value, nil when there is none.
func (s *State) Output(name string) *Output {
	if s == nil {
		return nil
	}
	return s.outputs[name]
}

// OutputNames lists the root outputs, sorted.
func (s *State) OutputNames() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.outputs))
}

// SetOutput records a root output value; nil removes it.
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

// Providers lists the provider configurations that objects in the state belong to, sorted.
func (s *State) Providers() []addrs.AbsProviderConfig {
	seen := map[addrs.AbsProviderConfig]bool{}
	for r := range s.Resources() {
		seen[r.Provider] = true
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b addrs.AbsProviderConfig) int {
		return strings.Compare(a.String(), b.String())
	})
}
