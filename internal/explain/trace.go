package explain

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/configschema"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/valuediff"
)

// arguments explains what the meta-arguments of a block have to do with a change: the repetition
// that no longer has an instance, and the triggers of a replacement.
func (e *explainer) arguments(r *graph.Resource, c *plans.InstanceChange) []*Attribute {
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
			t := e.tracer(nil)
			a := &Attribute{Name: name, Place: placeOf(&at),
				Sources: t.expr(expr, r.Module, c.Addr.Module, r.Exprs.Repetition)}
			a.causedHere()
			out = append(out, a)
		}
	}
	rep := r.Exprs.Repetition
	switch c.Reason {
	case plans.DeleteCountIndex:
		add("count", rep.Count)
	case plans.DeleteEachKey:
		add("for_each", rep.ForEach)
	case plans.DeleteEnabledFalse:
		add("enabled", rep.Enabled)
	case plans.ReplaceByTriggers:
		add("lifecycle.replace_triggered_by", r.Exprs.Triggers...)
	}
	return out
}

// attributes explains the attributes and blocks that change, those that force a replacement first.
func (e *explainer) attributes(r *graph.Resource, c *plans.InstanceChange) []*Attribute {
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
		if before.IsNull() && len(places[name]) == 0 && wholly(is) || sameValue(was, is) {
			continue
		}
		a := &Attribute{Name: name, Forces: forces[name], Unknown: !wholly(is)}
		if !before.IsNull() {
			a.Before = valueText(was)
		}
		a.After = valueText(is)
		a.Parts = changedParts(was, is)
		e.setCause(a, r, c, sch, places[name])
		out = append(out, a)
	}
	slices.SortStableFunc(out, func(x, y *Attribute) int { return weight(x) - weight(y) })
	return out
}

// shown returns a value of a change with marks on everything that must not be shown.
func (e *explainer) shown(v cty.Value, c *plans.InstanceChange) cty.Value {
	provider := c.Provider.Config.Provider
	return planview.MarkShown(v, e.View.Schema(provider, c.Addr.Resource), provider, c.Addr.Resource)
}

// weight orders attributes: those that force a replacement, those that the configuration sets, and
// those that the provider decides.
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

// member returns a part of an object, null if there is no object.
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

// setCause sets where the new value of an attribute comes from.
func (e *explainer) setCause(
	a *Attribute, r *graph.Resource, c *plans.InstanceChange, sch *providers.ResourceSchema, places []hcl.Range,
) {
	if drift := e.drift[c.Addr]; drift != nil {
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
	t := e.tracer(c.Reads)
	t.note(r.Config.Config)
	steady := steadyParts(r.Config.Config, a)
	for _, ref := range r.Exprs.Body.Refs.Objects {
		inside := func(at hcl.Range) bool { return within(ref.Range, at) }
		if slices.ContainsFunc(places, inside) && !slices.ContainsFunc(steady, inside) {
			a.Sources = t.append(a.Sources, t.ref(ref, r.Module, c.Addr.Module, r.Exprs.Repetition))
		}
	}
	a.Sources = append(a.Sources, volatile(r.Config.Config, places...)...)
	if !c.Before.IsNull() {
		a.causedHere()
	}
}

// changedParts returns the names of the members of an object that change, if some don't.
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

// steadyParts returns the places in an attribute { name = value } that set members which don't
// change. What these refer to is not a cause.
func steadyParts(body hcl.Body, a *Attribute) []hcl.Range {
	native, ok := body.(*hclsyntax.Body)
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

// causedHere sets the cause of an attribute if nothing that it refers to is one.
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

// volatileFunctions have another result in each run, or none before the apply.
var volatileFunctions = map[string]string{
	"timestamp":     "is known only during the apply, and differs in each run",
	"uuid":          "is known only during the apply, and differs in each run",
	"bcrypt":        "is known only during the apply, and differs in each run",
	"plantimestamp": "differs in each plan",
}

// volatile returns the calls of such functions in an expression or a body, or in the given places
// of it.
func volatile(in any, places ...hcl.Range) []*Source {
	node, native := in.(hclsyntax.Node)
	if !native {
		return nil
	}
	var out []*Source
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok || volatileFunctions[call.Name] == "" {
			return nil
		}
		rng := call.Range()
		if len(places) == 0 || slices.ContainsFunc(places, func(at hcl.Range) bool { return within(rng, at) }) {
			out = append(out, &Source{Reference: call.Name + "()", Place: placeOf(&rng), Changed: Changed,
				Text: volatileFunctions[call.Name]})
		}
		return nil
	})
	return out
}

