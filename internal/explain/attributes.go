package explain

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/configschema"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/lang/lazyblock"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/valuediff"
)

// arguments explains how the meta-arguments of a block cause a change: count, for_each or enabled
// no longer includes the instance, or replace_triggered_by forces a replacement.
func (e *explainer) arguments(r *reads.Resource, c *plans.InstanceChange) []*Attribute {
	if r == nil || r.Exprs == nil {
		return nil
	}
	var out []*Attribute
	add := func(name string, exprs ...*lang.Expr) {
		for _, expr := range exprs {
			if expr == nil {
				continue
			}
			at := expr.Range()
			t := e.tracer()
			a := &Attribute{Name: name, Place: placeOf(&at),
				Sources: t.expr(expr, r.Scope(c.Addr.Module, c.Addr.Key, e.Keys, nil))}
			a.causedHere()
			out = append(out, a)
		}
	}
	rep := r.Exprs.Repetition
	switch {
	case c.Reason == plans.DeleteCountIndex:
		add("count", rep.Count)
	case c.Reason == plans.DeleteEachKey:
		add("for_each", rep.ForEach)
	case c.Reason == plans.DeleteEnabledFalse:
		add("enabled", rep.Enabled)
	case triggered(c):
		add("lifecycle.replace_triggered_by", r.Exprs.Triggers...)
	}
	return out
}

// attributes explains the attributes and blocks that change. Those that force a replacement come
// first.
func (e *explainer) attributes(r *reads.Resource, c *plans.InstanceChange) []*Attribute {
	sch := e.View.Schema(c.Provider.Config.Provider, c.Addr.Resource)
	if sch == nil || c.After.IsNull() || c.Action == plans.NoOp || c.Action == plans.Forget {
		return nil
	}
	shown := func(v cty.Value) cty.Value { return e.shown(v, c) }
	before, after := shown(c.Before), shown(c.After)
	places := map[string][]hcl.Range{}
	if r != nil && r.Config != nil {
		places = configs.Places(r.Config.Config, sch.Block)
	}
	forces := map[string]bool{}
	for _, path := range c.RequiredReplace {
		if step, ok := first(path); ok {
			forces[step] = true
		}
	}
	var out []*Attribute
	for _, name := range members(sch.Block) {
		was, is := member(before, name), member(after, name)
		same := sameValue(was, is)
		if before.IsNull() && len(places[name]) == 0 && wholly(is) || same && !markedAnew(was, is) {
			continue
		}
		a := &Attribute{Name: name, Forces: forces[name], Unknown: !wholly(is)}
		if !before.IsNull() {
			a.Before = valueText(was)
		}
		a.After = valueText(is)
		a.Parts = changedParts(was, is)
		if same {
			a.Cause = markedAnewText
		} else {
			e.setCause(a, r, c, sch, places[name])
		}
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(x, y *Attribute) int { return weight(x) - weight(y) })
	return out
}

// shown returns a value from a change, with marks on all parts that must not be shown.
func (e *explainer) shown(v cty.Value, c *plans.InstanceChange) cty.Value {
	provider := c.Provider.Config.Provider
	return planview.MarkShown(v, e.View.Schema(provider, c.Addr.Resource), provider, c.Addr.Resource)
}

// weight returns the rank of an attribute for sorting: first attributes that force a replacement,
// then attributes that the configuration sets, then attributes that the provider decides.
func weight(a *Attribute) int {
	switch {
	case a.Forces:
		return 0
	case a.Place != nil:
		return 1
	}
	return 2
}

func first(path cty.Path) (string, bool) {
	if len(path) == 0 {
		return "", false
	}
	step, ok := path[0].(cty.GetAttrStep)
	return step.Name, ok
}

// members returns the names of the attributes and blocks of a schema.
func members(b *configschema.Block) []string {
	names := slices.Collect(maps.Keys(b.Attributes))
	names = slices.AppendSeq(names, maps.Keys(b.BlockTypes))
	slices.Sort(names)
	return names
}

