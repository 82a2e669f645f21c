package warm

import (
	"context"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lang"
	"tofu/internal/roots"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
)

// Scope returns a scope for expressions in a module instance whose values are shown, with the plan's values. It
// returns nil if there is no such module instance. Only one expression may be evaluated at a time.
func (p *Plan) Scope(ctx context.Context, values *engine.PlannedValues, in addrs.ModuleInstance) *lang.Scope {
	scope := values.Scope(ctx, in)
	cfg := p.View.Config.Descendant(in.Module())
	if scope == nil || cfg == nil {
		return nil
	}
	own := *scope
	own.Data = shownData{own.Data, cfg, p.remote}
	return &own
}

// shownData marks as sensitive what is secret though its value isn't marked in the language: outputs of
// terraform_data whose input is sensitive, and sensitive outputs of other root modules.
type shownData struct {
	lang.Data
	cfg    *configs.Config
	remote map[string]*roots.Root // root modules that the data sources of the root module read, by their names
}

// Value implements lang.Data.
func (d shownData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	v, err := d.Data.Value(subject, rng)
	return d.marked(subject, v), err
}

// Instances implements lang.Data.
func (d shownData) Instances(subject addrs.Referenceable, of lang.Instances) (cty.Value, bool) {
	v, ok := d.Data.Instances(subject, of)
	return d.marked(subject, v), ok
}

func (d shownData) marked(subject addrs.Referenceable, v cty.Value) cty.Value {
	addr, _ := subject.(addrs.Resource)
	r := d.cfg.Module.Resources[addr]
	mark := func(object cty.Value) cty.Value { return planview.MarkOutput(object, addrs.BuiltinTerraform, addr) }
	if addr.Mode == addrs.Data && d.cfg.Path.IsRoot() && d.remote[addr.Name] != nil {
		mark = func(object cty.Value) cty.Value { return markRemote(object, d.remote[addr.Name]) }
	}
	switch {
	case v == cty.NilVal || r == nil || addr.Type != "terraform_data" && addr.Type != "terraform_remote_state":
		return v
	case r.Count == nil && r.ForEach == nil:
		return known(v, mark)
	}
	return known(v, func(all cty.Value) cty.Value {
		if !all.CanIterateElements() {
			return all
		}
		if ty := all.Type(); ty.IsObjectType() || ty.IsMapType() {
			objects := all.AsValueMap()
			for key, object := range objects {
				objects[key] = known(object, mark)
			}
			return cty.ObjectVal(objects)
		}
		objects := all.AsValueSlice()
		for i, object := range objects {
			objects[i] = known(object, mark)
		}
		return cty.TupleVal(objects)
	})
}

// known applies mark to a value without its own marks, unless it is unknown or null.
func known(v cty.Value, mark func(cty.Value) cty.Value) cty.Value {
	bare, m := v.Unmark()
	if !bare.IsKnown() || bare.IsNull() {
		return v
	}
	return mark(bare).WithMarks(m)
}

// markRemote marks the sensitive outputs of a root module in an object of terraform_remote_state.
func markRemote(object cty.Value, r *roots.Root) cty.Value {
	outputs := object.GetAttr("outputs")
	if !outputs.IsKnown() || outputs.IsNull() || !outputs.Type().IsObjectType() {
		return object
	}
	var paths []cty.Path
	for _, name := range r.SensitiveOutputs() {
		if outputs.Type().HasAttribute(name) {
			paths = append(paths, cty.GetAttrPath("outputs").GetAttr(name))
		}
	}
	return states.MarkSensitive(object, paths)
}