// tracer follows references. It follows each value once.
type tracer struct {
	*explainer
	seen  map[any]bool
	reads []plans.InstanceRead // what the block reads by computed indexes
	names map[sourcePos]string // see note
}

// sourcePos is a position in the configuration.
type sourcePos struct {
	file string
	byte int
}

// note records which attributes of all or some instances an expression reads, as a[*].id and
// a[each.key].id do, by the position of the reference. References don't have these attributes,
// because they end at the index.
func (t *tracer) note(expr any) {
	node, native := expr.(hclsyntax.Node)
	if !native {
		return
	}
	add := func(of hclsyntax.Expression, steps hcl.Traversal) {
		if len(steps) > 0 {
			at := of.Range()
			t.names[sourcePos{at.Filename, at.Start.Byte}] = addrs.StepName(steps[0])
		}
	}
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.SplatExpr:
			if each, ok := n.Each.(*hclsyntax.RelativeTraversalExpr); ok {
				add(n.Source, each.Traversal)
			}
		case *hclsyntax.RelativeTraversalExpr:
			if index, ok := n.Source.(*hclsyntax.IndexExpr); ok {
				add(index.Collection, n.Traversal)
			}
		}
		return nil
	})
}

func (e *explainer) tracer(reads []plans.InstanceRead) *tracer {
	return &tracer{explainer: e, seen: map[any]bool{}, reads: reads, names: map[sourcePos]string{}}
}

// expr follows the references of an expression in a module instance.
func (t *tracer) expr(expr *lang.Expr, m *graph.Module, at addrs.ModuleInstance, rep graph.Repetition) []*Source {
	t.note(expr.Expression)
	var out []*Source
	for _, ref := range expr.Refs.Objects {
		out = t.append(out, t.ref(ref, m, at, rep))
	}
	return out
}

type seenValue struct {
	v  *graph.Value
	at addrs.ModuleInstance
}

type seenAttribute struct {
	r    *graph.Resource
	at   addrs.ModuleInstance
	key  addrs.InstanceKey
	name string
}

// append adds a source if there is one.
func (t *tracer) append(list []*Source, s *Source) []*Source {
	if s == nil {
		return list
	}
	return append(list, s)
}

// ref follows one reference. It returns nil for what can't change and what was followed before. rep
// resolves count and each.
func (t *tracer) ref(ref *addrs.Reference, m *graph.Module, at addrs.ModuleInstance, rep graph.Repetition) *Source {
	name, _ := addrs.StepsText(ref.Remaining)
	name = ref.Subject.String() + name
	if !at.IsRoot() {
		name = at.String() + "." + name
	}
	out := &Source{Reference: name, Place: placeOf(&ref.Range), Changed: Same}
	switch s := ref.Subject.(type) {
	case addrs.InputVariable:
		return t.value(out, m.Variables[s.Name], at)
	case addrs.LocalValue:
		return t.value(out, m.Locals[s.Name], at)
	case addrs.ModuleCallOutput:
		if child := m.Calls[s.Call.Name]; child != nil && child.Outputs[s.Output] != nil {
			return t.value(out, child.Outputs[s.Output], at.Child(s.Call.Name, s.Call.Key))
		}
		return t.call(out, m.Calls[s.Call.Name], at.Child(s.Call.Name, s.Call.Key))
	case addrs.ModuleCall:
		return t.call(out, m.Calls[s.Name], at.Child(s.Name, addrs.NoKey))
	case addrs.ModuleCallInstance:
		return t.call(out, m.Calls[s.Name], at.Child(s.Name, s.Key))
	case addrs.Resource:
		return t.resource(out, m.Resources[s], t.read(addrs.Target{Module: at, Resource: s}), t.attribute(ref))
	case addrs.ResourceInstance:
		target := addrs.Target{Module: at, Resource: s.Resource, Key: s.Key, HasKey: true}
		return t.resource(out, m.Resources[s.Resource], target, t.attribute(ref))
	case addrs.ForEachAttr:
		return t.repetition(out, rep.ForEach, m, at)
	case addrs.CountAttr:
		return nil // the index of an instance never changes
	}
	return nil
}

