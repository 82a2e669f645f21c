package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/plans"
)

// unknownTrace finds out why values are unknown, by following references from one expression to the next.
type unknownTrace struct {
	*evalContext
	// callee is the module instance whose argument is being followed, or nil; see nextExpr.
	callee *moduleInstance
	// key is the instance of a resource whose arguments are being followed; see varyingRef.
	key addrs.InstanceKey
}

// unknownChain returns the references through which the value of e became unknown. The first refers
// to the object that is itself unknown, and the last is the reference in e.
func (c unknownTrace) unknownChain(e *lang.Expr) []plans.DeferralStep {
	var chain []plans.DeferralStep
	at := unknownTrace{evalContext: c.withoutDeprecations()}
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
func (c unknownTrace) unknownIn(refs *lang.Refs) []plans.DeferralStep {
	return c.unknownChain(&lang.Expr{Refs: *refs})
}

// varyingCall returns the function because of which e is unknown in every plan: timestamp, uuid or
// bcrypt, whose results are known only while applying. It returns "" if the next round may know
// more about e.
func (c unknownTrace) varyingCall(e *lang.Expr) string {
	return c.findVarying(e, map[exprIn]string{})
}

// exprIn is an expression in a module instance, or in an instance of a block there.
type exprIn struct {
	expr hcl.Expression
	in   *moduleInstance
	key  addrs.InstanceKey
}

// findVarying is varyingCall with the results so far. It returns "" if an unknown reference in e
// leads to anything but such functions, unless a part of e that decides alone leads only to them.
func (c unknownTrace) findVarying(e *lang.Expr, done map[exprIn]string) string {
	at := exprIn{e.Expression, c.in, c.key}
	name, seen := done[at]
	if seen {
		return name
	}
	parts, whole := c.deciding(e.Expression)
	for _, part := range parts {
		name = cmp.Or(name, c.findVarying(part, done))
	}
	if name == "" && !whole {
		name = c.varyingRefs(e, done)
	}
	done[at] = name
	return name
}

// varyingRefs is findVarying for an expression that is unknown if any of its references is.
func (c unknownTrace) varyingRefs(e *lang.Expr, done map[exprIn]string) string {
	if len(e.Refs.Functions) > 0 {
		return "" // the provider may be deferred
	}
	name := funcs.VaryingCall(e.Expression)
	for _, ref := range e.Refs.Objects {
		if !c.isUnknown(e, ref) {
			continue
		}
		more := c.varyingRef(ref, done)
		if more == "" {
			return ""
		}
		name = cmp.Or(name, more)
	}
	return name
}

// varyingRef is findVarying for an unknown reference.
func (c unknownTrace) varyingRef(ref *addrs.Reference, done map[exprIn]string) string {
	if next, in := c.nextExpr(ref); next != nil {
		return in.findVarying(next, done)
	}
	r := c.in.module.ResourceOf(ref.Subject)
	if r == nil || r.Config == nil || r.Schema == nil || r.Exprs.Body == nil {
		return ""
	}
	x := c.e.expansionOf(r, c.in)
	if x == nil {
		return ""
	}
	only := c.in.module.Named(ref.Subject).Key
	name := ""
	for i, key := range x.keys {
		if only != addrs.NoKey && key != only {
			continue
		}
		in := c.e.newContext(c.ctx, c.in, x.repetition(i))
		in.reader = c.reader
		trace := unknownTrace{evalContext: in.withoutDeprecations(), key: key}
		v := varyingObject{trace, r, r.Addr.Resource.InInstance(c.in.addr).Instance(key), done}
		found := v.find(addrs.FirstName(ref.Remaining))
		if found == "" {
			return ""
		}
		name = cmp.Or(name, found)
	}
	return name
}

// varyingObject finds out whether an unknown attribute of an instance is unknown in every plan,
// because the arguments of the instance are.
type varyingObject struct {
	c    unknownTrace
	r    *reads.Resource
	addr addrs.AbsInstance
	done map[exprIn]string
}

// find returns a function because of which the attribute is unknown in every plan, or "". An argument
// is what the configuration says. Anything else is unknown again in the next plan if only arguments
// that are unknown in every plan change the object, as is any result of a data source.
func (v varyingObject) find(attribute string) string {
	content := &hcl.BodySchema{}
	for name, attr := range v.r.Schema.Block.Attributes {
		if !attr.WriteOnly && !v.ignored(name) {
			content.Attributes = append(content.Attributes, hcl.AttributeSchema{Name: name})
		}
	}
	args, _, _ := v.r.Config.Config.PartialContent(content)
	if args == nil {
		return ""
	}
	if arg := args.Attributes[attribute]; arg != nil {
		return v.argument(arg.Expr)
	}
	if v.addr.Resource.Mode != addrs.Data && v.changesOtherwise() {
		return ""
	}
	for _, ref := range v.r.Exprs.Body.Refs.Objects {
		all := &lang.Expr{Refs: v.r.Exprs.Body.Refs}
		if v.c.isUnknown(all, ref) && v.c.varyingRef(ref, v.done) == "" {
			return ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args.Attributes)) {
		if found := v.argument(args.Attributes[name].Expr); found != "" {
			return found
		}
	}
	return v.inBlocks()
}

// changesOtherwise reports whether the object is changed for another reason than unknown arguments, so
// that the next plan may not change it: because it doesn't exist, is replaced on demand, or has other
// changed values.
func (v varyingObject) changesOtherwise() bool {
	change := v.c.e.out.change(v.addr)
	if change == nil || change.Action != plans.Update && change.Reason != plans.ReplaceCannotUpdate {
		return true
	}
	before, after := unmark(change.Before), unmark(change.After)
	for name := range after.Type().AttributeTypes() {
		if is := after.GetAttr(name); is.IsWhollyKnown() && !is.RawEquals(before.GetAttr(name)) {
			return true
		}
	}
	return false
}

// argument returns a function because of which an argument is unknown in every plan, or "".
func (v varyingObject) argument(expr hcl.Expression) string {
	e := lang.Analyze(expr, addrs.ModuleScope)
	if value, err := v.c.eval(e, cty.DynamicPseudoType); err != nil || value.IsWhollyKnown() {
		return ""
	}
	return v.c.findVarying(e, v.done)
}

// inBlocks returns a function that is called in the blocks of the resource, or "".
func (v varyingObject) inBlocks() (name string) {
	body, native := lazyblock.Native(v.r.Config.Config)
	if !native {
		return ""
	}
	for _, block := range body.Blocks {
		blockType := block.Type
		if blockType == "dynamic" && len(block.Labels) > 0 {
			blockType = block.Labels[0]
		}
		if v.r.Schema.Block.BlockTypes[blockType] != nil && !v.ignored(blockType) {
			name = cmp.Or(name, funcs.VaryingCallInNode(block.Body))
		}
	}
	return name
}

// ignored reports whether changes of an argument or block may be ignored once the object exists.
func (v varyingObject) ignored(name string) bool {
	l := v.r.Config.Lifecycle
	return l.IgnoreAll || slices.ContainsFunc(l.IgnoreChanges,
		func(tr hcl.Traversal) bool { return len(tr) > 0 && addrs.StepName(tr[0]) == name })
}

// deciding returns unknown parts of an expression, each of which makes it unknown whatever the other
// parts are. whole reports whether nothing else in the expression matters.
func (c unknownTrace) deciding(expr hcl.Expression) (parts []*lang.Expr, whole bool) {
	var from []hclsyntax.Expression
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		from, whole = []hclsyntax.Expression{x.Expression}, true
	case *hclsyntax.ConditionalExpr:
		condition, err := c.eval(lang.Analyze(x.Condition, addrs.ModuleScope), cty.Bool)
		condition, _ = condition.Unmark()
		if err != nil || !condition.IsKnown() || condition.IsNull() {
			return nil, false
		}
		from, whole = []hclsyntax.Expression{x.FalseResult}, true
		if condition.True() {
			from[0] = x.TrueResult
		}
	case *hclsyntax.BinaryOpExpr:
		if x.Op.Type == cty.Number {
			from = []hclsyntax.Expression{x.LHS, x.RHS}
		}
	}
	for _, part := range from {
		e := lang.Analyze(part, addrs.ModuleScope)
		if v, err := c.eval(e, cty.DynamicPseudoType); err == nil && !v.IsWhollyKnown() {
			parts = append(parts, e)
		}
	}
	return parts, whole
}

