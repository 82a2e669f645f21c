package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// instances is the outcome of count, for_each or enabled.
type instances struct {
	mode repetitionMode
	keys []addrs.InstanceKey
	each []cty.Value // parallel to keys, for_each only
}

// repetition gives count and each for the instance at a position.
func (x *instances) repetition(i int) repetition {
	switch x.mode {
	case repeatCount:
		return repetition{countIndex: x.keys[i].Value()}
	case repeatForEach:
		return repetition{eachKey: x.keys[i].Value(), eachValue: x.each[i]}
	}
	return repetition{}
}

var singleInstance = &instances{mode: repeatSingle, keys: []addrs.InstanceKey{addrs.NoKey}}

// unknownInstance stands for all instances while there are no values yet.
func unknownRepetition(rep repetitionExprs) repetition {
	out := repetition{}
	if rep.count != nil {
		out.countIndex = cty.UnknownVal(cty.Number).RefineNotNull()
	}
	if rep.forEach != nil {
		out.eachKey, out.eachValue = cty.UnknownVal(cty.String).RefineNotNull(), cty.DynamicVal
	}
	return out
}

// expand decides the instances of a block. what names the block in messages.
func (c *EvalContext) expand(rep repetitionExprs, what string) (*instances, tfdiags.Diagnostics) {
	switch {
	case rep.count != nil:
		return c.expandCount(rep.count, what)
	case rep.forEach != nil:
		return c.expandForEach(rep.forEach, what)
	case rep.enabled != nil:
		return c.expandEnabled(rep.enabled, what)
	}
	return singleInstance, nil
}

func (c *EvalContext) expandCount(e *lang.Expr, what string) (*instances, tfdiags.Diagnostics) {
	out := &instances{mode: repeatCount}
	v, diags := c.eval(e, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return out, diags
	}
	fail := func(format string, args ...any) (*instances, tfdiags.Diagnostics) {
		return out, diags.Append(c.argError("Invalid count argument", fmt.Sprintf(format, args...), e, v))
	}
	if marks.Has(v, marks.Ephemeral) {
		return fail(ephemeralArgument, "count")
	}
	v, _ = v.Unmark()
	if v.IsNull() {
		return fail("The given \"count\" is null. A whole number of 0 or more is required.")
	}
	n, err := convert.Convert(v, cty.Number)
	if err != nil {
		return fail("The given \"count\" is unsuitable: %s.", err)
	}
	if !n.IsKnown() {
		if c.walk.phase.unknownInputs {
			out.mode = repeatUnknown
			return out, diags
		}
		return fail("The \"count\" value depends on something that is known only after apply, so it can't be planned how many instances there will be. Apply what the count depends on first (with -target), or leave this out for now: -exclude=%s.%s", what, c.unknownBecause(e))
	}
	f := n.AsBigFloat()
	if i, acc := f.Int64(); acc != 0 {
		return fail("The given \"count\" is %s; it must be a whole number.", f.Text('f', -1))
	} else if i < 0 {
		return fail("The given \"count\" is %d; it must be 0 or more.", i)
	} else if i > maxCount {
		return fail("The given \"count\" is %d; more than %d instances are not supported.", i, maxCount)
	} else {
		out.keys = make([]addrs.InstanceKey, i)
		for k := range out.keys {
			out.keys[k] = addrs.IntKey(k)
		}
	}
	return out, diags
}

const maxCount = 10_000_000

func (c *EvalContext) expandForEach(e *lang.Expr, what string) (*instances, tfdiags.Diagnostics) {
	out := &instances{mode: repeatForEach}
	v, diags := c.eval(e, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return out, diags
	}
	keys, each, unknown, problem := forEachElements(v, false)
	if unknown && c.walk.phase.unknownInputs {
		out.mode = repeatUnknown
		return out, diags
	}
	if unknown {
		problem = fmt.Sprintf("The \"for_each\" value has keys or elements that are known only after apply, so it can't be planned which instances there will be. Use keys that are known now, apply what they depend on first (with -target), or leave this out for now: -exclude=%s.%s", what, c.unknownBecause(e))
	}
	if problem != "" {
		return out, diags.Append(c.argError("Invalid for_each argument", problem, e, v))
	}
	for i, k := range keys {
		out.keys = append(out.keys, addrs.StringKey(k))
		out.each = append(out.each, each[i])
	}
	return out, diags
}

