package engine_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
)

// checkCalls checks that the order of an apply's calls respects the dependencies stored before and
// after the apply.
func checkCalls(calls []enginetest.Call, before, after *states.State, relaxed bool, of *enginetest.Chapter) error {
	c := callCheck{relaxed: relaxed, single: of.Single, indexed: of.Indexed, instances: map[string]addrs.AbsInstance{},
		before: closedNeeds(before), after: objectNeeds(after), own: instanceNeeds(after), beyond: needsBeyond(after)}
	for r := range c.before {
		if c.before[r][r] {
			c.before = nil // the stored dependencies have a cycle, so there is no order to check
			break
		}
	}
	c.learn(before)
	c.learn(after)
	var ops []operation
	for _, call := range calls {
		if op, ok := c.operation(call); ok {
			ops = append(ops, op)
		}
	}
	for _, x := range ops {
		for _, y := range ops {
			if err := c.pair(x, y); err != nil {
				return err
			}
		}
	}
	return nil
}

type callCheck struct {
	// whether creations may overlap with deletions, because dependencies contradict each other and
	// part of the order was dropped
	relaxed   bool
	single    bool                         // a creation may wait for only the first instance of a resource
	indexed   bool                         // a creation may wait for only the instance with the same key
	instances map[string]addrs.AbsInstance // by object ID
	before    dependencyMap
	// beyond holds the IDs of the objects that depend on a resource without objects. That resource may
	// read others by key, but the state names these only as whole resources.
	beyond map[string]bool
	after  map[string]map[addrs.AbsResource]bool // the resources each current object depends on, by ID
	own    map[string]map[addrs.AbsInstance]bool // instances that each current object depends on, by ID, if stored
}

// operation is a call that changes an object.
type operation struct {
	enginetest.Call
	kind, id string
	instance addrs.AbsInstance
}

// learn records which instance each object belongs to.
func (c *callCheck) learn(s *states.State) {
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			for o := range inst.Objects() {
				c.instances[idOf(o.Attrs)] = r.Addr.Instance(key)
			}
		}
	}
}

func (c *callCheck) operation(call enginetest.Call) (operation, bool) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(call.What, "fail "), " ")
	if kind != "create" && kind != "update" && kind != "delete" {
		return operation{}, false
	}
	instance, ok := c.instances[id]
	return operation{call, kind, id, instance}, ok
}

// pair checks the order of two operations. The instance changed by x may depend on the one changed
// by y.
func (c *callCheck) pair(x, y operation) error {
	fail := func(rule string) error {
		return fmt.Errorf("%q (%d to %d) and %q (%d to %d), of %s which depends on %s: %s", x.What, x.Start,
			x.End, y.What, y.Start, y.End, x.instance, y.instance, rule)
	}
	overlap := x.Start < y.End && y.Start < x.End
	stored := c.before[x.instance][y.instance] && x.instance != y.instance
	if x.kind != "delete" && y.kind != "delete" {
		if strings.HasPrefix(x.What, "fail update ") {
			return nil // its stored dependencies may no longer be in the configuration
		}
		if c.own[x.id][y.instance] && x.Start < y.End {
			return fail("the instance that is referred to is made first")
		}
		if c.beyond[x.id] && (c.single || c.indexed) {
			return nil
		}
		if c.after[x.id][y.instance.Abs()] && !apart(x.instance.Module, y.instance.Module) && x.Start < y.End &&
			(!c.single || isFirst(y.id)) && (!c.indexed || sameKey(x, y)) {
			return fail("what is depended on is made first")
		}
		return nil
	}
	if !stored || c.relaxed && c.before.hasOther() || x.kind == "create" || y.kind == "create" {
		return nil // only deletions and updates follow the stored dependencies
	}
	if overlap && (!c.relaxed || x.kind == y.kind) {
		return fail("they overlap")
	}
	if x.kind == "delete" && y.kind == "delete" && x.Start > y.Start {
		return fail("dependents are destroyed first")
	}
	return nil
}

// apart reports whether two module instances are in different instances of the same module call. If
// so, dependencies by resource don't order their objects. The objects can depend on each other only
// through the arguments of the call, and the state stores such dependencies by instance.
func apart(a, b addrs.ModuleInstance) bool {
	x, y := a.Steps(), b.Steps()
	for i := range min(len(x), len(y)) {
		if x[i].Name != y[i].Name {
			return false
		}
		if x[i].Key != y[i].Key {
			return true
		}
	}
	return false
}

// sameKey reports whether two objects have the same key. The key in their names can be "s" although
// their instances have other keys.
func sameKey(x, y operation) bool {
	return keyOf(x.id) == keyOf(y.id) && (keyOf(y.id) != "s" || x.instance.Key == y.instance.Key)
}

// keyOf returns the key of an object's module instance or, in the root module, of its instance.
func keyOf(id string) string {
	name, _, _ := strings.Cut(id, "-")
	parts := strings.Split(name, ":")
	return cmp.Or(parts[1:]...)
}

