package graph

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
)

// rootName is the name of the Barrier that waits for everything.
const rootName = "root"

var closeTransformer = &Transformer{
	Name:  "Close",
	Doc:   "closes ephemeral objects and providers after their last user, and adds the root",
	After: []*Transformer{referenceTransformer, siblingsTransformer, changesTransformer, destroySplitTransformer},
	Run: func(_ context.Context, b *build) error {
		closer{b}.closeEphemerals()
		for _, n := range slices.Clone(b.g.Nodes) {
			if a, isAction := n.Object.(*reads.Resource); isAction && a.Provider != nil {
				b.after(a.Provider.Close, n)
			}
			if n.Resource == nil || n.Resource.Provider == nil {
				continue
			}
			b.after(n.Resource.Provider.Close, n)
			for _, p := range b.functionsOf[n.Resource] {
				b.after(p.Close, n) // an apply evaluates the block again, which calls functions
			}
		}
		closer{b}.closeCalled()
		root := b.node(reads.KindBarrier, nil, rootName, nil)
		for _, n := range b.g.Nodes {
			b.after(root, n)
		}
		return nil
	},
}

// closer keeps ephemeral objects and providers open as long as needed.
type closer struct{ b *build }

// closeCalled makes the providers whose functions are called stay open, in an apply, until everything
// is evaluated. The node that first reads a value evaluates it, so any of them may call a function.
func (c closer) closeCalled() {
	var evaluated *reads.Node
	for _, p := range c.b.g.Providers {
		if !p.Called || !c.b.op.Phase.Applies() {
			continue
		}
		if evaluated == nil {
			evaluated = c.b.node(reads.KindBarrier, nil, "(everything is evaluated)", nil)
			for _, n := range c.b.g.Nodes {
				if n.Kind == reads.KindStep || n.Kind == reads.KindProvider || n.Kept {
					c.b.after(evaluated, n)
				}
			}
		}
		c.b.after(p.Close, evaluated)
	}
}

// closeEphemerals adds a Barrier for each ephemeral resource. The Barrier waits for every node that
// may use the resource's values, and then closes its objects.
func (c closer) closeEphemerals() {
	var u *ephemeralUsers
	for _, r := range c.b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral || r.Config == nil || c.b.op.Phase == phase.Validate {
			continue
		}
		if u == nil {
			if !c.b.g.Edges.Acyclic() {
				return // the cycle is reported at the end
			}
			u = &ephemeralUsers{
				b:          c.b,
				dependents: c.b.g.Edges.Dependents(),
				done:       map[*reads.Node]*reads.Node{},
				ofProvider: c.providerUsers(),
			}
		}
		u.endOf(r.Node)
		for _, s := range c.b.steps[r] {
			u.endOf(s.Node)
		}
	}
}

// providerUsers returns the nodes of the resources of each provider, by the node of the provider.
func (c closer) providerUsers() map[*reads.Node][]*reads.Node {
	users := map[*reads.Node][]*reads.Node{}
	for _, n := range c.b.g.Nodes {
		if n.Resource != nil && n.Resource.Provider != nil {
			users[n.Resource.Provider.Node] = append(users[n.Resource.Provider.Node], n)
		}
	}
	return users
}

// ephemeralUsers finds the nodes that may use the value of an ephemeral resource, directly or
// through other values.
type ephemeralUsers struct {
	b          *build
	dependents [][]dag.ID
	ofProvider map[*reads.Node][]*reads.Node
	done       map[*reads.Node]*reads.Node
}

// ephemeral reports whether a node belongs to an ephemeral resource.
func (u *ephemeralUsers) ephemeral(n *reads.Node) bool {
	return n.Resource != nil && n.Resource.Addr.Resource.Mode == addrs.Ephemeral
}

// opens reports whether n, or a node that it waits for, opens ephemeral objects, which must be
// closed after their last user.
func (u *ephemeralUsers) opens(n *reads.Node) bool {
	return u.ephemeral(n) && (n.Kind == reads.KindStep || n == n.Resource.Node && len(u.b.steps[n.Resource]) == 0)
}

// mayUseValues reports whether a node may use the values of nodes that it waits for.
func mayUseValues(n *reads.Node) bool { return !n.Kind.IsBarrier() || n.Resource != nil }

// isRead reports whether a node that waits for n may use n's value.
func (u *ephemeralUsers) isRead(n *reads.Node) bool {
	return slices.ContainsFunc(u.dependents[n.ID], func(id dag.ID) bool { return mayUseValues(u.b.g.Nodes[id]) })
}

// endOf returns a Barrier that waits for every node that may use the value of n. If n opens ephemeral
// objects, the Barrier closes them. If several nodes share a value, its users are searched for only
// once.
func (u *ephemeralUsers) endOf(n *reads.Node) *reads.Node {
	if found, ok := u.done[n]; ok {
		return found
	}
	end := u.b.node(reads.KindBarrier, nil, n.Name+" (used)", nil)
	u.done[n] = end
	if u.opens(n) {
		end.Kind, end.Name, end.Object = reads.KindEphemeralEnd, n.Name+" (close)", n
		u.b.after(end, n)
		u.b.after(n.Resource.Provider.Close, end)
	}
	for _, id := range u.dependents[n.ID] {
		user := u.b.g.Nodes[id]
		if !mayUseValues(user) || u.ephemeral(user) && user == user.Resource.Node && !u.isRead(user) {
			continue
		}
		u.b.after(end, user)
		if v := user.Value(); v != nil {
			u.b.after(end, u.behindSiblings(v)...)
		}
		switch {
		case user.Kind == reads.KindProvider:
			u.b.after(end, u.ofProvider[user]...) // any call of the provider may need the value
		case (user.Kind == reads.KindStep || user.Kind == reads.KindResource) && !u.ephemeral(user):
		default:
			u.b.after(end, u.endOf(user))
		}
	}
	return end
}

// behindSiblings returns the nodes that may use an output through arguments of other instances of its
// module's call. In a plan, no edges lead from these arguments to the output.
func (u *ephemeralUsers) behindSiblings(output *reads.Value) []*reads.Node {
	var from []dag.ID
	for _, f := range u.b.g.Siblings[output.Module] {
		if u.b.op.Phase == phase.Plan && slices.Contains(f.Read.Outputs(), output) {
			from = append(from, f.To.Node.ID)
		}
	}
	var out []*reads.Node
	for id := range dag.Reachable(from, func(id dag.ID) []dag.ID { return u.dependents[id] }) {
		switch n := u.b.g.Nodes[id]; {
		case n.Kind == reads.KindProvider:
			out = append(append(out, n), u.ofProvider[n]...)
		case n.Kind == reads.KindResource:
			out = append(out, n)
		}
	}
	return out
}
