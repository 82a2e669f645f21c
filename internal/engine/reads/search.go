package reads

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// Reached is a place that a search has reached, with the last step of the way to it.
type Reached struct {
	Place
	// By is the last place on the way that belongs to another resource or action, or to another instance of
	// the same resource. Its node is nil where no place depends on it, for example at the start of the
	// search.
	// At is the range of the reference between By and the next place. In a search against the
	// direction of references, it is the range of the reference from this place.
	By Place
	At *hcl.Range // may be nil
	of Place      // the most specific place of this place's own node on the way
}

// Search is a search from place to place. It visits each place once.
type Search struct {
	Found map[Place]bool
	order []Reached // in the order of visits
}

// Follow finds everything that some places read, directly or indirectly. The result includes
// these places.
func Follow(from []Place, reads func(Place) []Read) *Search {
	s := newSearch(from)
	for i := 0; i < len(s.order); i++ {
		x := s.order[i]
		for _, read := range reads(x.Place) {
			s.add(x.next(read.Of, x.of, read.at))
		}
	}
	return s
}

// ByResource returns the places of each resource that the search has reached from other places.
func (s *Search) ByResource() map[*Resource][]Reached {
	out := map[*Resource][]Reached{}
	for _, x := range s.order {
		if r := x.Node.Resource; r != nil && x.By.Node != nil {
			out[r] = append(out[r], x)
		}
	}
	return out
}

func newSearch(from []Place) *Search {
	s := &Search{Found: map[Place]bool{}}
	for _, p := range from {
		s.add(Reached{Place: p, of: p})
	}
	return s
}

func (s *Search) add(x Reached) {
	if !s.Found[x.Place] {
		s.Found[x.Place] = true
		s.order = append(s.order, x)
	}
}

// leaves reports whether the step from x to p is a reference between objects, rather than a step
// between the places of one node.
func (x Reached) leaves(p Place) bool {
	return p.Node != x.Node || p.Part == OnePart && x.Part == OnePart
}

// next returns p as a place that is reached from x. If the step is a reference and x belongs to a
// resource, the result records name as the last place of that resource and at as the range.
func (x Reached) next(p, name Place, at *hcl.Range) Reached {
	out := Reached{Place: p, By: x.By, At: x.At, of: p}
	switch {
	case !x.leaves(p) && p.Part != OnePart:
		out.of = x.of
	case x.leaves(p) && (x.Node.Resource != nil || x.Node.Kind == KindAction):
		out.By, out.At = name, at
	}
	return out
}

// Readers holds places and, by place, the places that read it.
type Readers struct {
	Places []Place
	of     map[Place][]Read
}

// ReadersAmong returns the places of the given nodes, with what they read from each other.
func ReadersAmong(nodes []*Node, reads func(Place) []Read) Readers {
	among := make(map[*Node]bool, len(nodes))
	from := make([]Place, len(nodes))
	for i, n := range nodes {
		among[n], from[i] = true, Place{Node: n}
	}
	out := Readers{of: map[Place][]Read{}}
	found := Follow(from, func(p Place) []Read {
		list := slices.DeleteFunc(reads(p), func(r Read) bool { return !among[r.Of.Node] })
		for _, r := range list {
			out.of[r.Of] = append(out.of[r.Of], Read{p, r.at})
		}
		return list
	})
	for _, x := range found.order {
		out.Places = append(out.Places, x.Place)
	}
	return out
}

// Search follows reads in the opposite direction. It does not go beyond the places for which stop
// returns true.
func (r Readers) Search(from []Place, stop func(Reached) bool) *Search {
	s := newSearch(from)
	for i := 0; i < len(s.order); i++ {
		x := s.order[i]
		if stop(x) {
			continue
		}
		for _, reader := range r.of[x.Place] {
			y := x.next(reader.Of, x.Place, x.At)
			if reader.Of.Node.Resource != nil && x.leaves(reader.Of) {
				y.At = reader.at
			}
			s.add(y)
		}
	}
	return s
}

// Dependents returns the given nodes and all nodes of blocks, values and modules that depend on
// them. It continues only from the given nodes and from nodes for which pass returns true.
func (s *Places) Dependents(of []*Node, pass func(*Node) bool) []*Node {
	users := s.refs.Dependents()
	siblings := map[dag.ID][]dag.ID{}
	for m, reads := range s.tree.Siblings {
		for _, read := range reads {
			for _, v := range read.Read.Outputs() {
				siblings[v.Node.ID] = append(siblings[v.Node.ID], m.Variables[read.To.Name].Node.ID)
			}
		}
	}
	var from []dag.ID
	start := map[dag.ID]bool{}
	for _, n := range of {
		from = append(from, n.ID)
		start[n.ID] = true
	}
	next := func(id dag.ID) (out []dag.ID) {
		if !start[id] && !pass(s.tree.Nodes[id]) {
			return nil
		}
		for _, user := range slices.Concat(users[id], siblings[id]) {
			n := s.tree.Nodes[user]
			if n.Resource != nil {
				n = n.Resource.Node
			}
			if !n.Kind.IsBarrier() || n.ClosesModule() {
				out = append(out, n.ID)
			}
		}
		return out
	}
	var out []*Node
	for id := range dag.Reachable(from, next) {
		out = append(out, s.tree.Nodes[id])
	}
	slices.SortFunc(out, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Target returns a target that includes every instance of a resource that the place may contain.
func (p Place) Target() addrs.Target {
	in := p.In
	for hasUnknownStep(in) {
		in, _ = in.Parent()
	}
	if p.Part != OnePart || p.Key == addrs.UnknownKey || in != p.In {
		return addrs.Target{Module: in}
	}
	return addrs.Target{Module: in, Resource: p.Node.Resource.Addr.Resource, Key: p.Key, HasKey: p.Key != addrs.NoKey}
}
