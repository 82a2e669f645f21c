package objchange

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/configschema"
)

// Ignore represents the ignore_changes argument of a resource block.
type Ignore struct {
	All   bool
	Paths []hcl.Traversal // paths in the object, without the resource's address
}

// Any reports whether any changes are ignored.
func (ig Ignore) Any() bool { return ig.All || len(ig.Paths) > 0 }

// Covers reports whether changes of the whole value at a path are ignored.
func (ig Ignore) Covers(path cty.Path) bool {
	return ig.All || slices.ContainsFunc(ig.Paths, func(tr hcl.Traversal) bool {
		steps := RelativeSteps(tr)
		if len(steps) > len(path) {
			return false
		}
		for i, step := range steps {
			var at string
			switch s := path[i].(type) {
			case cty.GetAttrStep:
				at = s.Name
			case cty.IndexStep:
				at, _ = keyText(s.Key)
			}
			if name, ok := keyText(step); !ok || name != at {
				return false
			}
		}
		return true
	})
}

// InConfig returns config with prior's values at the ignored paths. If all changes are ignored, it
// returns prior without the values that only the provider sets. If prior or config is null, it
// returns config.
func (ig Ignore) InConfig(schema *configschema.Block, prior, config cty.Value) cty.Value {
	switch {
	case prior.IsNull() || config.IsNull():
		return config
	case ig.All:
		return withoutComputed(schema, prior)
	}
	for _, tr := range ig.Paths {
		config = replaceAt(prior, config, RelativeSteps(tr))
	}
	return config
}

// InPlan returns the planned object with prior's values at the ignored paths, or prior if all
// changes are ignored. A planned deletion is returned unchanged. It is meant for providers that use
// the legacy SDK, whose plans may differ from the configuration.
func (ig Ignore) InPlan(prior, planned cty.Value) cty.Value {
	if ig.All && !planned.IsNull() {
		return prior
	}
	for _, tr := range ig.Paths {
		planned = replaceAt(prior, planned, RelativeSteps(tr))
	}
	return planned
}

// RelativeSteps returns the steps of a relative traversal as values. An attribute name becomes a
// string.
func RelativeSteps(tr hcl.Traversal) []cty.Value {
	var out []cty.Value
	for _, step := range tr {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			out = append(out, cty.StringVal(step.Name))
		case hcl.TraverseAttr:
			out = append(out, cty.StringVal(step.Name))
		case hcl.TraverseIndex:
			out = append(out, step.Key)
		}
	}
	return out
}

// replaceAt returns config with prior's value at the path given by steps. If the path does not
// exist, it returns config unchanged. A map key that prior does not have is removed.
func replaceAt(prior, config cty.Value, steps []cty.Value) cty.Value {
	if len(steps) == 0 {
		return prior
	}
	if !config.IsKnown() || config.IsMarked() {
		return config
	}
	key, ty := steps[0], config.Type()
	switch {
	case ty.IsMapType() || prior.Type().IsMapType():
		return replaceKey(prior, config, key, steps[1:])
	case config.IsNull() || prior.IsNull() || !prior.IsKnown():
		return config
	case ty.IsObjectType():
		name, ok := keyText(key)
		if !ok || !ty.HasAttribute(name) {
			return config
		}
		attrs := config.AsValueMap()
		attrs[name] = replaceAt(prior.GetAttr(name), attrs[name], steps[1:])
		return cty.ObjectVal(attrs)
	case ty.IsListType() || ty.IsTupleType():
		key, err := convert.Convert(key, cty.Number)
		if err != nil || config.HasIndex(key).False() || prior.HasIndex(key).False() {
			return config
		}
		i, _ := key.AsBigFloat().Int64()
		elems := config.AsValueSlice()
		elems[i] = replaceAt(prior.Index(key), elems[i], steps[1:])
		if ty.IsTupleType() {
			return cty.TupleVal(elems)
		}
		return cty.ListVal(elems)
	}
	return config
}

// replaceKey is replaceAt for maps. The key may be missing in one of the two values.
func replaceKey(prior, config, key cty.Value, rest []cty.Value) cty.Value {
	name, ok := keyText(key)
	if !ok || !prior.IsKnown() {
		return config
	}
	key = cty.StringVal(name)
	elems := map[string]cty.Value{}
	if !config.IsNull() {
		maps.Copy(elems, config.AsValueMap())
	}
	had := !prior.IsNull() && prior.HasIndex(key).True()
	current, has := elems[name]
	switch {
	case had && len(rest) > 0 && has:
		elems[name] = replaceAt(prior.Index(key), current, rest)
	case had && len(rest) == 0:
		elems[name] = prior.Index(key)
	case !had && len(rest) == 0:
		delete(elems, name)
	default:
		return config
	}
	if len(elems) == 0 {
		if config.IsNull() || prior.IsNull() && !has {
			return config
		}
		if prior.IsNull() {
			return prior
		}
		return cty.MapValEmpty(config.Type().ElementType())
	}
	return cty.MapVal(elems)
}

// keyText returns the key of a map or the name of an attribute as text, also for an index such as 0.
func keyText(key cty.Value) (string, bool) {
	text, err := convert.Convert(key, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		return "", false
	}
	return text.AsString(), true
}

// withoutComputed converts an object to a configuration: attributes that only the provider sets
// become null.
func withoutComputed(schema *configschema.Block, v cty.Value) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	attrs := v.AsValueMap()
	for name, attr := range schema.Attributes {
		if attr.Computed && !attr.Optional {
			attrs[name] = cty.NullVal(attrs[name].Type())
		}
	}
	for name, nested := range schema.BlockTypes {
		attrs[name] = eachBlock(attrs[name], func(b cty.Value) cty.Value { return withoutComputed(&nested.Block, b) })
	}
	return cty.ObjectVal(attrs)
}

// eachBlock returns the value of a nested block type after applying f to each block.
func eachBlock(v cty.Value, f func(cty.Value) cty.Value) cty.Value {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return v
	case ty.IsObjectType():
		return f(v)
	case !ty.IsCollectionType() || v.LengthInt() == 0:
		return v
	case ty.IsMapType():
		elems := v.AsValueMap()
		for k, e := range elems {
			elems[k] = f(e)
		}
		return cty.MapVal(elems)
	}
	elems := v.AsValueSlice()
	for i, e := range elems {
		elems[i] = f(e)
	}
	if ty.IsSetType() {
		return cty.SetVal(elems)
	}
	return cty.ListVal(elems)
}
