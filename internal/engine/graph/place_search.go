package graph

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// reached is a place that a search has reached, with the last step of the way to it.
type reached struct {
	place
	// by is the last place on the way that belongs to another resource or action, or to another instance of
	// the same resource. Its node is nil where no place depends on it, for example at the start of the
	// search.
	// at is the range of the reference between by and the next place. In a search against the
	// direction of references, it is the range of the reference from this place.
	by place
	at *hcl.Range // may be nil
	of place      // the most specific place of this place's own node on the way
}

// search is a search from place to place. It visits each place once.
type search struct {
	found map[place]bool
	order []reached // in the order of visits
}

// placesRead finds everything that some places read, directly or indirectly. The result includes
// these places.
func placesRead(from []place, reads func(place) []read) *search {
	s := newSearch(from)
	for i := 0; i < len(s.order); i++ {
		x := s.order[i]
		for _, read := range reads(x.place) {
			s.add(x.next(read.of, x.of, read.at))
		}
	}
	return s
}

// byResource returns the places of each resource that the search has reached from other places.
func (s *search) byResource() map[*Resource][]reached {
	out := map[*Resource][]reached{}
	for _, x := range s.order {
		if r := x.n.Resource; r != nil && x.by.n != nil {
			out[r] = append(out[r], x)
		}
	}
	return out
}

func newSearch(from []place) *search {
	s := &search{found: map[place]bool{}}
	for _, p := range from {
		s.add(reached{place: p, of: p})
	}
	return s
}

func (s *search) add(x reached) {
	if !s.found[x.place] {
		s.found[x.place] = true
		s.order = append(s.order, x)
	}
}

// leaves reports whether the step from x to p is a reference between objects, rather than a step
// between the places of one node.
func (x reached) leaves(p place) bool {
	return p.n != x.n || p.part == onePart && x.part == onePart
}

// next returns p as a place that is reached from x. If the step is a reference and x belongs to a
// resource, the result records name as the last place of that resource and at as the range.
func (x reached) next(p, name place, at *hcl.Range) reached {
	out := reached{place: p, by: x.by, at: x.at, of: p}
	switch {
	case !x.leaves(p) && p.part != onePart:
		out.of = x.of
	case x.leaves(p) && (x.n.Resource != nil || x.n.Kind == KindAction):
		out.by, out.at = name, at
	}
	return out
}

// readers holds places and, by place, the places that read it.
type readers struct {
	places []place
	of     map[place][]read
}

// readersAmong returns the places of the given nodes, with what they read from each other.
func readersAmong(nodes []*Node, reads func(place) []read) readers {
	among := make(map[*Node]bool, len(nodes))
	from := make([]place, len(nodes))
	for i, n := range nodes {
		among[n], from[i] = true, place{n: n}
	}
	out := readers{of: map[place][]read{}}
	found := placesRead(from, func(p place) []read {
		list := slices.DeleteFunc(reads(p), func(r read) bool { return !among[r.of.n] })
		for _, r := range list {
			out.of[r.of] = append(out.of[r.of], read{p, r.at})
		}
		return list
	})
	for _, x := range found.order {
		out.places = append(out.places, x.place)
	}
	return out
}

// search follows reads in the opposite direction. It does not go beyond the places for which stop
// returns true.
func (r readers) search(from []place, stop func(reached) bool) *search {
	s := newSearch(from)
	for i := 0; i < len(s.order); i++ {
		x := s.order[i]
		if stop(x) {
			continue
		}
		for _, reader := range r.of[x.place] {
			y := x.next(reader.of, x.place, x.at)
			if reader.of.n.Resource != nil && x.leaves(reader.of) {
				y.at = reader.at
			}
			s.add(y)
		}
	}
	return s
}

// dependents returns the given nodes and all nodes of blocks, values and modules that depend on
// them. It continues only from the given nodes and from nodes for which pass returns true.
func (s *placeReads) dependents(of []*Node, pass func(*Node) bool) []*Node {
	users := s.refs().Dependents()
	siblings := map[dag.ID][]dag.ID{}
	for m, reads := range s.siblingReads {
		for _, read := range reads {
			for _, v := range read.read.Outputs() {
				siblings[v.Node.ID] = append(siblings[v.Node.ID], m.Variables[read.to.Name].Node.ID)
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
		if !start[id] && !pass(s.g.Nodes[id]) {
			return nil
		}
		for _, user := range slices.Concat(users[id], siblings[id]) {
			n := s.g.Nodes[user]
			if n.Resource != nil {
				n = n.Resource.Node
			}
			if !n.Kind.isBarrier() || n.closesModule() {
				out = append(out, n.ID)
			}
		}
		return out
	}
	var out []*Node
	for id := range dag.Reachable(from, next) {
		out = append(out, s.g.Nodes[id])
	}
	slices.SortFunc(out, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// target returns a target that includes every instance of a resource that the place may contain.
func (p place) target() addrs.Target {
	in := p.in
	for hasUnknownStep(in) {
		in, _ = in.Parent()
	}
	if p.part != onePart || p.key == addrs.UnknownKey || in != p.in {
		return addrs.Target{Module: in}
	}
	return addrs.Target{Module: in, Resource: p.n.Resource.Addr.Resource, Key: p.key, HasKey: p.key != addrs.NoKey}
}