// attribute returns the attribute of a resource that a reference reads, or "" for the whole object.
func (t *tracer) attribute(ref *addrs.Reference) string {
	if len(ref.Remaining) > 0 {
		return addrs.StepName(ref.Remaining[0])
	}
	if _, whole := ref.Subject.(addrs.Resource); whole {
		return t.names[sourcePos{ref.Range.Filename, ref.Range.Start.Byte}]
	}
	return ""
}

// read returns the instance that a block reads by a computed index, if it reads only one of the
// resource, and otherwise the resource.
func (t *tracer) read(target addrs.Target) addrs.Target {
	n := 0
	out := target
	for _, read := range t.reads {
		if read.Resource == target.Resource {
			n++
			out.Key, out.HasKey = read.Key, true
		}
	}
	if n != 1 {
		return target
	}
	return out
}

// with adds sources, and the strongest of their certainties.
func (s *Source) with(sources []*Source) *Source {
	s.Sources = sources
	for _, inner := range sources {
		switch {
		case inner.Changed == Changed:
			s.Changed = Changed
		case inner.Changed == Possible && s.Changed == Same:
			s.Changed = Possible
		}
	}
	return s
}

func (t *tracer) repetition(out *Source, expr *lang.Expr, m *graph.Module, at addrs.ModuleInstance) *Source {
	if expr == nil || t.seen[expr] {
		return nil
	}
	t.seen[expr] = true
	return out.with(t.expr(expr, m, at, graph.Repetition{}))
}

// value follows a variable, a local or an output.
func (t *tracer) value(out *Source, v *graph.Value, at addrs.ModuleInstance) *Source {
	if v == nil || t.seen[seenValue{v, at}] {
		return nil
	}
	t.seen[seenValue{v, at}] = true
	m, in, rep := v.Module, at, graph.Repetition{}
	if v.Kind == graph.Variable {
		if v.Module.Parent == nil || v.Expr == nil {
			return t.variable(out, v)
		}
		m, rep = v.Module.Parent, v.Module.Repetition
		in, _ = at.Parent()
	}
	out.Place = placeOf(v.Node.Range)
	if v.Expr == nil {
		return out
	}
	if len(v.Expr.Refs.Objects) == 0 {
		at := v.Expr.Range()
		out.Place, out.Changed, out.Text = placeOf(&at), Possible, "the configuration has this value"
		return out
	}
	return out.with(t.expr(v.Expr, m, in, rep))
}

// variable ends at a variable that no module call sets.
func (t *tracer) variable(out *Source, v *graph.Value) *Source {
	out.Place, out.Changed = placeOf(v.Node.Range), Possible
	given, ok := t.plan.Variables[v.Name]
	if ok {
		given, _ = v.Variable.Final(given) // it was valid for the plan
	}
	secret := v.Variable.Sensitive.Value || v.Variable.Ephemeral.Value
	switch {
	case v.Module.Parent == nil && ok && secret:
		out.Text = "was set for this plan"
	case v.Module.Parent == nil && ok:
		out.Text = "was set for this plan to " + inlineText(given)
	case secret || !v.Variable.Default.Set:
	default:
		out.Text = "has its default, " + inlineText(v.Variable.Default.Value)
	}
	return out
}