// member returns a part of an object. It returns null if the object is null or unknown.
func member(v cty.Value, name string) cty.Value {
	bare, _ := v.Unmark()
	if bare.IsNull() || !bare.IsKnown() {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return bare.GetAttr(name)
}

func wholly(v cty.Value) bool {
	v, _ = v.UnmarkDeep()
	return v.IsWhollyKnown()
}

func sameValue(x, y cty.Value) bool {
	return valuediff.SameValue(x, y) || x.IsNull() && y.IsNull()
}

// markedAnew reports whether other parts of a value become sensitive. An attribute that is null has
// no such parts.
func markedAnew(was, is cty.Value) bool {
	return valuediff.AbsentIfNull(was) != cty.NilVal && valuediff.Key(was) != valuediff.Key(is)
}

const markedAnewText = "the value stays the same; only what is sensitive changes"

// setCause determines where the new value of an attribute comes from.
func (e *explainer) setCause(
	a *Attribute, r *reads.Resource, c *plans.InstanceChange, sch *providers.ResourceSchema, places []hcl.Range,
) {
	if drift := e.drift[c.Addr]; drift != nil && drift.Action != plans.Delete {
		was, is := member(e.shown(drift.Before, c), a.Name), member(e.shown(drift.After, c), a.Name)
		if !sameValue(was, is) {
			a.Cause = "changed outside: the last apply left " + inlineText(was)
		}
	}
	if len(places) == 0 || r.Exprs == nil || r.Exprs.Body == nil {
		attr := sch.Block.Attributes[a.Name]
		switch {
		case a.Cause != "":
		case attr != nil && attr.Computed:
			a.Cause = "the provider decides it"
		default:
			a.Cause = "the configuration doesn't set it"
		}
		return
	}
	a.Place = placeOf(&places[0])
	t := e.tracer()
	steady, in := steadyParts(r.Config.Config, a), r.Scope(c.Addr.Module, c.Addr.Key, e.Keys, c.Reads)
	for _, ref := range r.Exprs.Body.Refs.Objects {
		inside := func(at hcl.Range) bool { return within(ref.Range, at) }
		if slices.ContainsFunc(places, inside) && !slices.ContainsFunc(steady, inside) {
			a.Sources = t.append(a.Sources, t.ref(&r.Exprs.Body.Refs, ref, in))
		}
	}
	a.Sources = append(a.Sources, volatile(r.Config.Config, places...)...)
	if !c.Before.IsNull() {
		a.causedHere()
	}
}

// changedParts returns the names of the members of an object that change. It returns nil if all
// members change, or if one of the values is not a known object.
func changedParts(was, is cty.Value) []string {
	was, is = valuediff.Unmarked(was), valuediff.Unmarked(is)
	for _, v := range []cty.Value{was, is} {
		if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
			return nil
		}
	}
	before, after := maps.Collect(valuediff.Members(was)), maps.Collect(valuediff.Members(is))
	var out []string
	same := 0
	for name, v := range after {
		if old, had := before[name]; had && sameValue(old, v) {
			same++
		} else {
			out = append(out, name)
		}
	}
	for name := range before {
		if _, has := after[name]; !has {
			out = append(out, name)
		}
	}
	if same == 0 {
		return nil
	}
	slices.Sort(out)
	return out
}

// steadyParts returns the ranges of the values of unchanged members in an attribute such as { name
// = value }. References in these ranges did not cause the change.
func steadyParts(body hcl.Body, a *Attribute) []hcl.Range {
	native, ok := lazyblock.Native(body)
	if !ok || a.Parts == nil || native.Attributes[a.Name] == nil {
		return nil
	}
	object, ok := native.Attributes[a.Name].Expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return nil
	}
	var out []hcl.Range
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(nil)
		known := !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() && !key.IsMarked()
		if known && !slices.Contains(a.Parts, key.AsString()) {
			out = append(out, item.ValueExpr.Range())
		}
	}
	return out
}

// causedHere sets the cause of an attribute to the configuration itself if nothing that the
// attribute refers to caused the change.
func (a *Attribute) causedHere() {
	switch {
	case a.Cause != "":
	case len(a.Sources) == 0:
		a.Cause = "the configuration has this value"
	case !has(a.Sources, Changed) && !has(a.Sources, Possible):
		a.Cause = "nothing that it refers to changes, so the configuration has changed here"
	}
}

func within(inner, outer hcl.Range) bool {
	return inner.Filename == outer.Filename && inner.Start.Byte >= outer.Start.Byte && inner.End.Byte <= outer.End.Byte
}

// volatileFunctions holds the functions that return a different result in each run, or whose result
// is unknown before the apply.
var volatileFunctions = map[string]string{
	"timestamp":     "is known only during the apply, and differs in each run",
	"uuid":          "is known only during the apply, and differs in each run",
	"bcrypt":        "is known only during the apply, and differs in each run",
	"plantimestamp": "differs in each plan",
}

// volatile returns the calls to volatileFunctions in an expression or a body. If places are given,
// it returns only calls within them.
func volatile(in any, places ...hcl.Range) []*Source {
	node, native := in.(hclsyntax.Node)
	if !native { // JSON, or a lazyblock.Body, which has no calls
		return nil
	}
	var out []*Source
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || volatileFunctions[call.Name] == "" {
			return nil
		}
		rng := call.Range()
		isInside := func(at hcl.Range) bool { return within(rng, at) }
		if len(places) == 0 || slices.ContainsFunc(places, isInside) {
			out = append(out, &Source{Reference: call.Name + "()", Place: placeOf(&rng), Changed: Changed,
				Text: volatileFunctions[call.Name]})
		}
		return nil
	})
	return out
}
