package objchange

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// Proposed merges the prior object and the configuration into the object that is proposed to the
// provider. Configured values take precedence. A computed attribute that is not configured keeps
// its prior value, or null if there is no prior object. But if it is optional, has nested
// attributes and was configured before, it becomes null, and the provider decides whether it
// becomes unknown. Nested objects are paired by index or key, and set elements by similarity.
// Write-only values are part of the proposal, because providers use them to detect that an
// attribute requires a replacement.
func Proposed(schema *configschema.Block, prior, config cty.Value) cty.Value {
	prior, config = bare(prior), bare(config)
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	return shapeOf(schema).proposed(prior, config)
}

func (s shape) proposed(prior, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	vals := make(map[string]cty.Value, len(s.attrs)+len(s.blocks))
	for name, a := range s.attrs {
		ty := a.ImpliedType()
		vals[name] = proposedAttr(a, attr(prior, name, ty), attr(config, name, ty))
	}
	for name, n := range s.blocks {
		c := config.GetAttr(name)
		vals[name] = shapeOf(&n.Block).proposedAll(n.Nesting, attr(prior, name, c.Type()), c)
	}
	return cty.ObjectVal(vals)
}

func proposedAttr(a *configschema.Attribute, prior, config cty.Value) cty.Value {
	switch {
	case a.Computed && config.IsNull():
		if a.Optional && a.NestedType != nil && wasConfigured(a.NestedType, prior) {
			return config // the attribute has been removed from the configuration
		}
		return prior
	case a.NestedType != nil:
		return objectShape(a.NestedType).proposedAll(a.NestedType.Nesting, prior, config)
	}
	return config
}

// proposedAll merges all objects of a block type or nested attribute. If the configuration is not
// known yet, which can happen with dynamic blocks, it proposes the configuration unchanged.
func (s shape) proposedAll(mode configschema.NestingMode, prior, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	switch {
	case singular(mode):
		return s.proposed(prior, config)
	case mode == configschema.NestingMap:
		priors := entries(prior)
		vals := config.AsValueMap()
		for key, c := range vals {
			vals[key] = s.proposed(entry(priors, key, c), c)
		}
		return keyed(vals, config)
	case mode == configschema.NestingSet:
		pool := newPool(s, elements(prior))
		vals := config.AsValueSlice()
		for i, c := range vals {
			vals[i] = s.proposed(pool.take(c), c)
		}
		return sequence(vals, config)
	}
	priors := elements(prior)
	vals := config.AsValueSlice()
	for i, c := range vals {
		vals[i] = s.proposed(at(priors, i, c), c)
	}
	return sequence(vals, config)
}

// wasConfigured reports whether a prior value has parts that only a configuration can have set.
func wasConfigured(o *configschema.Object, prior cty.Value) bool {
	if prior.IsNull() || !prior.IsKnown() {
		return false
	}
	objects := []cty.Value{prior}
	if !singular(o.Nesting) {
		objects = elements(prior)
	}
	for _, obj := range objects {
		for name, a := range o.Attributes {
			v := attr(obj, name, a.ImpliedType())
			if !v.IsNull() && !a.Computed || a.NestedType != nil && wasConfigured(a.NestedType, v) {
				return true
			}
		}
	}
	return false
}

// pool holds the prior elements of a set. Each element can be taken once. A hash of the attributes
// that only the configuration sets is used to find elements, so a set of n elements takes about n
// comparisons.
type pool struct {
	shape   shape
	names   []string // names of the attributes in the hash
	buckets map[int][]cty.Value
}

func newPool(s shape, priors []cty.Value) *pool {
	p := &pool{shape: s}
	if len(priors) == 0 {
		return p
	}
	p.names = s.configured()
	p.buckets = make(map[int][]cty.Value, len(priors))
	for _, v := range priors {
		if !v.IsNull() && v.IsWhollyKnown() {
			key := attrsHash(v, p.names)
			p.buckets[key] = append(p.buckets[key], v)
		}
	}
	return p
}

// configured returns the names of the attributes that only the configuration sets, except nested
// and write-only attributes.
func (s shape) configured() []string {
	var names []string
	for name, a := range s.attrs {
		if !a.Computed && !a.WriteOnly && a.NestedType == nil {
			names = append(names, name)
		}
	}
	return names
}