// call follows all outputs of a module.
func (t *tracer) call(out *Source, child *graph.Module, at addrs.ModuleInstance) *Source {
	if child == nil {
		return nil
	}
	var sources []*Source
	for _, name := range slices.Sorted(maps.Keys(child.Outputs)) {
		inner := &Source{Reference: at.String() + "." + name, Changed: Same}
		sources = t.append(sources, t.value(inner, child.Outputs[name], at))
	}
	return out.with(sources)
}

// resource says what happens to an attribute of a resource, and follows the attribute if it
// changes. An empty name stands for the whole object.
func (t *tracer) resource(out *Source, r *graph.Resource, target addrs.Target, name string) *Source {
	if r == nil {
		return nil
	}
	key := seenAttribute{r, target.Module, target.Key, name}
	if t.seen[key] {
		return nil
	}
	t.seen[key] = true
	of := t.covered(target)
	worst := slices.IndexFunc(of, func(c *plans.InstanceChange) bool { return t.changes(c, name) })
	if worst < 0 {
		return t.steady(out, target)
	}
	c := of[worst]
	out.Changed = Changed
	others := 0
	for _, other := range of[worst+1:] {
		if t.changes(other, name) {
			others++
		}
	}
	out.Text = t.happens(c, name, others)
	if r.Config != nil && r.Exprs != nil && r.Exprs.Body != nil && name != "" {
		content, _, _ := r.Config.Config.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}})
		if content != nil && content.Attributes[name] != nil {
			if expr := t.known.Expr(content.Attributes[name].Expr); expr != nil {
				out.Sources = t.expr(expr, r.Module, target.Module, r.Exprs.Repetition)
			}
		}
	}
	return out
}

// changes reports whether an attribute of an object changes; the whole object if name is empty.
func (t *tracer) changes(c *plans.InstanceChange, name string) bool {
	if c.Action == plans.NoOp || c.Deposed != addrs.NotDeposed {
		return false
	}
	return name == "" || c.Before.IsNull() || c.After.IsNull() || !sameValue(member(c.Before, name), member(c.After, name))
}

// actionVerbs say what happens to an object.
var actionVerbs = map[plans.Action]string{
	plans.Create: "is created", plans.Read: "is read during the apply", plans.Update: "is updated",
	plans.DeleteThenCreate: "is replaced", plans.CreateThenDelete: "is replaced", plans.ForgetThenCreate: "is replaced",
	plans.Delete: "is destroyed", plans.Forget: "is forgotten",
}

// happens says what happens to an object and to one of its attributes. others is the number of
// further instances that change.
func (t *tracer) happens(c *plans.InstanceChange, name string, others int) string {
	text := c.Addr.String() + " " + actionVerbs[c.Action]
	if others > 0 {
		text += fmt.Sprintf("; more instances that change: %d", others)
	}
	sch := t.View.Schema(c.Provider.Config.Provider, c.Addr.Resource)
	if sch == nil || name == "" || c.After.IsNull() || !slices.Contains(members(sch.Block), name) {
		return text
	}
	is := member(t.shown(c.After, c), name)
	switch {
	case !wholly(is):
		text += "; " + name + " is known after the apply"
	case !c.Before.IsNull():
		text += fmt.Sprintf("; %s: %s -> %s",
			name, inlineText(member(t.shown(c.Before, c), name)), inlineText(is))
	}
	return text
}

// steady describes a resource that doesn't change: perhaps it was changed outside.
func (t *tracer) steady(out *Source, target addrs.Target) *Source {
	out.Text = "doesn't change"
	for addr := range t.driftOf(target) {
		out.Changed, out.Text = Changed, addr.String()+" was changed outside"
	}
	return out
}

// driftOf returns the objects at an address that were changed outside.
func (t *tracer) driftOf(target addrs.Target) map[addrs.AbsInstance]bool {
	out := map[addrs.AbsInstance]bool{}
	for _, c := range t.covered(target) {
		if t.drift[c.Addr] != nil {
			out[c.Addr] = true
		}
	}
	return out
}
