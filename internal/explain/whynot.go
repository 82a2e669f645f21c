package explain

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// whyNot returns the reasons why nothing happens at an address. Its last argument holds the changes
// at the address, none of which does anything. The decisive reasons come first.
func (e *explainer) whyNot(target addrs.Target, r *reads.Resource, of []*plans.InstanceChange) []*Ground {
	w := &denial{explainer: e, target: target, resource: r, of: of}
	for _, find := range []func(*denial){
		(*denial).mode, (*denial).failed, (*denial).deferred, (*denial).selection, (*denial).instances, (*denial).kind,
		(*denial).ignored, (*denial).steady,
	} {
		find(w)
	}
	return w.grounds
}

// denial collects the reasons why something is not in a plan. Each method looks for one kind of
// reason.
type denial struct {
	*explainer
	target   addrs.Target
	resource *reads.Resource // nil if the resource exists only in the state
	of       []*plans.InstanceChange
	grounds  []*Ground
}

func (d *denial) add(code string, place *Place, format string, args ...any) {
	d.grounds = append(d.grounds, &Ground{Code: code, Place: place, Text: fmt.Sprintf(format, args...)})
}

func (d *denial) mode() {
	switch d.plan.Mode {
	case plans.RefreshOnly:
		d.add("refresh_only", nil, "the plan is made with -refresh-only, which changes no object")
	case plans.Destroy:
		if len(d.of) == 0 {
			d.add("nothing_to_destroy", nil, "the plan destroys everything in the state, and the state has no such "+
				"object")
		}
	}
}

func (d *denial) failed() {
	if d.plan.Errored && len(d.of) == 0 {
		d.add("errored", nil, "planning failed, so the plan may not have reached it")
	}
}

// deferred looks for changes that can't be planned yet.
func (d *denial) deferred() {
	for _, c := range d.plan.Deferred {
		block := d.target.Resource.In(d.target.Module.Module())
		all := c.Addr.Key == addrs.UnknownKey && c.Addr.Abs().Config() == block
		if all || d.target.ContainsInstance(c.Addr) {
			d.add("deferred", d.block(), "%s is deferred until after an apply, because %s", c.Addr, c.Because())
			return
		}
	}
	for _, m := range d.plan.DeferredModules {
		if len(d.of) == 0 && m.Contains(d.target.Module.Module()) {
			d.add("deferred", d.block(),
				"%s is deferred until after an apply, because its instances are known only then", m)
			return
		}
	}
}

// block returns the place of the resource block, or nil if the configuration has none.
func (d *denial) block() *Place {
	if d.resource == nil {
		return nil
	}
	return placeOf(d.resource.Node.Range)
}

// selection adds a reason if -target or -exclude leaves the address out.
func (d *denial) selection() {
	if len(d.of)+len(d.grounds) > 0 {
		return
	}
	for _, t := range d.plan.Excludes {
		if d.overlaps(t) {
			d.add("exclude", nil, "-exclude=%s leaves it out", t)
			return
		}
	}
	switch {
	case len(d.plan.Excludes) > 0:
		d.add("exclude", nil, "it may depend on what -exclude=%s leaves out", join(d.plan.Excludes))
	case len(d.plan.Targets) > 0:
		d.add("target", nil, "it is not among the targets, and they don't need it: -target=%s", join(d.plan.Targets))
	}
}

func join(targets []addrs.Target) string {
	texts := make([]string, len(targets))
	for i, t := range targets {
		texts[i] = t.String()
	}
	return strings.Join(texts, " -target=")
}

// overlaps reports whether a target of the plan covers the address that is explained.
func (d *denial) overlaps(t addrs.Target) bool {
	explained := addrs.AbsInstance{Module: d.target.Module, Resource: d.target.Resource, Key: d.target.Key}
	return t.ContainsInstance(explained)
}

// instances adds a reason if count, for_each or enabled excludes the instance, or excludes all
// instances of a module that contains it.
func (d *denial) instances() {
	if len(d.of)+len(d.grounds) > 0 {
		return
	}
	if d.target.IsModule() {
		d.modules(d.Graph.Modules[d.target.Module.Module()])
		return
	}
	r := d.resource
	if r == nil || r.Config == nil {
		return
	}
	if r.Exprs != nil && d.without(r.Exprs.Repetition, r.Addr.Resource.String(), len(d.byConfig[r.Addr]) > 0) {
		return
	}
	d.modules(r.Module)
}

// modules adds a reason if count, for_each or enabled excludes all instances of a module, or of a
// module that contains it.
func (d *denial) modules(m *reads.Module) {
	for ; m != nil && m.Parent != nil; m = m.Parent {
		if d.without(m.Repetition, m.Path.String(), false) {
			return
		}
	}
}

// without adds a reason for the argument that repeats a block with the given name. The reason is
// that the block has no instances at all or, if others is set, that it has other instances but not
// the explained one. It returns false if the block has no such argument.
func (d *denial) without(rep reads.Repetition, of string, others bool) bool {
	for _, arg := range []struct {
		name, none string
		expr       *lang.Expr
	}{
		{"count", "count is 0", rep.Count}, {"for_each", "for_each has no element", rep.ForEach},
		{"enabled", "enabled is false", rep.Enabled},
	} {
		if arg.expr == nil {
			continue
		}
		at := arg.expr.Range()
		text := arg.none
		if others {
			text = arg.name + " has no instance " + d.target.String()
		}
		d.add(arg.name, placeOf(&at), "%s: %s", of, text)
		return true
	}
	return false
}

// kind adds a reason for ephemeral resources, which are never in a plan, and for data sources,
// which are in a plan only if they must be read during the apply.
func (d *denial) kind() {
	switch d.target.Resource.Mode {
	case addrs.Ephemeral:
		d.add("ephemeral", nil, "ephemeral resources are opened when they are needed and are never in a plan")
	case addrs.Data:
		if len(d.grounds) == 0 {
			d.add("read", nil, "the data source was read while planning; only those that must wait for the apply are "+
				"in the plan")
		}
	}
}

// ignored adds a reason if ignore_changes is set.
func (d *denial) ignored() {
	if len(d.of) == 0 || d.resource == nil || d.resource.Config == nil {
		return
	}
	l := d.resource.Config.Lifecycle
	if l.IgnoreAll {
		d.add("ignore_changes", d.block(), "lifecycle.ignore_changes = all: differences between the "+
			"configuration and the object are ignored")
	}
	for _, tr := range l.IgnoreChanges {
		at := tr.SourceRange()
		name, _ := addrs.StepsText(tr[1:])
		d.add("ignore_changes", placeOf(&at), "lifecycle.ignore_changes: differences in %s are ignored",
			addrs.StepName(tr[0])+name)
	}
}

// ignores reports whether differences between the object and its configuration are ignored.
func (d *denial) ignores() bool {
	return slices.ContainsFunc(d.grounds, func(g *Ground) bool { return g.Code == "ignore_changes" })
}

// steady adds the reason that an object already matches its configuration.
func (d *denial) steady() {
	switch {
	case d.target.IsModule() && len(d.grounds) == 0:
		d.add("no_change", nil, "nothing in the module changes")
	case d.target.IsModule():
	case len(d.of) > 0 && d.plan.Mode == plans.Normal && !d.ignores():
		d.add("no_change", nil, "the object matches the configuration")
	}
	if len(d.grounds) == 0 {
		d.add("no_object", nil, "neither the configuration nor the state has this instance")
	}
}
