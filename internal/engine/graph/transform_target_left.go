package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// LeftOut is a resource or an instance that takes no part in a run because of targets or
// exclusions. It refers to something that takes part, or to something excluded. In a destruction,
// it is something that an excluded object depends on.
type LeftOut struct {
	What string // its address
	Why  string // "refers to ADDRESS at FILE:LINE" or "is needed by ADDRESS"
}

func refersTo(of fmt.Stringer, at *hcl.Range) string {
	return fmt.Sprintf("refers to %s at %s", of, placeOf(at))
}

// placeOf returns the place of a reference, for messages.
func placeOf(at *hcl.Range) string {
	if at == nil {
		at = &hcl.Range{}
	}
	return tfdiags.Place(*at)
}

func isNeededBy(of fmt.Stringer, _ *hcl.Range) string { return fmt.Sprintf("is needed by %s", of) }

// leftOutBy returns what is left out because it refers to something excluded.
func (t *targeting) leftOutBy(lost map[*Resource][]reached) []LeftOut {
	var out []LeftOut
	for _, r := range t.g.Resources {
		if r.Config != nil {
			out = append(out, t.leftOutOf(r, lost[r], SelectOthers(t.matches[r]).Has, refersTo)...)
		}
	}
	return out
}

// readersLeftOut returns the blocks and instances that take no part, but refer directly or through
// values to something that takes part.
func (t *targeting) readersLeftOut() []LeftOut {
	var taking []*Node
	for _, r := range t.g.Resources {
		if r.takesPart() {
			taking = append(taking, r.Node)
		}
	}
	readers := readersAmong(t.reads.dependents(taking, func(n *Node) bool { return n.Resource == nil }), t.reads.of)
	from := slices.DeleteFunc(slices.Clone(readers.places), func(p place) bool {
		return p.n.Resource == nil || p.part != onePart || !p.n.Resource.Selected.Has(p.instance())
	})
	found := readers.search(from, func(x reached) bool {
		return x.n.Resource != nil && x.part == onePart && x.by.n != nil
	}).byResource()
	var out []LeftOut
	for _, r := range t.g.Resources {
		if r.Config != nil {
			listed := func(addr addrs.AbsInstance) bool { return !r.Selected.Has(addr) }
			out = append(out, t.leftOutOf(r, found[r], listed, refersTo)...)
		}
	}
	slices.SortFunc(out, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
	return out
}

// takesPart reports whether some instance of r may take part.
func (r *Resource) takesPart() bool {
	s := r.Selected
	return s == nil || s.only == nil || len(s.only)+len(s.named)+len(s.resources)+len(s.modules) > 0
}

// leftOutOf returns entries for the single instances of r in list for which listed returns true.
// Two or more entries are combined into one if they are for all instances of r, or for all
// instances of r in one module instance.
func (t *targeting) leftOutOf(
	r *Resource, list []reached, listed func(addrs.AbsInstance) bool, why func(fmt.Stringer, *hcl.Range) string,
) []LeftOut {
	var places []addrs.ModuleInstance
	in := map[addrs.ModuleInstance][]reached{}
	for _, x := range list {
		if x.part != onePart || !listed(x.instance()) {
			continue
		}
		if in[x.in] == nil {
			places = append(places, x.in)
		}
		in[x.in] = append(in[x.in], x)
	}
	slices.Sort(places)
	whole := func(m addrs.ModuleInstance) bool { return len(in[m]) >= t.countIn(r, m) }
	part := func(m addrs.ModuleInstance) bool { return !whole(m) }
	var all []reached
	for _, m := range places {
		all = append(all, in[m]...)
	}
	if len(all) > 1 && len(places) == len(t.modulesOf(r)) && !slices.ContainsFunc(places, part) {
		by := commonPlace(all, func(p place) fmt.Stringer { return p.n.Resource.Addr })
		return []LeftOut{{r.Addr.String(), why(by, all[0].at)}}
	}
	var out []LeftOut
	for _, m := range places {
		if len(in[m]) > 1 && whole(m) {
			by := commonPlace(in[m], func(p place) fmt.Stringer { return place{n: p.n, in: p.in} })
			out = append(out, LeftOut{place{n: r.Node, in: m}.String(), why(by, in[m][0].at)})
			continue
		}
		var some []LeftOut
		for _, x := range in[m] {
			some = append(some, LeftOut{x.String(), why(x.by, x.at)})
		}
		slices.SortFunc(some, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
		out = append(out, some...)
	}
	return out
}

// commonPlace returns the place by which a search reached all elements of list. If they were
// reached by several places, it returns the result of wider for the first of these.
func commonPlace(list []reached, wider func(place) fmt.Stringer) fmt.Stringer {
	first := list[0].by
	if slices.ContainsFunc(list, func(x reached) bool { return x.by != first }) {
		return wider(first)
	}
	return first
}

// modulesOf returns the module instances in which a resource has instances: in the state for a
// destruction, and in the configuration otherwise.
func (t *targeting) modulesOf(r *Resource) []addrs.ModuleInstance {
	if !t.op.Phase.Destroys() {
		return t.reads.instancesOf(r.Module).all
	}
	var out []addrs.ModuleInstance
	for _, prior := range r.Prior {
		out = append(out, prior.Addr.Module)
	}
	return out
}

// countIn returns the number of a resource's instances in a module instance.
func (t *targeting) countIn(r *Resource, in addrs.ModuleInstance) int {
	if !t.op.Phase.Destroys() {
		return len(t.reads.keys(r, in))
	}
	return len(t.stored.within(r, in))
}