// ephemeralArgument is said of every meta-argument that decides which instances there are.
const ephemeralArgument = "The %q value is ephemeral, so it could be another one in the apply than in the plan."

// forEachElements gives the keys and values of a for_each argument. Import blocks may also use a list or tuple.
func forEachElements(v cty.Value, lists bool) (keys []string, each []cty.Value, unknown bool, problem string) {
	if marks.Has(v, marks.Ephemeral) {
		return nil, nil, false, fmt.Sprintf(ephemeralArgument, "for_each")
	}
	if marks.Has(v, marks.Sensitive) {
		return nil, nil, false, "The \"for_each\" value is sensitive, and its keys would be shown as parts of addresses. Use a map whose values alone are sensitive, or nonsensitive() where the keys are no secret."
	}
	v, _ = v.Unmark()
	ty := v.Type()
	isList := lists && (ty.IsListType() || ty.IsTupleType())
	switch {
	case ty == cty.DynamicPseudoType && !v.IsKnown():
		return nil, nil, true, ""
	case v.IsNull():
		return nil, nil, false, "The given \"for_each\" is null. A map, or a set of strings, is required."
	case ty.IsListType() || ty.IsTupleType():
		if !isList {
			return nil, nil, false, fmt.Sprintf("The given \"for_each\" is %s. A map or a set of strings is required; toset(…) makes a set of a list.", ty.FriendlyName())
		}
	case !ty.IsMapType() && !ty.IsObjectType() && !ty.IsSetType():
		return nil, nil, false, fmt.Sprintf("The given \"for_each\" is %s. A map, or a set of strings, is required.", withArticle(ty.FriendlyName()))
	}
	if !v.IsKnown() {
		return nil, nil, true, ""
	}
	if ty.IsSetType() {
		return setElements(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		k, elem := it.Element()
		k, _ = k.Unmark()
		if isList {
			keys = append(keys, k.AsBigFloat().Text('f', -1))
		} else {
			keys = append(keys, k.AsString())
		}
		each = append(each, elem)
	}
	return keys, each, false, ""
}

func setElements(v cty.Value) (keys []string, each []cty.Value, unknown bool, problem string) {
	ety := v.Type().ElementType()
	if v.LengthInt() == 0 {
		return nil, nil, false, ""
	}
	if !v.IsWhollyKnown() {
		return nil, nil, true, ""
	}
	if ety != cty.String {
		return nil, nil, false, fmt.Sprintf("The given \"for_each\" is a set of %s. Only sets of strings can be used, since the elements become keys.", ety.FriendlyName())
	}
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if elem.IsNull() {
			return nil, nil, false, "The given \"for_each\" set contains null. Its elements become keys, so none of them may be null."
		}
		keys, each = append(keys, elem.AsString()), append(each, elem)
	}
	return keys, each, false, ""
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

func (c *EvalContext) expandEnabled(e *lang.Expr, what string) (*instances, tfdiags.Diagnostics) {
	v, diags := c.eval(e, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return singleInstance, diags
	}
	fail := func(detail string) (*instances, tfdiags.Diagnostics) {
		return singleInstance, diags.Append(c.argError("Invalid enabled argument", detail, e, v))
	}
	switch {
	case marks.Has(v, marks.Sensitive):
		return fail("The given \"enabled\" is derived from a sensitive value, which would be disclosed by whether the object exists.")
	case marks.Has(v, marks.Ephemeral):
		return fail(fmt.Sprintf(ephemeralArgument, "enabled"))
	}
	v, _ = v.Unmark()
	b, err := convert.Convert(v, cty.Bool)
	switch {
	case err != nil:
		return fail(fmt.Sprintf("The given \"enabled\" is unsuitable: %s.", err))
	case b.IsNull():
		return fail("The given \"enabled\" is null. A value of true or false is required.")
	case !b.IsKnown() && c.walk.phase.unknownInputs:
		return &instances{mode: repeatUnknown}, diags
	case !b.IsKnown():
		return fail(fmt.Sprintf("The \"enabled\" value depends on something that is known only after apply, so it can't be planned whether the object will exist. Leave it out for now with -exclude=%s.%s", what, c.unknownBecause(e)))
	case b.True():
		return singleInstance, diags
	}
	return &instances{mode: repeatDisabled}, diags
}

// argError is a problem with the value of an argument, with the values that took part.
func (c *EvalContext) argError(summary, detail string, e *lang.Expr, v cty.Value) tfdiags.Diagnostic {
	ctx, _ := c.scope().Context(e.Refs)
	rng := e.Range()
	d := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Subject: &rng, Expression: e.Expression, EvalContext: ctx}
	switch {
	case v != cty.NilVal && marks.Has(v, marks.Sensitive):
		d.Extra = tfdiags.CausedBySensitive{}
	case v != cty.NilVal && !v.IsWhollyKnown():
		d.Extra = tfdiags.CausedByUnknown{}
	}
	return d
}

