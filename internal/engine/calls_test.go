package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
)

// checkCalls checks the calls of an apply against the dependencies stored before and after it.
func checkCalls(calls []enginetest.Call, before, after *states.State, relaxed bool, of *chapter) error {
	c := callCheck{relaxed: relaxed, single: of.single, indexed: of.indexed, resources: map[string]addrs.AbsResource{},
		before: closedNeeds(before), after: objectNeeds(after)}
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
	// some of the order was given up: creations may overlap with deletions
	relaxed   bool
	single    bool                         // a creation may wait for the first instance only
	indexed   bool                         // a creation may wait for the instance with the same key only
	resources map[string]addrs.AbsResource // by object ID
	before    dependencyMap
	after     map[string]map[addrs.AbsResource]bool // current objects, by ID
}

// operation is a call that changes an object.
type operation struct {
	enginetest.Call
	kind, id string
	resource addrs.AbsResource
}

// learn records which objects belong to which resource.
func (c *callCheck) learn(s *states.State) {
	for r := range s.Resources() {
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				c.resources[idOf(o.Attrs)] = r.Addr
			}
		}
	}
}

func (c *callCheck) operation(call enginetest.Call) (operation, bool) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(call.What, "fail "), " ")
	if kind != "create" && kind != "update" && kind != "delete" {
		return operation{}, false
	}
	r, ok := c.resources[id]
	return operation{call, kind, id, r}, ok
}

// pair checks two operations. The resource of the first depends on that of the second.
func (c *callCheck) pair(x, y operation) error {
	fail := func(rule string) error {
		return fmt.Errorf("%q (%d to %d) and %q (%d to %d), of %s which depends on %s: %s", x.What, x.Start,
			x.End, y.What, y.Start, y.End, x.resource, y.resource, rule)
	}
	overlap := x.Start < y.End && y.Start < x.End
	stored := c.before[x.resource][y.resource] && x.resource != y.resource
	if x.kind != "delete" && y.kind != "delete" {
		if strings.HasPrefix(x.What, "fail update ") {
			return nil // its stored dependencies may no longer be in the configuration
		}
		if c.after[x.id][y.resource] && x.Start < y.End && (!c.single || isFirst(y.id)) &&
			(!c.indexed || lastKey(x.id) == lastKey(y.id)) {
			return fail("what is depended on is made first")
		}
		return nil
	}
	if !stored || c.relaxed && c.before.hasOther() || x.kind == "create" || y.kind == "create" {
		return nil // new objects had no dependencies
	}
	if overlap && (!c.relaxed || x.kind == y.kind) {
		return fail("they overlap")
	}
	if x.kind == "delete" && y.kind == "delete" && x.Start > y.Start {
		return fail("dependents are destroyed first")
	}
	return nil
}

// lastKey returns the key of an object's instance.
func lastKey(id string) string {
	name, _, _ := strings.Cut(id, "-")
	return name[strings.LastIndex(name, ":")+1:]
}

// isFirst reports whether an object belongs to the first instance of its resource in the first
// instance of its module. Its ID ends with the keys of both, "r:x:s-1".
func isFirst(id string) bool {
	name, _, _ := strings.Cut(id, "-")
	for _, key := range strings.Split(name, ":")[1:] {
		if !slices.Contains([]string{"", "s", "0", "x"}, key) {
			return false
		}
	}
	return true
}

// hasOther reports whether the second provider has objects. It may delete them late, after creating
// their replacements.
func (n dependencyMap) hasOther() bool {
	for r := range n {
		if r.Resource.Type == "other_thing" {
			return true
		}
	}
	return false
}

// dependencyMap holds the dependencies between resources of single module instances.
type dependencyMap map[addrs.AbsResource]map[addrs.AbsResource]bool

// eachNeed calls visit for each stored dependency of an object: in the same module instance if both
// are in one module, and otherwise in all.
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

// objectNeeds returns the direct dependencies of each current object.
func objectNeeds(s *states.State) map[string]map[addrs.AbsResource]bool {
	out := map[string]map[addrs.AbsResource]bool{}
	eachNeed(s, func(r *states.Resource, inst *states.Instance, o *states.Object, q addrs.AbsResource) {
		if o == inst.Current && q != r.Addr {
			id := idOf(o.Attrs)
			if out[id] == nil {
				out[id] = map[addrs.AbsResource]bool{}
			}
			out[id][q] = true
		}
	})
	return out
}

// closedNeeds returns the direct and indirect dependencies of each resource.
func closedNeeds(s *states.State) dependencyMap {
	direct := dependencyMap{}
	eachNeed(s, func(r *states.Resource, _ *states.Instance, _ *states.Object, q addrs.AbsResource) {
		if direct[r.Addr] == nil {
			direct[r.Addr] = map[addrs.AbsResource]bool{}
		}
		direct[r.Addr][q] = true
	})
	out := dependencyMap{}
	for r := range direct {
		seen := map[addrs.AbsResource]bool{}
		todo := []addrs.AbsResource{r}
		for len(todo) > 0 {
			x := todo[0]
			todo = todo[1:]
			for q := range direct[x] {
				if !seen[q] {
					seen[q] = true
					todo = append(todo, q)
				}
			}
		}
		out[r] = seen
	}
	return out
}
