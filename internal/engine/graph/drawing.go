package graph

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

// Drawing is a graph for other programs: its nodes have the names that OpenTofu uses. It leaves out
// edges that longer paths imply.
type Drawing struct {
	Nodes []DrawnNode
	Edges [][2]int // pairs of indices into Nodes; the first waits for the second
}

// DrawnNode is a node of a drawing. Label and Shape are empty for inner nodes.
type DrawnNode struct{ Name, Label, Shape string }

var drawnShapes = map[reads.Kind]string{
	reads.KindResource: "box", reads.KindStep: "box", reads.KindProvider: "diamond", reads.KindValue: "note",
}

// drawer draws a graph. A node may be drawn as several nodes, or not at all.
type drawer struct {
	b     *build
	graph dag.Graph
	drawn []DrawnNode // by vertex of graph; nodes without a name only connect others and may be removed

	// tops and ends hold, by node ID, the first and the last vertex that represent a node. Nodes
	// that wait for the node wait for its top. The end of the node waits for the nodes that it
	// needs.
	tops, ends []dag.ID

	variables map[*reads.Node]bool // all variables; true if the variable is in the root module
	outputs   map[*reads.Node]bool // outputs of the root module, which are drawn even if nothing evaluates them
	root      dag.ID
	loose     []dag.ID // vertices that only the root waits for
}

const notDrawn dag.ID = -1

// Draw builds the graph of an operation and draws it. When everything will be destroyed, the
// drawing shows the order of destruction. Except for a normal plan, the drawing leaves out the
// resources that do not change.
func Draw(ctx context.Context, op *Operation) (*Drawing, error) {
	b, err := buildDrawing(ctx, op)
	if err != nil {
		return nil, err
	}
	return draw(b), nil
}

func buildDrawing(ctx context.Context, op *Operation) (*build, error) {
	b := newBuild(op)
	passes := transformers
	if op.Phase.Applies() {
		passes = slices.Insert(slices.Clone(transformers), slices.Index(transformers, pruneTransformer), blocksTransformer)
	}
	if err := b.run(ctx, passes); err != nil {
		return nil, err
	}
	if op.Phase == phase.PlanDestroy {
		drawDestruction(b)
	}
	if op.Phase != phase.Plan {
		dropIdle(b)
	}
	return b, nil
}

func draw(b *build) *Drawing {
	d := &drawer{b: b, tops: make([]dag.ID, len(b.g.Nodes)), ends: make([]dag.ID, len(b.g.Nodes)),
		variables: map[*reads.Node]bool{}, outputs: map[*reads.Node]bool{}}
	for _, v := range b.g.Values {
		if v.Kind == reads.Variable {
			d.variables[v.Node] = v.Module == b.g.Root
		}
	}
	for _, v := range b.g.Root.Outputs {
		d.outputs[v.Node] = true
	}
	notRead := unread(b)
	order, _ := b.g.Edges.Order()
	for _, id := range order {
		d.tops[id], d.ends[id] = notDrawn, notDrawn
		if !notRead[id] {
			d.tops[id], d.ends[id] = d.addNode(b.g.Nodes[id])
		}
	}
	for _, id := range order {
		for _, to := range b.g.Edges.Needs(id) {
			if d.ends[id] != notDrawn && d.tops[to] != notDrawn && !d.passes(id, b.g.Nodes[to]) {
				d.graph.Connect(d.ends[id], d.tops[to])
			}
		}
	}
	for _, id := range d.loose {
		d.graph.Connect(d.root, id)
	}
	d.addReports()
	d.addDeposed()
	d.addGone()
	return d.finish()
}

func (d *drawer) add(name, label string, kind reads.Kind) dag.ID {
	n := DrawnNode{Name: name, Label: label}
	if label != "" {
		n.Shape = drawnShapes[kind]
	}
	d.drawn = append(d.drawn, n)
	return d.graph.Add()
}

