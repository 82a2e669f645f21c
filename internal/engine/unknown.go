package engine

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// unknownChain returns the references through which the value of e became unknown. The first refers
// to the object that is itself unknown, and the last is the reference in e.
func (c *evalContext) unknownChain(e *lang.Expr) []plans.DeferralStep {
	var chain []plans.DeferralStep
	at := c.withoutDeprecations()
	for seen := map[*lang.Expr]bool{}; e != nil && !seen[e]; {
		seen[e] = true
		ref := at.firstUnknown(e)
		if ref == nil {
			break
		}
		rest, _ := addrs.StepsText(ref.Remaining)
		chain = append(chain, place(ref.Subject.String()+rest, ref.Range))
		e, at = at.nextExpr(ref)
	}
	slices.Reverse(chain)
	return chain
}

// unknownIn returns the chain that explains the first reference whose value is unknown.
func (c *evalContext) unknownIn(refs *lang.Refs) []plans.DeferralStep {
	return c.unknownChain(&lang.Expr{Refs: *refs})
}

// becauseOf returns a paragraph for a message that explains a chain of references.
func becauseOf(chain []plans.DeferralStep) string {
	if len(chain) == 0 {
		return ""
	}
	var texts []string
	for _, step := range slices.Backward(chain) {
		texts = append(texts, step.What)
	}
	return "\n\nIt is unknown because of " + strings.Join(texts, ", which depends on ") + "."
}

// firstUnknown returns the first reference in e whose value is unknown, or nil if there is none.
func (c *evalContext) firstUnknown(e *lang.Expr) *addrs.Reference {
	for _, ref := range e.Refs.Objects {
		one := &lang.Expr{Expression: &traversalExpr{ref}, Refs: e.Refs.Only(ref)}
		if v, err := c.eval(one, cty.DynamicPseudoType); err == nil && !v.IsWhollyKnown() {
			return ref
		}
	}
	return nil
}

// nextExpr returns the expression of the named value that ref refers to, and the context in which
// that expression was evaluated. It returns nil if ref refers to anything else.
func (c *evalContext) nextExpr(ref *addrs.Reference) (*lang.Expr, *evalContext) {
	in, next := c.in, (*evalContext)(nil)
	var v *graph.Value
	switch s := ref.Subject.(type) {
	case addrs.LocalValue:
		v = in.module.Locals[s.Name]
	case addrs.InputVariable:
		v = in.module.Variables[s.Name]
		if v == nil || in.parent == nil {
			return nil, nil
		}
		next = c.e.argumentContext(c.ctx, v, in)
	case addrs.ModuleCallOutput:
		child := in.module.Calls[s.Call.Name]
		if child == nil || in.calls[child.CallSlot] == nil {
			return nil, nil
		}
		calls := in.calls[child.CallSlot]
		at, exists := calls.find(s.Call.Key)
		if !exists || calls.mode == repeatUnknown {
			return nil, nil
		}
		v, in = child.Outputs[s.Output], calls.of[at]
	}
	if v == nil {
		return nil, nil
	}
	if next == nil {
		next = c.e.contextOf(c.ctx, v, in)
	}
	next.reader = c.reader
	return v.Expr, next.withoutDeprecations()
}

// traversalExpr is an expression that consists of one reference.
type traversalExpr struct{ ref *addrs.Reference }

func (t *traversalExpr) traversal() hcl.Traversal {
	var tr hcl.Traversal
	head, err := addrs.ParseTraversalText(t.ref.Subject.String(), "reference")
	if err != nil {
		return nil
	}
	return append(append(tr, head...), t.ref.Remaining...)
}

func (t *traversalExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return t.traversal().TraverseAbs(ctx)
}

func (t *traversalExpr) Variables() []hcl.Traversal { return []hcl.Traversal{t.traversal()} }

func (t *traversalExpr) Range() hcl.Range { return t.ref.Range }

func (t *traversalExpr) StartRange() hcl.Range { return t.ref.Range }