// unknownBecause says through which chain of references a value became unknown.
func (c *EvalContext) unknownBecause(e *lang.Expr) string {
	var chain []string
	in := c.in
	for seen := map[*lang.Expr]bool{}; e != nil && !seen[e]; {
		seen[e] = true
		ref := c.firstUnknown(in, e)
		if ref == nil {
			break
		}
		chain = append(chain, refText(ref))
		e, in = nextExpr(in, ref)
	}
	if len(chain) == 0 {
		return ""
	}
	return "\n\nIt is unknown because of " + strings.Join(chain, ", which depends on ") + "."
}

func (c *EvalContext) firstUnknown(in *moduleInstance, e *lang.Expr) *addrs.Reference {
	at := &EvalContext{walk: c.walk, in: in, rep: c.rep}
	for _, ref := range e.Refs.Objects {
		one := &lang.Expr{Expression: &traversalExpr{ref}, Refs: lang.Refs{Objects: []*addrs.Reference{ref}}}
		if v, diags := at.eval(one, cty.DynamicPseudoType); !diags.HasErrors() && !v.IsWhollyKnown() {
			return ref
		}
	}
	return nil
}

func refText(ref *addrs.Reference) string {
	return ref.Subject.String() + strings.TrimSpace(traversalText(ref.Remaining))
}

func traversalText(tr hcl.Traversal) string {
	var b strings.Builder
	for _, step := range tr {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			if k, err := addrs.KeyFromValue(step.Key); err == nil {
				b.WriteString(k.String())
			}
		}
	}
	return b.String()
}

// nextExpr gives the expression behind a named value; nil where the chain ends.
func nextExpr(in *moduleInstance, ref *addrs.Reference) (*lang.Expr, *moduleInstance) {
	switch s := ref.Subject.(type) {
	case addrs.LocalValue:
		if v := in.module.locals[s.Name]; v != nil {
			return v.expr, in
		}
	case addrs.InputVariable:
		if v := in.module.variables[s.Name]; v != nil && in.parent != nil {
			return v.expr, in.parent
		}
	case addrs.ModuleCallOutput:
		if child := in.module.calls[s.Call.Name]; child != nil && in.calls[child.callSlot] != nil && child.outputs[s.Output] != nil {
			if of := in.calls[child.callSlot].of; len(of) > 0 {
				return child.outputs[s.Output].expr, of[0]
			}
		}
	}
	return nil, nil
}

// traversalExpr evaluates a reference by itself.
type traversalExpr struct{ ref *addrs.Reference }

func (t *traversalExpr) traversal() hcl.Traversal {
	var tr hcl.Traversal
	head, diags := addrs.ParseTraversalText(t.ref.Subject.String(), "reference")
	if diags.HasErrors() {
		return nil
	}
	return append(append(tr, head...), t.ref.Remaining...)
}

func (t *traversalExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	return t.traversal().TraverseAbs(ctx)
}
func (t *traversalExpr) Variables() []hcl.Traversal { return []hcl.Traversal{t.traversal()} }
func (t *traversalExpr) Range() hcl.Range           { return t.ref.Range }
func (t *traversalExpr) StartRange() hcl.Range      { return t.ref.Range }