// chain adds a row of nodes, where each waits for the next, and returns its first and last vertex.
func (d *drawer) chain(names ...string) (top, end dag.ID) {
	top = d.add(names[0], "", reads.KindValue)
	end = top
	for _, name := range names[1:] {
		next := d.add(name, "", reads.KindValue)
		d.graph.Connect(end, next)
		end = next
	}
	return top, end
}

// addNode adds the vertices that represent a node. It returns the first and the last of them, or
// notDrawn.
func (d *drawer) addNode(n *reads.Node) (top, end dag.ID) {
	inRoot, isVariable := d.variables[n]
	switch {
	case n.Kind.IsBarrier():
		if !d.awaits(n) && n.Name != rootName && !n.ClosesModule() {
			return notDrawn, notDrawn
		}
		top, end = d.chain(d.barrierName(n))
		if n.Name == rootName {
			d.root = end
		}
		return top, end
	case n.Dropped && inRoot:
		v := d.add(n.Name, n.Name, reads.KindValue)
		return v, v
	case n.Dropped && d.outputs[n]:
		return d.chain(n.Name + " (expand)")
	case n.Dropped:
		return notDrawn, notDrawn
	case inRoot: // readers of a root variable wait for its validations, but its value does not
		top = d.add(n.Name+" (expand, reference)", "", reads.KindValue)
		d.graph.Connect(top, d.add(n.Name, n.Name, reads.KindValue))
		return top, top
	case isVariable:
		return d.chain(n.Name+" (expand, reference)", n.Name+" (expand, input)")
	case n.Kind.IsValue():
		return d.chain(n.Name + " (expand)")
	case n.Kind == reads.KindPlace:
		return d.chain("")
	case n.Kind == reads.KindModule:
		return d.chain(n.Name)
	case n.Kind == reads.KindProvider:
		p := d.add(n.Name, n.Name, reads.KindProvider)
		return p, p
	case n.Kind == reads.KindStep:
		s := d.add(drawnName(n.Step()), n.Resource.Addr.String(), reads.KindStep)
		if d.forgets(n.ID) {
			d.loose = append(d.loose, s)
			return notDrawn, s
		}
		return s, s
	}
	return d.addResource(n)
}

// awaits reports whether a node waits for at least one node that is drawn.
func (d *drawer) awaits(n *reads.Node) bool {
	return slices.ContainsFunc(d.b.g.Edges.Needs(n.ID), func(id dag.ID) bool { return d.tops[id] != notDrawn })
}

// passes reports whether the drawing leaves out an edge although both of its nodes are drawn.
func (d *drawer) passes(from dag.ID, to *reads.Node) bool {
	switch to.Kind {
	case reads.KindProvider:
		return d.forgets(from)
	case reads.KindExpand, reads.KindResource:
		return d.b.op.Phase == phase.PlanDestroy && d.b.g.Nodes[from].ClosesModule()
	}
	return false
}

// forgets reports whether a node is a Step that removes a data source from the state. No other node
// waits for such a Step, and it needs no provider.
func (d *drawer) forgets(id dag.ID) bool {
	s := d.b.g.Nodes[id].Step()
	return s != nil && s.Deletes() && s.Resource.Addr.Resource.Mode == addrs.Data
}

// unread reports for each node, by ID, whether it is a local or variable of a called module that no
// other node reads. Reads by the end node of the module and by the root don't count. The result is
// false for variables with validations. If the graph keeps unread values, it is false for all
// nodes.
func unread(b *build) []bool {
	out := make([]bool, len(b.g.Nodes))
	if !b.op.Phase.Prunes() {
		return out
	}
	for _, v := range b.g.Values {
		checked := v.Kind == reads.Variable && len(v.Variable.Validations) > 0
		out[v.Node.ID] = v.Kind != reads.Output && v.Module != b.g.Root && !checked
	}
	order, _ := b.g.Edges.Order()
	for _, id := range slices.Backward(order) {
		n := b.g.Nodes[id]
		if out[id] || n.Kind.IsBarrier() && (n.ClosesModule() || n.Name == rootName) {
			continue
		}
		for _, to := range b.g.Edges.Needs(id) {
			out[to] = false
		}
	}
	return out
}