// isFirst reports whether an object belongs to the first instance of its resource in the first
// instance of its module. The keys of both instances are part of the ID, as in "r:x:s-1".
func isFirst(id string) bool {
	name, _, _ := strings.Cut(id, "-")
	for _, key := range strings.Split(name, ":")[1:] {
		if !slices.Contains([]string{"", "s", "0", "x"}, key) {
			return false
		}
	}
	return true
}

// hasOther reports whether there are objects of the second provider. They may be deleted late,
// after their replacements are created.
func (n dependencyMap) hasOther() bool {
	for r := range n {
		if r.Abs().Resource.Type == "other_thing" {
			return true
		}
	}
	return false
}

// dependencyMap holds the dependencies between resource instances.
type dependencyMap map[addrs.AbsInstance]map[addrs.AbsInstance]bool

// eachNeed calls visit for each stored dependency of each object. A dependency on a resource in the
// object's own module means the same module instance. A dependency on a resource in another module
// means all instances of that module.
func eachNeed(
	s *states.State, visit func(r *states.Resource, inst *states.Instance, o *states.Object, q addrs.AbsResource),
) {
	instances := map[addrs.ConfigResource][]addrs.AbsResource{}
	for r := range s.Resources() {
		instances[r.Addr.Config()] = append(instances[r.Addr.Config()], r.Addr)
	}
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				for dep := range o.Dependencies.All() {
					for _, q := range instances[dep] {
						if dep.Module != r.Addr.Config().Module || q.Module == r.Addr.Module {
							visit(r, inst, o, q)
						}
					}
				}
			}
		}
	}
}

// names reports whether the state says which instances of a resource an object depends on.
func names(o *states.Object, r addrs.ConfigResource) bool {
	return slices.ContainsFunc(o.DependencyInstances, func(dep addrs.AbsInstance) bool { return dep.Config() == r })
}

// objectNeeds returns the stored direct dependencies of each current object, by object ID. It
// leaves out those that the state stores by instance.
func objectNeeds(s *states.State) map[string]map[addrs.AbsResource]bool {
	out := map[string]map[addrs.AbsResource]bool{}
	eachNeed(s, func(r *states.Resource, inst *states.Instance, o *states.Object, q addrs.AbsResource) {
		if o == inst.Current && q != r.Addr && !names(o, q.Config()) {
			id := idOf(o.Attrs)
			if out[id] == nil {
				out[id] = map[addrs.AbsResource]bool{}
			}
			out[id][q] = true
		}
	})
	return out
}

// needsBeyond returns the IDs of the current objects that depend on a resource without objects.
func needsBeyond(s *states.State) map[string]bool {
	exists := map[addrs.ConfigResource]bool{}
	for r := range s.Resources() {
		exists[r.Addr.Config()] = true
	}
	out := map[string]bool{}
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			for dep := range inst.Current.Dependencies.All() {
				if dep.Resource.Mode != addrs.Ephemeral && !exists[dep] {
					out[idOf(inst.Current.Attrs)] = true
				}
			}
		}
	}
	return out
}

// instanceNeeds returns the instances that the state stores as dependencies of each current object,
// by object ID.
func instanceNeeds(s *states.State) map[string]map[addrs.AbsInstance]bool {
	out := map[string]map[addrs.AbsInstance]bool{}
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			needs := map[addrs.AbsInstance]bool{}
			for _, addr := range inst.Current.DependencyInstances {
				needs[addr] = true
			}
			out[idOf(inst.Current.Attrs)] = needs
		}
	}
	return out
}

// directNeeds returns the stored dependencies of each instance. All instances of a resource have the
// same ones, unless the state stores dependencies by instance, either of this resource or on it.
func directNeeds(s *states.State) dependencyMap {
	split := map[addrs.AbsResource]bool{}
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				for _, dep := range o.DependencyInstances {
					split[r.Addr], split[dep.Abs()] = true, true
				}
			}
		}
	}
	direct := dependencyMap{}
	add := func(x, y addrs.AbsInstance) {
		if direct[x] == nil {
			direct[x] = map[addrs.AbsInstance]bool{}
		}
		direct[x][y] = true
	}
	exists := func(addr addrs.AbsInstance) bool { return s.Instance(addr) != nil }
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			for o := range inst.Objects() {
				for _, dep := range o.DependencyInstances {
					if exists(dep) {
						add(r.Addr.Instance(key), dep)
					}
				}
			}
		}
	}
	eachNeed(s, func(r *states.Resource, inst *states.Instance, o *states.Object, q addrs.AbsResource) {
		for key, user := range r.Instances {
			if split[r.Addr] && (user != inst || names(o, q.Config())) {
				continue
			}
			for other := range s.Resource(q).Instances {
				add(r.Addr.Instance(key), q.Instance(other))
			}
		}
	})
	return direct
}

// closedNeeds returns the direct and indirect dependencies of each instance; see directNeeds.
func closedNeeds(s *states.State) dependencyMap {
	direct, out := directNeeds(s), dependencyMap{}
	for x := range direct {
		seen := map[addrs.AbsInstance]bool{}
		todo := []addrs.AbsInstance{x}
		for len(todo) > 0 {
			x := todo[0]
			todo = todo[1:]
			for y := range direct[x] {
				if !seen[y] {
					seen[y] = true
					todo = append(todo, y)
				}
			}
		}
		out[x] = seen
	}
	return out
}