// expandModule decides the instances of a module call in every instance of the calling module.
func (w *walk) expandModule(m *module) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	m.index = map[addrs.ModuleInstance]*moduleInstance{}
	for _, parent := range m.parent.instances {
		c := w.context(parent, repetition{})
		x, more := c.expand(m.rep, m.path.String())
		diags = diags.Append(more)
		if more.HasErrors() {
			continue
		}
		ci := &callInstances{mode: x.mode, keys: x.keys}
		if w.phase.unknownInputs && (m.rep.repeats() || x.mode == repeatUnknown) {
			ci.mode = repeatUnknown
			w.addInstance(m, parent, ci, addrs.UnknownKey, unknownRepetition(m.rep))
		} else {
			for i, key := range x.keys {
				w.addInstance(m, parent, ci, key, x.repetition(i))
			}
		}
		parent.calls[m.callSlot] = ci
	}
	return diags
}

func (w *walk) addInstance(m *module, parent *moduleInstance, ci *callInstances, key addrs.InstanceKey, rep repetition) {
	inst := newModuleInstance(m, parent.addr.Child(m.call.Name, key))
	inst.parent, inst.rep = parent, rep
	m.instances = append(m.instances, inst)
	m.index[inst.addr] = inst
	ci.of = append(ci.of, inst)
}

func newModuleInstance(m *module, addr addrs.ModuleInstance) *moduleInstance {
	return &moduleInstance{
		addr: addr, module: m, values: make([]cty.Value, m.valueSlots), resources: make([]*expansion, m.resourceSlots),
		calls: make([]*callInstances, len(m.calls)),
	}
}

// expandRoot makes the root module's only instance.
func (w *walk) expandRoot() {
	inst := newModuleInstance(w.root, addrs.RootInstance)
	w.root.instances = []*moduleInstance{inst}
	w.root.index = map[addrs.ModuleInstance]*moduleInstance{addrs.RootInstance: inst}
}

// expandResource decides a resource's instances in one module instance.
func (w *walk) expandResource(r *resource, in *moduleInstance) (*expansion, tfdiags.Diagnostics) {
	c := w.context(in, repetition{})
	x, diags := c.expand(r.exprs.rep, r.addr.Resource.InInstance(in.addr).String())
	if diags.HasErrors() {
		return nil, diags
	}
	out := &expansion{mode: x.mode, keys: x.keys, each: x.each, objs: make([]cty.Value, len(x.keys))}
	if r.exprs.rep.repeats() {
		out.known = make(map[addrs.InstanceKey]int, len(x.keys))
		for i, k := range x.keys {
			out.known[k] = i
		}
	} else if x.mode == repeatSingle {
		out.known = singleKnown
	}
	return out, diags
}

var singleKnown = map[addrs.InstanceKey]int{addrs.NoKey: 0}

// rep gives count and each of the instance at a position.
func (x *expansion) rep(i int) repetition {
	return (&instances{mode: x.mode, keys: x.keys, each: x.each}).repetition(i)
}

// dropAbsent leaves out instances that have no object, where there may be none: what doesn't exist and isn't planned is not going to.
func (x *expansion) dropAbsent(rep repetitionExprs) {
	if !rep.repeats() {
		if rep.enabled != nil && len(x.objs) == 1 && x.objs[0] == cty.NilVal {
			x.mode = repeatDisabled
		}
		return
	}
	keys, objs := x.keys, x.objs
	x.keys, x.objs = nil, nil
	for i, v := range objs {
		if v != cty.NilVal {
			x.keys, x.objs = append(x.keys, keys[i]), append(x.objs, v)
		}
	}
}

// finish builds the whole resource's value out of its instances' objects. ty is the type's implied type.
func (x *expansion) finish(ty cty.Type) {
	switch x.mode {
	case repeatUnknown:
		x.value = cty.DynamicVal
	case repeatDisabled:
		x.value = cty.NullVal(ty)
	case repeatCount:
		objs := slices.Clone(x.objs)
		for i, v := range objs {
			if v == cty.NilVal {
				objs[i] = cty.UnknownVal(ty)
			}
		}
		x.value = cty.TupleVal(objs)
	case repeatForEach:
		byKey := make(map[string]cty.Value, len(x.objs))
		for i, key := range x.keys {
			s, _ := key.IsString()
			byKey[s] = x.objs[i]
			if x.objs[i] == cty.NilVal {
				byKey[s] = cty.UnknownVal(ty)
			}
		}
		x.value = cty.ObjectVal(byKey)
	default:
		x.value = x.objs[0]
		if x.value == cty.NilVal {
			x.value = cty.DynamicVal
		}
	}
}
