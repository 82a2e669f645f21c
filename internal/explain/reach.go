package explain

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/plans"
)

// reach finds the changes that use a value: directly, through other values, or through attributes
// of objects that change. It visits each block and each attribute of a change once.
type reach struct {
	t          *tracer
	whole      *reads.Resource       // resource that is explained; nil if it is a value
	direct     bool                  // follow only values, and not the attributes of other objects
	key        addrs.InstanceKey     // key of the explained instance, if direct is set
	values     map[*reads.Value]bool // by value: whether it is explained or uses what is explained
	resources  map[*reads.Resource]*use
	attributes map[seenAttribute]bool
	calls      map[*reads.Module]bool
}

// use says which parts of a resource block use a value.
type use struct {
	attributes map[string]bool // names of attributes and blocks
	instances  bool            // arguments that decide the instances, including those of the module
	triggers   bool            // lifecycle.replace_triggered_by
}

func (e *explainer) reach() *reach {
	return &reach{t: e.tracer(), values: map[*reads.Value]bool{}, resources: map[*reads.Resource]*use{},
		attributes: map[seenAttribute]bool{}, calls: map[*reads.Module]bool{}}
}

// changing returns the changes of objects and root outputs that use the value. within is the
// address of instances of the module of the value. Objects in other instances of this module, or in
// modules inside those, are left out.
func (r *reach) changing(within addrs.ModuleInstance) []*Other {
	var found []part
	for _, block := range r.t.Graph.Resources {
		for _, c := range r.t.byConfig[block.Addr] {
			inside := within.Module().Contains(c.Addr.Module.Module())
			if inside && !(addrs.Target{Module: within}).ContainsInstance(c.Addr) {
				continue
			}
			if acts(c) && r.uses(c, r.block(block)) {
				found = append(found, part{change: c, action: c.Action.String()})
			}
		}
	}
	out := grouped(found)
	for _, c := range r.t.plan.Changes.Outputs {
		if c.Action != plans.NoOp && c.Action != plans.Delete && r.value(r.t.Graph.Root.Outputs[c.Name]) {
			out = append(out, &Other{Address: "output." + c.Name, Count: 1, Action: c.Action.String()})
		}
	}
	return out
}

// uses reports whether a change uses the value in one of the ways that u lists.
func (r *reach) uses(c *plans.InstanceChange, u *use) bool {
	switch c.Reason {
	case plans.DeleteCountIndex, plans.DeleteEachKey, plans.DeleteEnabledFalse, plans.DeleteNoModule:
		return u.instances
	}
	if triggered(c) && u.triggers {
		return true
	}
	if c.Action == plans.Create && u.instances {
		return true
	}
	if c.After.IsNull() {
		return false
	}
	for name := range u.attributes {
		if r.t.changes(c, name) {
			return true
		}
	}
	return false
}

// block returns the parts of a resource block that use the value.
func (r *reach) block(of *reads.Resource) *use {
	if u := r.resources[of]; u != nil {
		return u
	}
	u := &use{attributes: map[string]bool{}}
	r.resources[of] = u // set early because the block may refer to its own instances
	if of.Config == nil || of.Exprs == nil {
		return u
	}
	in := wholeScope(of)
	u.instances = r.repetition(of.Exprs.Repetition, of.Module) || r.call(of.Module)
	for _, trigger := range of.Exprs.Triggers {
		u.triggers = u.triggers || r.refs(&trigger.Refs, in)
	}
	if of.Exprs.Body == nil || of.Schema == nil {
		return u
	}
	places := configs.Places(of.Config.Config, of.Schema.Block)
	for _, ref := range of.Exprs.Body.Refs.Objects {
		if !r.ref(&of.Exprs.Body.Refs, ref, in) {
			continue
		}
		isInside := func(at hcl.Range) bool { return within(ref.Range, at) }
		for name, ranges := range places {
			if slices.ContainsFunc(ranges, isInside) {
				u.attributes[name] = true
			}
		}
	}
	return u
}

// call reports whether the value is used by the arguments that decide the instances of a module or
// of a module that contains it.
func (r *reach) call(m *reads.Module) bool {
	if m.Parent == nil {
		return false
	}
	found, seen := r.calls[m]
	if !seen {
		found = r.repetition(m.Repetition, m.Parent) || r.call(m.Parent)
		r.calls[m] = found
	}
	return found
}

func (r *reach) repetition(rep reads.Repetition, m *reads.Module) bool {
	return slices.ContainsFunc(rep.Refs(), func(refs *lang.Refs) bool { return r.refs(refs, reads.Scope{Module: m}) })
}

// refs reports whether one of several references in a scope leads to the value.
func (r *reach) refs(refs *lang.Refs, in reads.Scope) bool {
	return slices.ContainsFunc(refs.Objects, func(ref *addrs.Reference) bool { return r.ref(refs, ref, in) })
}

func (r *reach) ref(refs *lang.Refs, ref *addrs.Reference, in reads.Scope) bool {
	to := in.Follow(refs, ref)
	_, count := ref.Subject.(addrs.CountAttr)
	switch {
	case count:
		return false
	case to.Resource != nil:
		named := !r.direct || !to.Known || slices.Contains(to.Keys, r.key)
		return named && r.resource(to.Resource, addrs.FirstName(to.Rest))
	case to.Call != nil: // also if the value decides the instances of the module
		return slices.ContainsFunc(to.Values, r.value) || r.call(to.Call)
	case to.Values != nil:
		return slices.ContainsFunc(to.Values, r.value)
	}
	return to.Decides != nil && r.refs(&to.Decides.Refs, reads.Scope{Module: in.Module})
}

func (r *reach) value(v *reads.Value) bool {
	found, seen := r.values[v]
	if seen || v.Expr == nil {
		return found
	}
	found = r.refs(&v.Expr.Refs, v.Scope(v.Module.Path.UnkeyedInstance(), nil))
	r.values[v] = found
	return found
}

// resource reports whether an attribute of a resource changes because of the value. An empty name
// means the whole object. For the explained resource itself, it returns true. If direct is set, it
// only reports whether the data source in a check block reads what is explained.
func (r *reach) resource(of *reads.Resource, name string) bool {
	if of == nil || of == r.whole {
		return of != nil
	}
	if r.direct {
		return r.nested(of)
	}
	key := seenAttribute{r: of, name: name}
	found, seen := r.attributes[key]
	if seen {
		return found
	}
	r.attributes[key] = false // set early because the block may refer to its own instances
	u := r.block(of)
	found = slices.ContainsFunc(r.t.byConfig[of.Addr], func(c *plans.InstanceChange) bool {
		return r.t.changes(c, name) && r.uses(c, u)
	})
	r.attributes[key] = found
	return found
}

// nested reports whether the data source in a check block reads the explained value or resource.
func (r *reach) nested(of *reads.Resource) bool {
	return of.Config != nil && of.Config.Check != nil && of.Exprs != nil && of.Exprs.Body != nil &&
		r.refs(&of.Exprs.Body.Refs, wholeScope(of))
}

// wholeScope returns the scope of a block as a whole.
func wholeScope(of *reads.Resource) reads.Scope {
	return of.Scope(of.Module.Path.UnkeyedInstance(), addrs.NoKey, nil, nil)
}
