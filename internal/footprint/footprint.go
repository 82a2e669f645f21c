// Package footprint determines what a plan writes, and what the plan has read to decide what to
// write.
//
// A plan has read everything that can influence a change through references. The search starts at
// the blocks of the objects that change and at the outputs that change, and follows values,
// arguments of modules and other resources. So the result may contain more than what was really
// used. If the plan reads an instance of a resource by an index with a known result, only that
// instance is read. Otherwise the resource is read as a whole, which includes the fact that it may
// have no instances.
//
// A plan has also read everything that these conditions refer to: conditions that depend on a
// change, because they have approved it, and conditions whose result changes. The conditions of
// check blocks are included only if their result changes.
//
// The cost is linear in the number of instances and references.
package footprint

import (
	"tofu/internal/addrs"
	"tofu/internal/graphview"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Of returns the footprint of a plan. g is the graph of the plan's configuration. read is the state
// from which the plan was created. changed holds the instances whose prior state in the plan
// differs from read.
func Of(g *graphview.Graph, plan *plans.Plan, changed []addrs.AbsInstance, read *states.State) *plans.Footprint {
	f := &finder{
		graph: g, plan: plan, read: read, needs: g.Needs(), nodes: make(map[string]int, len(g.Nodes)),
		whole: make([]bool, len(g.Nodes)), checked: make([]bool, len(g.Nodes)), instances: map[addrs.AbsInstance]bool{},
		out:    &plans.Footprint{},
		writes: map[addrs.AbsInstance]int{},
	}
	for i, n := range g.Nodes {
		f.nodes[n.Address] = i
	}
	for _, addr := range changed {
		f.write(addr, false)
	}
	for _, c := range plan.Changes.Instances {
		f.change(c)
	}
	for _, o := range plan.Changes.Outputs {
		if o.Action == plans.NoOp {
			continue
		}
		f.out.Outputs = append(f.out.Outputs, o.Name)
		if i, ok := f.nodes["output."+o.Name]; ok {
			f.queue = append(f.queue, visit{node: i, whole: true})
		}
	}
	f.conditions()
	f.run()
	return f.out
}

// finder walks the graph from changes to what they need.
type finder struct {
	graph     *graphview.Graph
	plan      *plans.Plan
	read      *states.State
	needs     [][]int
	nodes     map[string]int // node indexes by address
	whole     []bool         // whether a node was visited as a whole, by node index
	checked   []bool         // whether the conditions of a node were visited, by node index
	instances map[addrs.AbsInstance]bool
	writes    map[addrs.AbsInstance]int // indexes in out.Writes
	queue     []visit
	out       *plans.Footprint
}

// visit is a node, or an instance of a resource, whose dependencies are still to be visited.
type visit struct {
	node     int
	whole    bool
	instance addrs.AbsInstance
}

// change adds what a planned change writes to the footprint.
func (f *finder) change(c *plans.InstanceChange) {
	if c.Action == plans.NoOp && c.MovedFrom == nil {
		return
	}
	f.write(c.Addr, c.Action == plans.Delete || c.Action.IsReplace())
	if c.MovedFrom != nil {
		f.write(*c.MovedFrom, false)
	}
}

func (f *finder) write(addr addrs.AbsInstance, destroys bool) {
	if i, ok := f.writes[addr]; ok {
		f.out.Writes[i].Destroys = f.out.Writes[i].Destroys || destroys
		return
	}
	f.writes[addr] = len(f.out.Writes)
	f.out.Writes = append(f.out.Writes,
		plans.Write{Addr: addr, Existed: f.read.Instance(addr) != nil, Destroys: destroys})
	f.visitInstance(addr)
}

func (f *finder) visitInstance(addr addrs.AbsInstance) {
	node, ok := f.nodes[addr.Config().String()]
	if !ok || f.instances[addr] {
		return
	}
	f.instances[addr] = true
	f.queue = append(f.queue, visit{node: node, instance: addr})
}

// run visits everything that the visited nodes depend on, and adds the resources among these nodes
// to the footprint.
func (f *finder) run() {
	for len(f.queue) > 0 {
		v := f.queue[len(f.queue)-1]
		f.queue = f.queue[:len(f.queue)-1]
		exact := f.exact(v)
		for _, e := range f.needs[v.node] {
			to := f.graph.Edges[e].To
			if !exact[f.graph.Nodes[to].Address] {
				f.visitWhole(to)
			}
		}
	}
	for addr := range f.instances {
		if _, written := f.writes[addr]; !written && f.read.Instance(addr) == nil {
			// The plan has also read the fact that the resource has no instances.
			f.whole[f.nodes[addr.Config().String()]] = true
		}
	}
	for i, visited := range f.whole {
		n := &f.graph.Nodes[i]
		if !visited && !f.checked[i] || n.Kind != graphview.Resource && n.Kind != graphview.Data {
			continue
		}
		if addr, ok := addrs.ParseConfigResourceText(n.Address); ok {
			f.out.Wholes = append(f.out.Wholes, addr)
		}
	}
	for addr := range f.instances {
		_, written := f.writes[addr]
		if !written && !f.whole[f.nodes[addr.Config().String()]] {
			f.out.Reads = append(f.out.Reads, addr)
		}
	}
}

func (f *finder) visitWhole(node int) {
	if f.whole[node] {
		return
	}
	f.whole[node] = true
	f.queue = append(f.queue, visit{node: node, whole: true})
}

// exact visits the instances that v's instance reads by computed indexes. It returns the addresses
// of their resources, which must not be visited as a whole.
func (f *finder) exact(v visit) map[string]bool {
	if v.whole {
		return nil
	}
	c := f.plan.Changes.Instance(v.instance, addrs.NotDeposed)
	if c == nil || len(c.Reads) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, r := range c.Reads {
		of := r.Resource.InInstance(v.instance.Module)
		out[of.Config().String()] = true
		if r.Key != addrs.NoKey {
			f.visitInstance(of.Instance(r.Key))
		}
	}
	return out
}
