package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
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
func (t *targeting) leftOutBy(lost map[*reads.Resource][]reads.Reached) []LeftOut {
	var out []LeftOut
	for _, r := range t.b.g.Resources {
		if r.Config != nil {
			out = append(out, t.leftOutOf(r, lost[r], reads.SelectOthers(t.matches[r]).Has, refersTo)...)
		}
	}
	return out
}

// readersLeftOut returns the blocks and instances that take no part, but refer directly or through
// values to something that takes part.
func (t *targeting) readersLeftOut() []LeftOut {
	var taking []*reads.Node
	for _, r := range t.b.g.Resources {
		if r.Selected.TakesPart() {
			taking = append(taking, r.Node)
		}
	}
	readers := reads.ReadersAmong(t.reads.Dependents(taking, func(n *reads.Node) bool { return n.Resource == nil }), t.reads.Reads)
	from := slices.DeleteFunc(slices.Clone(readers.Places), func(p reads.Place) bool {
		return p.Node.Resource == nil || p.Part != reads.OnePart || !p.Node.Resource.Selected.Has(p.Instance())
	})
	found := readers.Search(from, func(x reads.Reached) bool {
		return x.Node.Resource != nil && x.Part == reads.OnePart && x.By.Node != nil
	}).ByResource()
	var out []LeftOut
	for _, r := range t.b.g.Resources {
		if r.Config != nil {
			listed := func(addr addrs.AbsInstance) bool { return !r.Selected.Has(addr) }
			out = append(out, t.leftOutOf(r, found[r], listed, refersTo)...)
		}
	}
	slices.SortFunc(out, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
	return out
}

// leftOutOf returns entries for the single instances of r in list for which listed returns true.
// Two or more entries are combined into one if they are for all instances of r, or for all
// instances of r in one module instance.
func (t *targeting) leftOutOf(
	r *reads.Resource, list []reads.Reached, listed func(addrs.AbsInstance) bool, why func(fmt.Stringer, *hcl.Range) string,
) []LeftOut {
	var places []addrs.ModuleInstance
	in := map[addrs.ModuleInstance][]reads.Reached{}
	for _, x := range list {
		if x.Part != reads.OnePart || !listed(x.Instance()) {
			continue
		}
		if in[x.In] == nil {
			places = append(places, x.In)
		}
		in[x.In] = append(in[x.In], x)
	}
	slices.Sort(places)
	whole := func(m addrs.ModuleInstance) bool { return len(in[m]) >= t.countIn(r, m) }
	part := func(m addrs.ModuleInstance) bool { return !whole(m) }
	var all []reads.Reached
	for _, m := range places {
		all = append(all, in[m]...)
	}
	if len(all) > 1 && len(places) == len(t.modulesOf(r)) && !slices.ContainsFunc(places, part) {
		by := commonPlace(all, func(p reads.Place) fmt.Stringer { return p.Node.Resource.Addr })
		return []LeftOut{{r.Addr.String(), why(by, all[0].At)}}
	}
	var out []LeftOut
	for _, m := range places {
		if len(in[m]) > 1 && whole(m) {
			by := commonPlace(in[m], func(p reads.Place) fmt.Stringer { return reads.Place{Node: p.Node, In: p.In} })
			out = append(out, LeftOut{reads.Place{Node: r.Node, In: m}.String(), why(by, in[m][0].At)})
			continue
		}
		var some []LeftOut
		for _, x := range in[m] {
			some = append(some, LeftOut{x.String(), why(x.By, x.At)})
		}
		slices.SortFunc(some, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
		out = append(out, some...)
	}
	return out
}

// commonPlace returns the place by which a search reached all elements of list. If they were
// reached by several places, it returns the result of wider for the first of these.
func commonPlace(list []reads.Reached, wider func(reads.Place) fmt.Stringer) fmt.Stringer {
	first := list[0].By
	if slices.ContainsFunc(list, func(x reads.Reached) bool { return x.By != first }) {
		return wider(first)
	}
	return first
}

// modulesOf returns the module instances in which a resource has instances: in the state for a
// destruction, and in the configuration otherwise.
func (t *targeting) modulesOf(r *reads.Resource) []addrs.ModuleInstance {
	if !t.b.op.Phase.Destroys() {
		return t.reads.ModuleInstances(r.Module)
	}
	var out []addrs.ModuleInstance
	for _, prior := range r.Prior {
		out = append(out, prior.Addr.Module)
	}
	return out
}

// countIn returns the number of a resource's instances in a module instance.
func (t *targeting) countIn(r *reads.Resource, in addrs.ModuleInstance) int {
	if !t.b.op.Phase.Destroys() {
		return len(t.reads.Keys(r, in))
	}
	return len(t.stored.within(r, in))
}
