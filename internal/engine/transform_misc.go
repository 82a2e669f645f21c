package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/tfdiags"
)

var replaceTransformer = &Transformer{
	Name:  "Replace",
	Doc:   "finds each resource's nearest dependencies, and forces create_before_destroy along dependency chains",
	After: []*Transformer{referenceTransformer, instancesTransformer, moduleTransformer, changesTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		order, ok := b.graph.Order()
		if !ok {
			return nil // the cycle is reported at the end
		}
		b.nearest(order)
		for _, r := range b.resources {
			r.cbd = r.createsFirst()
		}
		for _, id := range slices.Backward(order) { // dependents first
			r := b.nodes[id].resource
			if r == nil || b.nodes[id] != r.node || !r.cbd {
				continue
			}
			for _, dep := range r.deps {
				b.byConfig[dep].cbd = true
			}
		}
		b.forceSteps(order)
		return nil
	},
}

// forceSteps finds the steps that others which create before they destroy depend on.
func (b *build) forceSteps(order []dag.ID) {
	if len(b.steps) == 0 {
		return
	}
	forced := make([]bool, len(b.nodes))
	for _, id := range slices.Backward(order) { // dependents first
		n := b.nodes[id]
		if n.Kind == KindStep && !n.deletes && n.resource.createsFirst() {
			forced[id] = true
		}
		if forced[id] {
			for _, need := range b.graph.Needs(id) {
				forced[need] = true
			}
		}
	}
	for _, steps := range b.steps {
		for _, s := range steps {
			s.forced = forced[s.node.ID]
		}
	}
}

// createsFirst tells whether the resource's own block says so.
func (r *resource) createsFirst() bool { return r.cfg != nil && r.cfg.CreateBeforeDestroy }

var flagTransformer = &Transformer{
	Name:  "Flag",
	Doc:   "finds the resources whose objects are to be noted as created before destroyed: a part that is left out forces nobody",
	After: []*Transformer{replaceTransformer, targetTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, r := range b.resources {
			r.flag = r.createsFirst()
		}
		order, _ := b.graph.Order()
		for _, id := range slices.Backward(order) { // dependents first
			if r := b.nodes[id].resource; r != nil && b.nodes[id] == r.node && r.flag && r.node.Run != nil {
				for _, dep := range r.deps {
					b.byConfig[dep].flag = true
				}
			}
		}
		return nil
	},
}

var checkTransformer = &Transformer{
	Name:  "Check",
	Doc:   "reads the data sources that are nested in checks after all changes, which they are to judge",
	After: []*Transformer{referenceTransformer, changesTransformer, targetTransformer, pruneTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.phase.conditions || !b.phase.steps {
			return nil
		}
		var start *Node
		for _, r := range b.resources {
			if r.cfg == nil || r.cfg.Check == nil {
				continue
			}
			if start == nil {
				start = b.node(KindBarrier, nil, "(checks start)", nil)
				for _, other := range b.resources {
					if other.cfg == nil || other.cfg.Check == nil {
						b.after(start, other.node)
						for _, s := range b.steps[other] {
							b.after(start, s.node)
						}
					}
				}
			}
			b.after(r.open, start)
		}
		return nil
	},
}

var moduleTransformer = &Transformer{
	Name:  "Module",
	Doc:   "makes the end of each module wait for what is in it: depends_on of a module call waits for that",
	After: []*Transformer{referenceTransformer, changesTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		for _, n := range b.nodes {
			if n.module != nil && n.module.closed != nil && n.endsModule() {
				b.after(n.module.closed, n)
			}
		}
		for _, m := range b.modules {
			if m.closed != nil && m.parent.closed != nil {
				b.after(m.parent.closed, m.closed)
			}
		}
		b.awaitWholeCalls()
		return nil
	},
}

// awaitWholeCalls makes references to whole modules wait for all that is in these. Those that would wait for themselves that way, since
// something in the module needs what refers to it, wait for the outputs alone.
func (b *build) awaitWholeCalls() {
	if len(b.wholeCalls) == 0 {
		return
	}
	g := b.graph.Clone()
	for _, ref := range b.wholeCalls {
		g.Connect(ref.from.ID, ref.call.closed.ID)
	}
	cyclic := g.Cyclic()
	for _, ref := range b.wholeCalls {
		b.places.reference(ref.rng)
		if !cyclic[ref.from.ID] || !cyclic[ref.call.closed.ID] {
			b.after(ref.from, ref.call.closed)
			continue
		}
		for _, v := range ref.call.outputs {
			b.after(ref.from, v.node)
		}
	}
	b.places.reference(nil)
}

// endsModule tells whether what depends on the node's module waits for the node: not for checks, which may fail, and not for
// deletions, which may themselves have to wait for what depends on the module.
func (n *Node) endsModule() bool {
	switch n.Kind {
	case KindProvider, KindBarrier:
		return false
	case KindValue:
		return !n.isCheck
	}
	inCheck := n.resource != nil && n.resource.cfg != nil && n.resource.cfg.Check != nil
	return !inCheck && !(n.Kind == KindStep && n.deletes)
}

