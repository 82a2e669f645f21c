package engine

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// unknownChain returns the references through which the value of e became unknown. The first refers
// to the object that is itself unknown, and the last is the reference in e.
func (c *evalContext) unknownChain(e *lang.Expr) []plans.DeferralStep {
	var chain []plans.DeferralStep
	in := c.in
	for seen := map[*lang.Expr]bool{}; e != nil && !seen[e]; {
		seen[e] = true
		ref := c.firstUnknown(in, e)
		if ref == nil {
			break
		}
		rest, _ := addrs.StepsText(ref.Remaining)
		chain = append(chain, place(ref.Subject.String()+rest, ref.Range))
		e, in = nextExpr(in, ref)
	}
	slices.Reverse(chain)
	return chain
}

// unknownIn returns the chain for the first reference whose value is unknown.
func (c *evalContext) unknownIn(refs *lang.Refs) []plans.DeferralStep {
	return c.unknownChain(&lang.Expr{Refs: *refs})
}

// becauseOf returns a new paragraph for a message, which explains a chain of references.
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

func (c *evalContext) firstUnknown(in *moduleInstance, e *lang.Expr) *addrs.Reference {
	at := (&evalContext{ctx: c.ctx, e: c.e, in: in, rep: c.rep}).withoutDeprecations()
	for _, ref := range e.Refs.Objects {
		one := &lang.Expr{Expression: &traversalExpr{ref}}
		one.Refs.Add(lang.Refs{Objects: []*addrs.Reference{ref}})
		if v, err := at.eval(one, cty.DynamicPseudoType); err == nil && !v.IsWhollyKnown() {
			return ref
		}
	}
	return nil
}

// nextExpr returns the expression of a named value, or nil at the end of the chain.
func nextExpr(in *moduleInstance, ref *addrs.Reference) (*lang.Expr, *moduleInstance) {
	switch s := ref.Subject.(type) {
	case addrs.LocalValue:
		if v := in.module.Locals[s.Name]; v != nil {
			return v.Expr, in
		}
	case addrs.InputVariable:
		if v := in.module.Variables[s.Name]; v != nil && in.parent != nil {
			return v.Expr, in.parent
		}
	case addrs.ModuleCallOutput:
		if child := in.module.Calls[s.Call.Name]; child != nil && in.calls[child.CallSlot] != nil &&
			child.Outputs[s.Output] != nil {
			if of := in.calls[child.CallSlot].of; len(of) > 0 {
				return child.Outputs[s.Output].Expr, of[0]
			}
		}
	}
	return nil, nil
}

// traversalExpr is an expression that evaluates one reference.
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