// take removes the prior element that config most likely refers to, and returns it. It returns null
// if there is no such element.
func (p *pool) take(config cty.Value) cty.Value {
	none := cty.NullVal(config.Type())
	if len(p.buckets) == 0 || config.IsNull() || !config.IsWhollyKnown() {
		return none
	}
	key := attrsHash(config, p.names)
	for i, prior := range p.buckets[key] {
		if p.shape.couldResult(prior, config) {
			p.buckets[key] = slices.Delete(p.buckets[key], i, i+1)
			return prior
		}
	}
	return none
}

// couldResult reports whether a prior object can be the result of applying the configuration. This
// is true if they differ only in write-only attributes and in computed attributes that are not
// configured.
func (s shape) couldResult(prior, config cty.Value) bool {
	if prior.IsNull() || config.IsNull() {
		return prior.IsNull() && config.IsNull()
	}
	for name, a := range s.attrs {
		p, c := prior.GetAttr(name), config.GetAttr(name)
		switch {
		case a.WriteOnly, p.RawEquals(c):
		case c.IsNull() && a.Computed:
			if a.Optional && a.NestedType != nil && wasConfigured(a.NestedType, p) {
				return false
			}
		case a.NestedType == nil || p.IsNull() || c.IsNull():
			return false
		case !objectShape(a.NestedType).couldResultAll(a.NestedType.Nesting, p, c):
			return false
		}
	}
	for name, n := range s.blocks {
		if !shapeOf(&n.Block).couldResultAll(n.Nesting, prior.GetAttr(name), config.GetAttr(name)) {
			return false
		}
	}
	return true
}

func (s shape) couldResultAll(mode configschema.NestingMode, prior, config cty.Value) bool {
	switch {
	case singular(mode):
		return s.couldResult(prior, config)
	case mode == configschema.NestingMap:
		priors, configs := entries(prior), entries(config)
		for key, c := range configs {
			if p, ok := priors[key]; !ok || !s.couldResult(p, c) {
				return false
			}
		}
		return len(priors) == len(configs)
	case mode == configschema.NestingSet:
		priors, configs := elements(prior), elements(config)
		rest := newPool(s, priors)
		for _, c := range configs {
			if rest.take(c).IsNull() {
				return false
			}
		}
		return len(priors) == len(configs)
	}
	priors, configs := elements(prior), elements(config)
	if len(priors) != len(configs) {
		return false
	}
	for i, c := range configs {
		if !s.couldResult(priors[i], c) {
			return false
		}
	}
	return true
}

// PlannedUnknown returns a placeholder for an object that a provider will read or create later: the
// configuration, in which all computed attributes that are not configured are unknown. Write-only
// attributes are null.
func PlannedUnknown(schema *configschema.Block, config cty.Value) cty.Value {
	return shapeOf(schema).unknown(bare(config))
}

func (s shape) unknown(config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	vals := make(map[string]cty.Value, len(s.attrs)+len(s.blocks))
	for name, a := range s.attrs {
		c := config.GetAttr(name)
		switch {
		case a.WriteOnly:
			c = a.EmptyValue()
		case a.Computed && c.IsNull():
			c = cty.UnknownVal(a.ImpliedType())
		case a.NestedType != nil:
			c = objectShape(a.NestedType).unknownAll(a.NestedType.Nesting, c)
		}
		vals[name] = c
	}
	for name, n := range s.blocks {
		vals[name] = shapeOf(&n.Block).unknownAll(n.Nesting, config.GetAttr(name))
	}
	return cty.ObjectVal(vals)
}

func (s shape) unknownAll(mode configschema.NestingMode, config cty.Value) cty.Value {
	if config.IsNull() || !config.IsKnown() {
		return config
	}
	if singular(mode) {
		return s.unknown(config)
	}
	if mode == configschema.NestingMap {
		vals := config.AsValueMap()
		for key, c := range vals {
			vals[key] = s.unknown(c)
		}
		return keyed(vals, config)
	}
	vals := config.AsValueSlice()
	for i, c := range vals {
		vals[i] = s.unknown(c)
	}
	return sequence(vals, config)
}
