package footprint

import (
	"tofu/internal/checks"
	"tofu/internal/graphview"
)

// passes lists the kinds of nodes whose value changes if a value that they refer to changes.
// Managed resources are not among them, because the plan contains the changes of their objects.
var passes = map[graphview.Kind]bool{graphview.Variable: true, graphview.Local: true, graphview.Output: true,
	graphview.Call: true, graphview.Whole: true, graphview.Data: true, graphview.Provider: true}

// conditions visits the nodes that relevant conditions have read. A condition is relevant if its result
// changes or, except in check blocks, if it depends on a change, directly or through other values.
func (f *finder) conditions() {
	users := f.graph.Users()
	var stack []int
	seen := make([]bool, len(f.graph.Nodes))
	push := func(node int) {
		if !seen[node] {
			seen[node] = true
			stack = append(stack, node)
		}
	}
	for addr := range f.writes {
		if node, ok := f.nodes[addr.Config().String()]; ok {
			push(node)
		}
	}
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range users[node] {
			edge := &f.graph.Edges[e]
			user := &f.graph.Nodes[edge.From]
			if user.Kind == graphview.Check {
				continue
			}
			if edge.Rule || passes[user.Kind] {
				f.visitConditions(edge.From)
			}
			if passes[user.Kind] {
				push(edge.From)
			}
		}
	}
	for _, block := range f.plan.Checks.Sorted() {
		if node, ok := f.nodes[block.Config]; ok && f.resultChanges(block) {
			f.visitConditions(node)
		}
	}
}

// visitConditions visits everything that the conditions of a node refer to.
func (f *finder) visitConditions(node int) {
	n := &f.graph.Nodes[node]
	if !n.Conditions || f.checked[node] {
		return
	}
	f.checked[node] = true
	if n.Kind == graphview.Variable || n.Kind == graphview.Data {
		f.visitWhole(node) // conditions refer to the node's own value, and so to everything from which it is computed
		return
	}
	for _, e := range f.needs[node] {
		if f.graph.Edges[e].Rule {
			f.visitWhole(f.graph.Edges[e].To)
		}
	}
}

// resultChanges reports whether the status of a block in the plan differs from that in the state.
// It returns false if the block has no status because targets exclude it from the plan.
func (f *finder) resultChanges(block *checks.Block) bool {
	if block.Status == checks.Unknown && len(block.Objects) == 0 {
		return false
	}
	before := f.read.Checks.Block(block.Kind, block.Config)
	return before == nil || before.Status != block.Status
}