// alwaysUnknown returns the detail of an error about an argument that is unknown in every plan
// because of a function.
func alwaysUnknown(function string) string {
	return fmt.Sprintf("The value depends on the function %q, which has another value each time. So the value is "+
		"unknown in every plan, and nothing that is applied first would change that. Use a value that stays the "+
		"same, such as that of a variable or of a resource's attribute.", function)
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
func (c unknownTrace) firstUnknown(e *lang.Expr) *addrs.Reference {
	for _, ref := range e.Refs.Objects {
		if c.isUnknown(e, ref) {
			return ref
		}
	}
	return nil
}

// isUnknown reports whether the value of a reference in e is not wholly known.
func (c unknownTrace) isUnknown(e *lang.Expr, ref *addrs.Reference) bool {
	one := &lang.Expr{Expression: &traversalExpr{ref}, Refs: e.Refs.Only(ref)}
	v, err := c.eval(one, cty.DynamicPseudoType)
	return err == nil && !v.IsWhollyKnown()
}

// nextExpr returns the expression of the named value that ref refers to, or the part of it that ref
// selects, and the context in which that expression was evaluated. It returns nil if ref refers to
// anything else.
func (c unknownTrace) nextExpr(ref *addrs.Reference) (*lang.Expr, unknownTrace) {
	in := c.in
	of := in.module.Named(ref.Subject)
	var next *evalContext
	var callee *moduleInstance
	switch v := of.Value; {
	case v == nil && c.callee != nil && ref.Subject == addrs.ForEachAttr{Name: "value"}:
		_, last := c.callee.addr.Parent()
		each := append(hcl.Traversal{hcl.TraverseIndex{Key: last.Key.Value()}}, ref.Remaining...)
		return partOf(c.callee.module.Repetition.ForEach, each), unknownTrace{evalContext: c.withoutDeprecations()}
	case v == nil, v.Kind == reads.Variable && in.parent == nil:
		return nil, unknownTrace{}
	case v.Kind == reads.Variable:
		next = c.e.argumentContext(c.ctx, v, in)
		callee = in
	case of.Call != nil:
		calls := in.calls[of.Call.CallSlot]
		if calls == nil || calls.mode == repeatUnknown {
			return nil, unknownTrace{}
		}
		at, exists := calls.find(of.Key)
		if !exists {
			return nil, unknownTrace{}
		}
		next = c.e.contextOf(c.ctx, v, calls.of[at])
	default:
		next = c.e.contextOf(c.ctx, v, in)
	}
	next.reader = c.reader
	return partOf(of.Value.Expr, ref.Remaining), unknownTrace{evalContext: next.withoutDeprecations(), callee: callee}
}

// partOf returns the part of e that steps select, as far as it can be told from constructors of
// objects and tuples.
func partOf(e *lang.Expr, steps hcl.Traversal) *lang.Expr {
	if e == nil {
		return nil
	}
	if part, _ := selectPart(e.Expression, steps); part != e.Expression {
		return lang.Analyze(part, addrs.ModuleScope)
	}
	return e
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