var closeTransformer = &Transformer{
	Name:  "Close",
	Doc:   "adds what closes ephemeral objects and providers when their last user is done, and the single root",
	After: []*Transformer{referenceTransformer, changesTransformer, destroySplitTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		b.closeEphemerals()
		for _, n := range slices.Clone(b.nodes) {
			if n.resource != nil && n.resource.provider != nil {
				b.after(n.resource.provider.close, n)
			}
		}
		b.rootNode = b.node(KindBarrier, nil, "root", nil)
		for _, n := range b.nodes {
			b.after(b.rootNode, n)
		}
		return nil
	},
}

// closeEphemerals adds a Barrier for each ephemeral resource, after everything that its value may have reached: values hand it on,
// resources and providers use it.
func (b *build) closeEphemerals() {
	var dependents [][]dag.ID
	var users map[*Node][]*Node
	for _, r := range b.resources {
		if r.addr.Resource.Mode != addrs.Ephemeral || r.cfg == nil || b.phase.unknownInputs {
			continue
		}
		if dependents == nil {
			dependents, users = b.graph.Dependents(), b.providerUsers()
		}
		closer := b.node(KindBarrier, nil, r.addr.String()+" (close)", nil)
		closer.Run = func(w *walk) tfdiags.Diagnostics { return w.closeEphemeral(r) }
		b.after(closer, r.node)
		b.after(r.provider.close, closer)
		b.afterUsers(closer, r, dependents, users)
	}
}

// providerUsers lists the nodes of each provider's resources by the provider's node.
func (b *build) providerUsers() map[*Node][]*Node {
	users := map[*Node][]*Node{}
	for _, n := range b.nodes {
		if n.resource != nil && n.resource.provider != nil {
			users[n.resource.provider.node] = append(users[n.resource.provider.node], n)
		}
	}
	return users
}

// afterUsers has an ephemeral resource closed after everything that may need its value.
func (b *build) afterUsers(closer *Node, r *resource, dependents [][]dag.ID, users map[*Node][]*Node) {
	seen := map[dag.ID]bool{}
	todo := []dag.ID{r.node.ID}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range dependents[id] {
			n := b.nodes[user]
			if seen[user] || n.Kind == KindBarrier && n.resource == nil {
				continue
			}
			seen[user] = true
			b.after(closer, n)
			switch {
			case n.Kind == KindProvider:
				// Whatever the provider does may need the value: wait for all of its users.
				for _, user := range users[n] {
					b.after(closer, user)
				}
			case n.Kind == KindStep, n.settles && n.resource.addr.Resource.Mode != addrs.Ephemeral:
			default:
				todo = append(todo, user)
			}
		}
	}
}

var pruneTransformer = &Transformer{
	Name:  "Prune",
	Doc:   "drops values that nobody reads, in one sweep",
	After: []*Transformer{closeTransformer, targetTransformer},
	Run: func(b *build) tfdiags.Diagnostics {
		if !b.phase.prune {
			return nil
		}
		var roots []dag.ID
		for _, n := range b.nodes {
			if b.wanted(n) {
				roots = append(roots, n.ID)
			}
		}
		keep := b.graph.Reach(roots...)
		if b.phase == phasePlanDestroy {
			b.dropEphemerals(keep)
			b.fillModules(keep)
		}
		b.drop(keep)
		return nil
	},
}

// dropEphemerals leaves out ephemeral objects that no provider is configured with: who plans to destroy needs no others.
func (b *build) dropEphemerals(keep []bool) {
	var configured []dag.ID
	for _, n := range b.nodes {
		if n.Kind == KindProvider && keep[n.ID] {
			configured = append(configured, n.ID)
		}
	}
	needed := b.graph.Reach(configured...)
	for _, n := range b.nodes {
		if n.Kind == KindResource && n.resource.addr.Resource.Mode == addrs.Ephemeral && !needed[n.ID] {
			keep[n.ID] = false
		}
	}
}

// fillModules has the resources wait for the instances of their modules where somebody evaluates something in these: what they have
// in the state becomes their values there.
func (b *build) fillModules(keep []bool) {
	for _, r := range b.resources {
		if m := r.module; m.expand != nil && keep[m.expand.ID] {
			b.after(r.node, m.expand)
		}
	}
}

// wanted tells whether a node has to run for its own sake.
func (b *build) wanted(n *Node) bool {
	switch n.Kind {
	case KindStep:
		return true
	case KindValue:
		return n.final && !b.phase.destroy
	case KindResource:
		return b.phase.destroy && !b.phase.steps || n.final
	}
	return false
}

// drop takes the work out of nodes that are not kept; they stay as empty vertices without edges.
func (b *build) drop(keep []bool) {
	for id, n := range b.nodes {
		if keep[id] || n.Kind == KindBarrier {
			continue
		}
		n.Run, n.problems = nil, nil
		b.graph.Disconnect(dag.ID(id))
	}
}
