package objchange

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
)

// Restored returns config with the values of past, an earlier version of the object. Applying the
// result brings the object back to that version. present is the current object, or null if it
// doesn't exist.
//
// Some parts of config stay unchanged: parts that are unknown or marked as renewed, because they
// depend on objects that change or that can't be brought back; write-only attributes, because
// objects don't contain them; and attributes that the provider decides, unless their current value
// differs from their earlier one. Marks of config and past are kept.
func Restored(schema *configschema.Block, config, past, present cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() || config.IsMarked() || past.IsNull() {
		return config
	}
	return shapeOf(schema).restored(config, past, present)
}

// settled reports whether a value of the configuration can be replaced with an earlier value. This
// is true if the value depends on no object that changes now or that differs from its earlier
// version. It is also true if the value depends on absent objects, because then there is only the
// earlier value.
func settled(v cty.Value) bool {
	return v.IsWhollyKnown() && !marks.Contains(v, marks.Renewed) || marks.Contains(v, marks.Absent)
}

func (s shape) restored(config, past, present cty.Value) cty.Value {
	vals := make(map[string]cty.Value, len(s.attrs)+len(s.blocks))
	for name, a := range s.attrs {
		ty := a.ImpliedType()
		vals[name] = restoredAttr(a, attr(config, name, ty), attr(past, name, ty), attr(present, name, ty),
			present.IsNull())
	}
	for name, n := range s.blocks {
		c := config.GetAttr(name)
		vals[name] = shapeOf(&n.Block).restoredAll(n.Nesting, c, attr(past, name, c.Type()),
			attr(present, name, c.Type()))
	}
	return cty.ObjectVal(vals)
}

// restoredAttr is Restored for an attribute. created reports that the object doesn't exist at
// present.
func restoredAttr(a *configschema.Attribute, config, past, present cty.Value, created bool) cty.Value {
	same := bare(past).RawEquals(bare(present))
	switch {
	case a.WriteOnly, !a.Optional && !a.Required:
		return config
	case a.Computed && config.IsNull() && (created || same):
		return config
	case config.IsNull() && same && coerce.IsZero(bare(past)): // a legacy provider stores null as a zero value
		return config
	case bare(config).RawEquals(bare(past)):
		return config
	case a.NestedType != nil:
		return objectShape(a.NestedType).restoredAll(a.NestedType.Nesting, config, past, present)
	}
	return restoredValue(config, past)
}

// restoredValue is Restored for a value without a schema. Elements are paired by index or key if
// their number is the same as before.
func restoredValue(config, past cty.Value) cty.Value {
	switch {
	case settled(config):
		return likeConfig(past, config)
	case !pairs(config, past) || !config.CanIterateElements() || !past.CanIterateElements():
		return config
	}
	return paired(config, past, restoredValue)
}

// paired merges the elements of two collections that have the same index or key. If their indexes
// or keys differ, or if they are sets, it returns v.
func paired(v, other cty.Value, merge func(v, other cty.Value) cty.Value) cty.Value {
	ty := v.Type()
	switch {
	case ty.IsSetType() || v.LengthInt() != other.LengthInt():
		return v
	case ty.IsMapType() || ty.IsObjectType():
		vals, others := v.AsValueMap(), entries(other)
		for key, elem := range vals {
			o, ok := others[key]
			if !ok {
				return v
			}
			vals[key] = merge(elem, o)
		}
		return keyed(vals, v)
	case other.Type().IsMapType() || other.Type().IsObjectType():
		return v
	}
	vals, others := v.AsValueSlice(), other.AsValueSlice()
	for i, elem := range vals {
		vals[i] = merge(elem, others[i])
	}
	return sequence(vals, v)
}

// likeConfig returns an earlier value. It marks the value as sensitive if the configured value is.
func likeConfig(past, config cty.Value) cty.Value {
	if marks.Contains(config, marks.Sensitive) {
		return past.Mark(marks.Sensitive)
	}
	return past
}

// restoredAll is Restored for all objects of a block type or nested attribute. Objects are paired
// by index or key if their number is the same as before.
func (s shape) restoredAll(mode configschema.NestingMode, config, past, present cty.Value) cty.Value {
	whole := func() cty.Value {
		if !settled(config) {
			return config
		}
		return likeConfig(s.configurable(mode, past), config)
	}
	if config.IsNull() || past.IsNull() || config.IsMarked() || past.IsMarked() || !config.IsKnown() {
		return whole()
	}
	switch {
	case singular(mode):
		return s.restored(config, past, present)
	case mode == configschema.NestingMap:
		vals, pasts, presents := config.AsValueMap(), entries(past), entries(bare(present))
		for key, c := range vals {
			p, ok := pasts[key]
			if !ok || !pairs(c, p) {
				return whole()
			}
			vals[key] = s.restored(c, p, entry(presents, key, c))
		}
		if len(vals) != len(pasts) {
			return whole()
		}
		return keyed(vals, config)
	case mode == configschema.NestingSet:
		if settled(config) && s.couldResultAll(mode, bare(past), bare(config)) {
			return config
		}
		return whole()
	}
	vals, pasts, presents := config.AsValueSlice(), elements(past), elements(bare(present))
	if len(vals) != len(pasts) {
		return whole()
	}
	for i, c := range vals {
		if !pairs(c, pasts[i]) {
			return whole()
		}
		vals[i] = s.restored(c, pasts[i], at(presents, i, c))
	}
	return sequence(vals, config)
}

