package graph

import (
	"context"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/dag"
)

// rootName is the name of the Barrier that waits for everything.
const rootName = "root"

var closeTransformer = &Transformer{
	Name:  "Close",
	Doc:   "closes ephemeral objects and providers after their last user, and adds the root",
	After: []*Transformer{referenceTransformer, siblingsTransformer, changesTransformer, destroySplitTransformer},
	Run: func(_ context.Context, b *build) error {
		b.closeEphemerals()
		for _, n := range slices.Clone(b.g.Nodes) {
			if n.Resource == nil || n.Resource.Provider == nil {
				continue
			}
			b.after(n.Resource.Provider.close, n)
			for _, p := range b.functionsOf[n.Resource] {
				b.after(p.close, n) // because Steps evaluate the block again
			}
		}
		root := b.node(KindBarrier, nil, rootName, nil)
		for _, n := range b.g.Nodes {
			b.after(root, n)
		}
		return nil
	},
}

// closeEphemerals adds a Barrier for each ephemeral resource. The Barrier waits for every node that
// may use the resource's values, and then closes its objects.
func (b *build) closeEphemerals() {
	var u *ephemeralUsers
	for _, r := range b.g.Resources {
		if r.Addr.Resource.Mode != addrs.Ephemeral || r.Config == nil || b.op.Phase == PhaseValidate {
			continue
		}
		if u == nil {
			if !b.g.Edges.Acyclic() {
				return // the cycle is reported at the end
			}
			u = &ephemeralUsers{
				build:      b,
				dependents: b.g.Edges.Dependents(),
				done:       map[*Node]*Node{},
				ofProvider: b.providerUsers(),
			}
		}
		u.endOf(r.Node)
	}
}

// providerUsers returns the nodes of the resources of each provider, by the node of the provider.
func (b *build) providerUsers() map[*Node][]*Node {
	users := map[*Node][]*Node{}
	for _, n := range b.g.Nodes {
		if n.Resource != nil && n.Resource.Provider != nil {
			users[n.Resource.Provider.Node] = append(users[n.Resource.Provider.Node], n)
		}
	}
	return users
}

// ephemeralUsers finds the nodes that may use the value of an ephemeral resource, directly or
// through other values.
type ephemeralUsers struct {
	*build
	dependents [][]dag.ID
	ofProvider map[*Node][]*Node
	done       map[*Node]*Node
}

// endOf returns a Barrier that waits for every node that may use the value of n. If n is an
// ephemeral resource, the Barrier closes it. The users of each value are searched for only once.
func (u *ephemeralUsers) endOf(n *Node) *Node {
	if found, ok := u.done[n]; ok {
		return found
	}
	end := u.node(KindBarrier, nil, n.Name+" (used)", nil)
	u.done[n] = end
	if r := n.Resource; r != nil && n == r.Node && r.Addr.Resource.Mode == addrs.Ephemeral {
		end.Kind, end.Name, end.Object = KindEphemeralEnd, r.Addr.String()+" (close)", r
		u.after(end, n)
		u.after(r.Provider.close, end)
	}
	dependents := slices.Clip(u.dependents[n.ID])
	if n.Split { // users in an instance of a split module call wait for the Part of that instance instead
		for _, part := range u.g.partsOf(n) {
			dependents = append(dependents, u.dependents[part.ID]...)
		}
	}
	for _, id := range dependents {
		user := u.g.Nodes[id]
		if user.Kind.isBarrier() && user.Resource == nil {
			continue
		}
		u.after(end, user)
		whole := user
		if user.Kind == KindPart {
			whole = user.Object.(*Node)
		}
		switch {
		case user.Kind == KindProvider:
			u.after(end, u.ofProvider[user]...) // any call of the provider may need the value
		case user.Kind == KindStep, whole.completes() && user.Resource.Addr.Resource.Mode != addrs.Ephemeral:
		default:
			u.after(end, u.endOf(user))
		}
	}
	return end
}
