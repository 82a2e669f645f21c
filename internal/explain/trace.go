package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
	"tofu/internal/ui"
)

// tracer follows references. It follows each value once.
type tracer struct {
	*explainer
	seen map[any]bool
}

func (e *explainer) tracer() *tracer { return &tracer{explainer: e, seen: map[any]bool{}} }

// expr returns the sources that the references of an expression lead to.
func (t *tracer) expr(expr *lang.Expr, in reads.Scope) []*Source {
	var out []*Source
	for _, ref := range expr.Refs.Objects {
		out = t.append(out, t.ref(&expr.Refs, ref, in))
	}
	return out
}

type seenValue struct {
	v    *reads.Value
	at   addrs.ModuleInstance
	part string // the part of the value that is followed; see reads.Lead
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
	name, _ := addrs.StepsText(ref.Remaining)
	name = ref.Subject.String() + name
	if !in.In.IsRoot() {
		name = in.In.String() + "." + name
	}
	out := &Source{Reference: name, Place: placeOf(&ref.Range), Changed: Same}
	to := in.Follow(refs, ref)
	if to.Decides != nil { // for each.value, what it is an instance of
		to = to.Behind()
	}
	_, count := ref.Subject.(addrs.CountAttr) // the index of an instance never changes
	switch {
	case to.Nothing(), count:
		return nil
	case to.Resource != nil && to.Decides == nil:
		return t.resource(out, to.Resource, to.Targets(), addrs.FirstName(to.Rest))
	case to.Resource != nil:
		targets, at := to.Targets(), to.Decides.Range()
		of := &Source{Reference: targets[0].String(), Place: placeOf(&at), Changed: Same}
		return out.with(t.append(nil, t.resource(of, to.Resource, targets, addrs.FirstName(to.Rest))))
	case len(to.Values) > 0 || to.Call != nil:
		return t.values(out, ref, to)
	case to.Decides == nil || t.seen[to.Decides]:
		return nil
	}
	t.seen[to.Decides] = true
	return out.with(t.expr(to.Decides, reads.Scope{Module: in.Module, In: in.In, Early: t.Keys}))
}

// values returns the source for a reference to values. If there is only one, out is its source.
func (t *tracer) values(out *Source, ref *addrs.Reference, to reads.Lead) *Source {
	modules := to.Modules()
	if len(to.Values)*len(modules) == 1 && to.Decides == nil {
		if _, named := ref.Subject.(addrs.ModuleCallOutput); to.Call != nil && !named {
			out.Reference = modules[0].String() + "." + to.Values[0].Name
		}
		return t.value(out, to.Values[0], modules[0], to)
	}
	var sources []*Source
	for _, in := range modules {
		for _, v := range to.Values {
			of := &Source{Reference: in.String() + "." + v.Name, Changed: Same}
			sources = t.append(sources, t.value(of, v, in, to))
		}
	}
	return out.with(sources)
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

// value follows a variable, a local or an output, to which a reference leads.
func (t *tracer) value(out *Source, v *reads.Value, at addrs.ModuleInstance, to reads.Lead) *Source {
	key := seenValue{v, at, to.Part()}
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
	return out.with(t.expr(v.Expr, to.Scope(v, at)))
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
	if expr := t.known.Attribute(r, name); expr != nil {
		out.Sources = t.expr(expr, r.Scope(c.Addr.Module, c.Addr.Key, t.Keys, c.Reads))
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
		for _, c := range t.covered(target) {
			if t.drift[c.Addr] != nil {
				out.Changed, out.Text = Changed, c.Addr.String()+" was changed outside"
			}
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