// addResource draws a Resource node: its block, or its instances in the state.
func (d *drawer) addResource(n *reads.Node) (top, end dag.ID) {
	r := n.Resource
	switch {
	case d.b.op.Phase == phase.PlanDestroy && len(r.Prior) > 0:
		return d.addInstances(r, " (destroy)")
	case d.b.op.Phase == phase.PlanDestroy:
		return d.chain(r.Addr.String() + " (expand)")
	case r.Config == nil && !d.b.op.Phase.Applies():
		return d.addInstances(r, " (orphan)")
	case r.Config != nil && n == r.Inputs:
		e := d.add(r.Addr.String()+" (expand)", r.Addr.String(), reads.KindResource)
		return e, e
	case n.Kind == reads.KindExpand: // in one instance of a module call
		return d.chain(n.Name)
	}
	return d.chain("")
}

// addInstances adds a node for each instance of a resource in the state.
func (d *drawer) addInstances(r *reads.Resource, suffix string) (top, end dag.ID) {
	top, end = d.add("", "", reads.KindBarrier), d.add("", "", reads.KindBarrier)
	for _, prior := range r.Prior {
		for _, key := range prior.SortedKeys() {
			if prior.Instances[key].Current == nil {
				continue
			}
			inst := d.add(prior.Addr.Instance(key).String()+suffix, r.Addr.String(), reads.KindResource)
			d.graph.Connect(top, inst)
			d.graph.Connect(inst, end)
		}
	}
	return top, end
}

// barrierName returns the name of a drawn Barrier; "" for Barriers that OpenTofu does not have.
func (d *drawer) barrierName(n *reads.Node) string {
	if n.Kind != reads.KindBarrier || n.ClosesModule() || n.Name == rootName || n.Name == checksStartName {
		return n.Name
	}
	return ""
}

// stepSuffixes are the suffixes of the names of drawn Steps.
var stepSuffixes = map[reads.StepPart]string{reads.StepApply: "", reads.StepDelete: " (destroy)", reads.StepForget: " (forget)"}

// drawnName returns the name of the drawn node of a Step.
func drawnName(s *reads.Step) string {
	if s.Part == reads.StepDeposed {
		// A replaced object gets its deposed key only when it is deposed.
		return s.Change.Addr.String() + " (destroy deposed " + cmp.Or(string(s.Change.Deposed), "00000000") + ")"
	}
	return s.Change.Addr.String() + stepSuffixes[s.Part]
}

// addReports adds the nodes that announce check blocks. Only graphs of planning and validation have
// them.
func (d *drawer) addReports() {
	if !d.b.op.Phase.Checks() || d.b.op.Phase.Applies() {
		return
	}
	reports := map[*configs.Check]dag.ID{}
	for _, m := range d.b.g.Modules {
		for _, c := range m.Checks {
			report := d.add(reads.InModule(m.Path, "check."+c.Config.Name+" (report)"), "", reads.KindValue)
			reports[c.Config] = report
			d.graph.Connect(d.ends[c.Node.ID], report)
			if m.Expand != nil {
				d.graph.Connect(report, d.tops[m.Expand.ID])
			}
			for _, r := range m.Resources {
				if r.Config != nil && r.Config.Check == c.Config {
					d.graph.Connect(d.ends[r.Node.ID], report)
				}
			}
		}
	}
}