// pairs reports whether an object in the configuration can be merged with an earlier object.
func pairs(config, past cty.Value) bool {
	return !config.IsNull() && config.IsKnown() && !config.IsMarked() && !past.IsNull() && !past.IsMarked()
}

// configurable converts earlier objects to a configuration: attributes that only the provider sets
// become null.
func (s shape) configurable(mode configschema.NestingMode, v cty.Value) cty.Value {
	return s.without(mode, v, func(a *configschema.Attribute) bool { return !a.Optional && !a.Required })
}

// WithoutWriteOnly returns a configuration without the values of write-only attributes, which must
// not be stored.
func WithoutWriteOnly(schema *configschema.Block, config cty.Value) cty.Value {
	return shapeOf(schema).without(configschema.NestingSingle, config,
		func(a *configschema.Attribute) bool { return a.WriteOnly })
}

// without returns objects in which the attributes that drop selects are null. Marks of nested
// objects are kept.
func (s shape) without(
	mode configschema.NestingMode, v cty.Value, drop func(*configschema.Attribute) bool,
) cty.Value {
	if v.IsMarked() {
		v, outer := v.Unmark()
		return s.without(mode, v, drop).WithMarks(outer)
	}
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	switch {
	case singular(mode):
		vals := v.AsValueMap()
		for name, a := range s.attrs {
			switch {
			case drop(a):
				vals[name] = a.EmptyValue()
			case a.NestedType != nil:
				vals[name] = objectShape(a.NestedType).without(a.NestedType.Nesting, vals[name], drop)
			}
		}
		for name, n := range s.blocks {
			vals[name] = shapeOf(&n.Block).without(n.Nesting, vals[name], drop)
		}
		return cty.ObjectVal(vals)
	case mode == configschema.NestingMap:
		vals := v.AsValueMap()
		for key, elem := range vals {
			vals[key] = s.without(configschema.NestingSingle, elem, drop)
		}
		return keyed(vals, v)
	}
	vals := v.AsValueSlice()
	for i, elem := range vals {
		vals[i] = s.without(configschema.NestingSingle, elem, drop)
	}
	return sequence(vals, v)
}

// Completed fills in a configuration that was planned while parts of it were unknown. config is the
// same configuration, evaluated again. It provides the values of the unknown parts and of the
// write-only attributes.
func Completed(schema *configschema.Block, planned, config cty.Value) cty.Value {
	if planned.IsNull() || !planned.IsKnown() || config.IsNull() || !config.IsKnown() {
		return config
	}
	return shapeOf(schema).completed(planned, config)
}

func (s shape) completed(planned, config cty.Value) cty.Value {
	vals := make(map[string]cty.Value, len(s.attrs)+len(s.blocks))
	for name, a := range s.attrs {
		p, c := planned.GetAttr(name), config.GetAttr(name)
		switch {
		case a.WriteOnly:
			p = c
		case a.NestedType != nil:
			p = objectShape(a.NestedType).completedAll(a.NestedType.Nesting, p, c)
		default:
			p = completedValue(p, c)
		}
		vals[name] = p
	}
	for name, n := range s.blocks {
		vals[name] = shapeOf(&n.Block).completedAll(n.Nesting, planned.GetAttr(name), config.GetAttr(name))
	}
	return cty.ObjectVal(vals)
}

// completedValue is Completed for a value without a schema.
func completedValue(planned, config cty.Value) cty.Value {
	switch {
	case planned.IsWhollyKnown():
		return planned
	case !planned.IsKnown() || !pairs(config, planned) || !planned.CanIterateElements() || !config.CanIterateElements(),
		planned.Type().IsSetType() || planned.LengthInt() != config.LengthInt():
		return config
	}
	return paired(planned, config, completedValue)
}

func (s shape) completedAll(mode configschema.NestingMode, planned, config cty.Value) cty.Value {
	whole := func() cty.Value {
		if planned.IsWhollyKnown() {
			return planned
		}
		return config
	}
	if !pairs(config, planned) || !planned.IsKnown() {
		return whole()
	}
	switch {
	case singular(mode):
		return s.completed(planned, config)
	case mode == configschema.NestingMap:
		vals, configs := planned.AsValueMap(), entries(config)
		for key, p := range vals {
			c, ok := configs[key]
			if !ok || !pairs(c, p) || !p.IsKnown() {
				return whole()
			}
			vals[key] = s.completed(p, c)
		}
		if len(vals) != len(configs) {
			return whole()
		}
		return keyed(vals, planned)
	case mode == configschema.NestingSet:
		return whole()
	}
	vals, configs := planned.AsValueSlice(), elements(config)
	if len(vals) != len(configs) {
		return whole()
	}
	for i, p := range vals {
		if !pairs(configs[i], p) || !p.IsKnown() {
			return whole()
		}
		vals[i] = s.completed(p, configs[i])
	}
	return sequence(vals, planned)
}
