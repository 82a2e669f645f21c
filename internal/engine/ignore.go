package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/configschema"
)

// relativeSteps gives the attribute names and keys of a traversal as values: a name is a string too.
func relativeSteps(tr hcl.Traversal) []cty.Value {
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

// replaceAt gives config with prior's value at the place that the steps lead to. Where they lead nowhere nothing is changed; a map
// key that prior doesn't have is taken out.
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
		if key.Type() != cty.String || !ty.HasAttribute(key.AsString()) {
			return config
		}
		name := key.AsString()
		attrs := config.AsValueMap()
		attrs[name] = replaceAt(prior.GetAttr(name), attrs[name], steps[1:])
		return cty.ObjectVal(attrs)
	case ty.IsListType() || ty.IsTupleType():
		if key.Type() != cty.Number || config.HasIndex(key).False() || prior.HasIndex(key).False() {
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

// replaceKey is replaceAt for maps: the key may be on either side only.
func replaceKey(prior, config, key cty.Value, rest []cty.Value) cty.Value {
	if key.Type() != cty.String || !prior.IsKnown() {
		return config
	}
	elems := map[string]cty.Value{}
	if !config.IsNull() {
		for k, v := range config.AsValueMap() {
			elems[k] = v
		}
	}
	name := key.AsString()
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

// withoutComputed gives an object with what only its provider sets taken out, so that it can stand for a configuration.
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

// eachBlock changes every block of a nested block value, whatever its nesting.
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
