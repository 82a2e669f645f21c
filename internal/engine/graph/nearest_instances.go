package graph

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// setCallNeeds sets the resources that a block needs only in single instances of module calls. set
// holds all resources that it needs.
func (f *nearest) setCallNeeds(r *Resource, set *resourceSet) {
	if len(r.CallReads) == 0 || set == nil {
		return
	}
	through := map[dag.ID]bool{}
	calls := map[*Module]bool{}
	for _, read := range r.CallReads {
		calls[read.Call] = true
		through[read.Call.end.ID] = true
		for _, v := range read.outputs() {
			through[v.Node.ID] = true
		}
	}
	var rest []*resourceSet
	for _, to := range f.edges.Needs(r.Inputs.ID) {
		if f.reached[to] != nil && !through[to] && f.b.g.Nodes[to].Kind != KindPart {
			rest = append(rest, f.reached[to])
		}
	}
	others := union(rest)
	r.CallNeeds = nil
	for _, call := range slices.SortedFunc(maps.Keys(calls), func(a, b *Module) int { return a.Index - b.Index }) {
		need := CallNeed{Call: call}
		for _, i := range set.all() {
			if of := f.b.g.Resources[i]; !others.has(i) && of.managedIn(call) {
				need.Of = append(need.Of, of)
			}
		}
		if need.Of != nil {
			r.CallNeeds = append(r.CallNeeds, need)
		}
	}
}

// passFeeds finds the arguments that feed a node.
func (f *nearest) passFeeds(n *Node) {
	if len(f.b.g.regions) == 0 || n.Kind == KindPart {
		return
	}
	var out []*Value
	if v, ok := n.Object.(*Value); ok && n.Split && len(f.b.feeds[v.Module]) > 0 &&
		slices.ContainsFunc(f.b.feeds[v.Module], func(feed feed) bool { return feed.to == v }) {
		out = append(out, v)
	}
	for _, to := range f.edges.Needs(n.ID) {
		other := f.b.g.Nodes[to]
		if other.Kind == KindPart || other.completes() && other.Resource.Addr.Resource.Mode == addrs.Managed {
			continue
		}
		for _, v := range f.fed[to] {
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	if out != nil {
		f.fed[n.ID] = out
	}
}

// regions returns the regions of the graph.
func (f *nearest) regions() []*Region {
	var out []*Region
	for _, r := range f.b.g.regions {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// setNeeds sets what the search has found about the nodes of a region.
func (r *Region) setNeeds(f *nearest) {
	r.behind, r.fed, r.outputsFor = map[*Value]Fed{}, map[*Node][]*Value{}, map[*Value][]*Value{}
	for n := range r.parts {
		r.fed[n] = f.fed[n.ID]
	}
	for _, feed := range f.b.feeds[r.Call] {
		r.outputsFor[feed.to] = append(r.outputsFor[feed.to], feed.read.outputs()...)
		for _, v := range feed.read.outputs() {
			var of []*Resource
			for _, i := range f.reached[v.Node.ID].all() {
				of = append(of, f.b.g.Resources[i])
			}
			r.behind[v] = Fed{Of: of}
		}
	}
}

// fedBy returns the resources on which a resource depends in other instances of its module call.
func (g *Graph) fedBy(r *Resource) []*Resource {
	region := g.regions[r.Inputs]
	if region == nil {
		return nil
	}
	var out []*Resource
	for _, v := range region.fed[r.Inputs] {
		for _, output := range region.outputsFor[v] {
			out = append(out, region.behind[output].Of...)
		}
	}
	return out
}

// Fed are resources whose instances in one instance of a module call are needed by another instance
// of the call.
type Fed struct {
	In addrs.ModuleInstance
	Of []*Resource
}

// Fed returns on what the instances of a resource depend in other instances of the module call, in
// one instance of the module. A source is returned only once.
func (g *Graph) Fed(r *Resource, in addrs.ModuleInstance) []Fed {
	region := g.regions[r.Inputs]
	if region == nil {
		return nil
	}
	at, ok := region.at[outermost(in, region.depth)]
	if !ok {
		return nil
	}
	type place struct {
		at int
		v  *Value
	}
	var out []Fed
	var todo []place
	seen := map[place]bool{}
	add := func(at int, list []*Value) {
		for _, v := range list {
			if p := (place{at, v}); !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	add(at, region.fed[r.Inputs])
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		for _, s := range region.sources[p.at] {
			if s.to != p.v {
				continue
			}
			for _, output := range s.outputs {
				if of := region.behind[output].Of; len(of) > 0 && !seen[place{s.from, output}] {
					out = append(out, Fed{region.list[s.from], of})
				}
				seen[place{s.from, output}] = true
				add(s.from, region.fed[output.Node])
			}
		}
	}
	return out
}
