package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/ui"
)

// tracer follows references. It follows each value once.
type tracer struct {
	*explainer
	seen  map[any]bool
	reads []plans.InstanceRead // instances that the block reads by computed indexes, as the plan has recorded them
	names map[sourcePos]string // attribute names by the position of a reference; see note
	alias aliasRead
}

type sourcePos struct {
	file string
	byte int
}

// note records which attribute an expression reads from several instances, as in a[*].id, or from a
// computed one, as in a[each.key].id. It stores the name by the position of the reference. The
// reference itself ends at the index and does not contain the attribute.
func (t *tracer) note(expr any) {
	node, native := expr.(hclsyntax.Node)
	if !native { // JSON, or a lazyblock.Body, which has none of the expressions below
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

// expr returns the sources that the references of an expression lead to.
func (t *tracer) expr(expr *lang.Expr, in reads.Scope) []*Source {
	t.note(expr.Expression)
	var out []*Source
	for _, ref := range expr.Refs.Objects {
		out = t.append(out, t.ref(&expr.Refs, ref, in))
	}
	return out
}

type seenValue struct {
	v    *reads.Value
	at   addrs.ModuleInstance
	keys string // the keys that are read through the value, if it is followed as an alias
}

type seenAttribute struct {
	r    *reads.Resource
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

// ref returns the source that one of the references in refs leads to. It returns nil if the value
// can't change or if the value was followed before.
func (t *tracer) ref(refs *lang.Refs, ref *addrs.Reference, in reads.Scope) *Source {
	m, at := in.Module, in.In
	name, _ := addrs.StepsText(ref.Remaining)
	name = ref.Subject.String() + name
	if !at.IsRoot() {
		name = at.String() + "." + name
	}
	out := &Source{Reference: name, Place: placeOf(&ref.Range), Changed: Same}
	if v := m.AliasOf(ref.Subject); v != nil && t.alias.of == nil {
		keys, known := t.aliasKeys(refs, ref, v, in)
		if known && len(keys) == 0 {
			return nil
		}
		if known {
			t.alias = aliasRead{v.Alias.Of, keys}
			defer func() { t.alias = aliasRead{} }()
		}
	}
	each, isEach := ref.Subject.(addrs.ForEachAttr)
	switch of := m.Named(ref.Subject); {
	case of.IsWholeCall():
		return t.wholeCall(out, refs, ref, of.Call, in)
	case of.Call != nil && of.Value != nil:
		return t.value(out, of.Value, at.Child(of.Call.Call.Name, of.Key))
	case of.Call != nil:
		return t.call(out, of.Call, at.Child(of.Call.Call.Name, of.Key))
	case of.Value != nil:
		return t.value(out, of.Value, at)
	case of.Resource != nil:
		return t.instances(out, refs, ref, of, in)
	case !isEach, in.One() && each.Name == "key": // count.index and the key of an instance never change
		return nil
	case in.One():
		return t.each(out, ref, in)
	}
	return t.repetition(out, in.Repetition.ForEach, in)
}

// wholeCall returns the source for a reference to a module call that may select single instances.
func (t *tracer) wholeCall(out *Source, refs *lang.Refs, ref *addrs.Reference, child *reads.Module, in reads.Scope) *Source {
	module := func(key addrs.InstanceKey) addrs.ModuleInstance { return in.In.Child(child.Call.Name, key) }
	one, known := refs.Instance(ref), false
	var keys []addrs.InstanceKey
	if refs.SelectsInstance(ref) {
		keys, known = in.Selected(reads.KeyedRead{Call: child, Refs: lang.Instances{one}})
	}
	output := child.Outputs[one.Output]
	switch {
	case known && len(keys) == 0:
		return nil
	case !known || output == nil:
		return t.call(out, child, module(addrs.NoKey))
	case len(keys) == 1:
		out.Reference = module(keys[0]).String() + "." + output.Name
		return t.value(out, output, module(keys[0]))
	}
	var sources []*Source
	for _, key := range keys {
		sources = t.append(sources, t.output(output, module(key)))
	}
	return out.with(sources)
}

// output returns the source for an output of one instance of a module.
func (t *tracer) output(v *reads.Value, in addrs.ModuleInstance) *Source {
	return t.value(&Source{Reference: in.String() + "." + v.Name, Changed: Same}, v, in)
}

// instances returns the source for a reference to a resource, which may select single instances.
func (t *tracer) instances(
	out *Source, refs *lang.Refs, ref *addrs.Reference, named reads.Named, in reads.Scope,
) *Source {
	of := named.Resource
	target := addrs.Target{Module: in.In, Resource: of.Addr.Resource, Key: named.Key, HasKey: named.Key != addrs.NoKey}
	if of.Config == nil || target.HasKey {
		return t.resource(out, of, []addrs.Target{target}, t.attribute(ref))
	}
	keys, known := t.alias.keys, of == t.alias.of
	if one := refs.Instance(ref); !known && one.Index != nil {
		keys, known = in.Selected(reads.KeyedRead{Of: of, Refs: lang.Instances{one}})
	}
	if !known {
		keys, known = plans.KeysRead(t.reads, of.Addr.Resource)
	}
	if known && len(keys) == 0 {
		return nil
	}
	return t.resource(out, of, withKeys(target, keys), t.attribute(ref))
}

// attribute returns the name of the attribute that a reference to a resource reads, or "" for the
// whole object.
func (t *tracer) attribute(ref *addrs.Reference) string {
	if len(ref.Remaining) > 0 {
		return addrs.StepName(ref.Remaining[0])
	}
	if _, whole := ref.Subject.(addrs.Resource); whole {
		return t.names[sourcePos{ref.Range.Filename, ref.Range.Start.Byte}]
	}
	return ""
}

// with sets the sources of s and returns s. If it is more certain that one of these sources changed
// than that s did, s gets the certainty of that source.
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

// each follows each.value to the instance that it is.
func (t *tracer) each(out *Source, ref *addrs.Reference, in reads.Scope) *Source {
	at := in.Repetition.ForEach.Range()
	if of := in.Chain(); of != nil {
		target := addrs.Target{Module: of.In(in.Module, in.In), Resource: of.Of.Addr.Resource, Key: in.Key, HasKey: true}
		name := ""
		if of.Via == nil {
			name = addrs.FirstName(ref.Remaining)
		}
		inner := &Source{Reference: target.String(), Place: placeOf(&at), Changed: Same}
		return out.with(t.append(nil, t.resource(inner, of.Of, []addrs.Target{target}, name)))
	}
	var sources []*Source
	for _, read := range in.Each {
		module := in.In.Child(read.Call.Call.Name, in.Key)
		for _, output := range read.Outputs() {
			if read.Output != nil && addrs.FirstName(ref.Remaining) != output.Name {
				continue
			}
			sources = t.append(sources, t.output(output, module))
		}
	}
	return out.with(sources)
}

func (t *tracer) repetition(out *Source, expr *lang.Expr, in reads.Scope) *Source {
	if expr == nil || t.seen[expr] {
		return nil
	}
	t.seen[expr] = true
	return out.with(t.expr(expr, reads.Scope{Module: in.Module, In: in.In}))
}

// value follows a variable, a local or an output.
func (t *tracer) value(out *Source, v *reads.Value, at addrs.ModuleInstance) *Source {
	if v == nil {
		return nil
	}
	key := seenValue{v, at, ""}
	if t.alias.of != nil {
		key.keys = fmt.Sprint(t.alias.keys)
	}
	if t.seen[key] {
		return nil
	}
	t.seen[key] = true
	if v.Kind == reads.Variable && (v.Module.Parent == nil || v.Expr == nil) {
		return t.variable(out, v)
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
	return out.with(t.expr(v.Expr, v.Scope(at, t.Keys)))
}

// variable describes a variable that no module call sets. There is nothing further to follow.
func (t *tracer) variable(out *Source, v *reads.Value) *Source {
	out.Place, out.Changed = placeOf(v.Node.Range), Possible
	given, ok := t.plan.Variables[v.Name]
	if ok {
		given, _ = v.Variable.Final(given) // can't fail, because the value was valid for the plan
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
func (t *tracer) call(out *Source, child *reads.Module, at addrs.ModuleInstance) *Source {
	var sources []*Source
	for _, name := range slices.Sorted(maps.Keys(child.Outputs)) {
		sources = t.append(sources, t.output(child.Outputs[name], at))
	}
	return out.with(sources)
}

// resource says what happens to an attribute of instances of a resource, and follows the attribute if
// it changes. An empty name means the whole object.
func (t *tracer) resource(out *Source, r *reads.Resource, targets []addrs.Target, name string) *Source {
	if r == nil {
		return nil
	}
	var of []*plans.InstanceChange
	targets = slices.DeleteFunc(targets, func(target addrs.Target) bool {
		key := seenAttribute{r, target.Module, target.Key, name}
		seen := t.seen[key]
		t.seen[key] = true
		if !seen {
			of = append(of, t.covered(target)...)
		}
		return seen
	})
	if len(targets) == 0 {
		return nil
	}
	worst := slices.IndexFunc(of, func(c *plans.InstanceChange) bool { return t.changes(c, name) })
	if worst < 0 {
		return t.steady(out, targets, name)
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
		schema := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}}}
		content, _, _ := r.Config.Config.PartialContent(schema)
		if content != nil && content.Attributes[name] != nil {
			if expr := t.known.Expr(content.Attributes[name].Expr); expr != nil {
				out.Sources = t.expr(expr, r.Scope(targets[0].Module, keyIn(targets, c.Addr.Key), t.Keys))
			}
		}
	}
	return out
}

// changes reports whether an attribute of an object changes. An empty name means the whole object.
func (t *tracer) changes(c *plans.InstanceChange, name string) bool {
	if c.Action == plans.NoOp || c.Deposed != addrs.NotDeposed {
		return false
	}
	if name == "" || c.Before.IsNull() || c.After.IsNull() {
		return true
	}
	return !sameValue(member(c.Before, name), member(c.After, name))
}

// actionVerbs say what happens to an object.
var actionVerbs = map[plans.Action]string{
	plans.Create: "is created", plans.Read: "is read during the apply", plans.Update: "is updated",
	plans.DeleteThenCreate: "is replaced", plans.CreateThenDelete: "is replaced", plans.ForgetThenCreate: "is replaced",
	plans.Delete: "is destroyed", plans.Forget: "is forgotten",
}

// happens says what happens to an object and to one of its attributes. others is the number of
// other instances that change too.
func (t *tracer) happens(c *plans.InstanceChange, name string, others int) string {
	text := c.Addr.String() + " " + actionVerbs[c.Action]
	if others > 0 {
		text += "; plus changes to " + ui.Count(others, "other instance")
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

// steady describes a resource that the plan doesn't change. It may have been changed outside of
// OpenTofu, or it may be a data source whose result has changed.
func (t *tracer) steady(out *Source, targets []addrs.Target, name string) *Source {
	out.Text = "doesn't change"
	for _, target := range targets {
		if target.Resource.Mode == addrs.Data {
			out.Changed, out.Text = t.readAgain(target, name)
			if out.Changed != Same {
				return out
			}
		}
		for addr := range t.driftOf(target) {
			out.Changed, out.Text = Changed, addr.String()+" was changed outside"
		}
	}
	return out
}

// readAgain compares the result of a data source with its earlier result in the state. An empty
// name means the whole result.
func (t *tracer) readAgain(target addrs.Target, name string) (Certainty, string) {
	at := target.Resource.InInstance(target.Module)
	was, is := t.plan.PrevRun.Resource(at), t.plan.Prior.Resource(at)
	if was == nil || is == nil {
		return Possible, "was read while planning, and may have changed since the last apply"
	}
	for key, instance := range is.Instances {
		if target.HasKey && key != target.Key {
			continue
		}
		old := was.Instances[key]
		if old == nil || old.Current == nil || instance.Current == nil {
			return Possible, "was read while planning, and may have changed since the last apply"
		}
		if !reflect.DeepEqual(storedMember(old.Current.Attrs, name), storedMember(instance.Current.Attrs, name)) {
			return Changed, at.Instance(key).String() + " has another result than at the last apply"
		}
	}
	return Same, "doesn't change"
}

// storedMember returns an attribute of an object in the state, or the whole object if name is
// empty. It decodes the JSON text, because a state file may format the same value differently.
func storedMember(object []byte, name string) any {
	var members map[string]any
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&members); err != nil {
		return string(object)
	}
	if name == "" {
		return members
	}
	return members[name]
}

// driftOf returns the objects at an address that were changed outside of OpenTofu.
func (t *tracer) driftOf(target addrs.Target) map[addrs.AbsInstance]bool {
	out := map[addrs.AbsInstance]bool{}
	for _, c := range t.covered(target) {
		if t.drift[c.Addr] != nil {
			out[c.Addr] = true
		}
	}
	return out
}