// addDeposed adds the deposed objects in the state, except to graphs of applying.
func (d *drawer) addDeposed() {
	if d.b.op.Phase.Applies() {
		return
	}
	for _, r := range d.b.g.Resources {
		for _, prior := range r.Prior {
			for _, key := range prior.SortedKeys() {
				for _, deposed := range slices.Sorted(maps.Keys(prior.Instances[key].Deposed)) {
					name := prior.Addr.Instance(key).String() + " (deposed " + string(deposed) + ")"
					n := d.add(name, r.Addr.String(), reads.KindResource)
					d.graph.Connect(n, d.tops[r.Provider.Node.ID])
					d.graph.Connect(d.ends[r.Provider.Close.ID], n)
				}
			}
		}
	}
}

// addGone adds the outputs and modules that are only in the state. A walk has no nodes for them.
func (d *drawer) addGone() {
	for _, name := range d.b.op.Prior.OutputNames() {
		if d.b.op.Config.Module.Outputs[name] == nil {
			gone := "output." + name + " (destroy)"
			d.graph.Connect(d.root, d.add(gone, gone, reads.KindValue))
		}
	}
	ends := map[addrs.Module]dag.ID{"": d.root}
	var closed func(addrs.Module) dag.ID
	closed = func(path addrs.Module) dag.ID {
		if id, ok := ends[path]; ok {
			return id
		}
		if m := d.b.g.Modules[path]; m != nil && m.End != nil {
			ends[path] = d.ends[m.End.ID]
			return ends[path]
		}
		parent, _ := path.Parent()
		from := closed(parent)
		ends[path] = d.add(path.String()+" (close)", "", reads.KindModule)
		d.graph.Connect(from, ends[path])
		return ends[path]
	}
	for _, r := range d.b.g.Resources {
		closed(r.Addr.Module)
	}
}

// finish removes the nodes without names. It keeps such a node if its removal would add too many
// edges. It also removes the edges that longer paths imply.
func (d *drawer) finish() *Drawing {
	const few = 8
	users := d.graph.Dependents()
	order, _ := d.graph.Order()
	out := dag.Graph{}
	for range d.drawn {
		out.Add()
	}
	passed := make([]bool, len(d.drawn)) // removed nodes; nodes that wait for a removed node wait for its needs instead
	mark := make([]dag.ID, len(d.drawn)) // by vertex: the last vertex that was connected to it, plus one
	for _, id := range order {
		connect := func(to dag.ID) {
			if mark[to] != id+1 {
				mark[to] = id + 1
				out.Connect(id, to)
			}
		}
		for _, to := range d.graph.Needs(id) {
			if !passed[to] {
				connect(to)
				continue
			}
			for _, further := range out.Needs(to) {
				connect(further)
			}
		}
		passed[id] = d.drawn[id].Name == "" && min(len(out.Needs(id)), len(users[id])) <= few
	}
	for id, yes := range passed {
		if yes {
			out.Disconnect(dag.ID(id))
		}
	}
	return d.numbered(out.TransitiveReduction(), passed)
}

// numbered returns the drawing of the remaining nodes, sorted by name.
func (d *drawer) numbered(g *dag.Graph, left []bool) *Drawing {
	var kept []dag.ID
	for id, n := range d.drawn {
		if n.Name == "" {
			d.drawn[id].Name = fmt.Sprintf("(group %d)", id)
		}
		if !left[id] {
			kept = append(kept, dag.ID(id))
		}
	}
	slices.SortStableFunc(kept, func(x, y dag.ID) int { return strings.Compare(d.drawn[x].Name, d.drawn[y].Name) })
	at := make([]int, len(d.drawn))
	out := &Drawing{}
	for i, id := range kept {
		at[id] = i
		out.Nodes = append(out.Nodes, d.drawn[id])
	}
	for i, id := range kept {
		from := len(out.Edges)
		for _, to := range g.Needs(id) {
			out.Edges = append(out.Edges, [2]int{i, at[to]})
		}
		slices.SortFunc(out.Edges[from:], func(x, y [2]int) int { return x[1] - y[1] })
	}
	return out
}
