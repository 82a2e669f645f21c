package objchange

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// AssertPlanValid returns an error for each violation of the rules for plans. A configured
// attribute must be planned as configured or unchanged. An attribute that is not configured must be
// planned as null unless the schema declares it as computed. A write-only attribute must always be
// planned as null. Blocks must be planned as configured, but blocks in sets are not compared. The
// caller must have checked the types. Refinements of unknown values are ignored.
func AssertPlanValid(schema *configschema.Block, prior, config, planned cty.Value) []error {
	prior, hidden := unmark(prior)
	config, more := unmark(config)
	hidden = append(hidden, more...)
	planned = bare(planned)

	var c planCheck
	c.object(shapeOf(schema), prior, config, planned, nil)
	if len(c.problems) > 0 { // check again without refinements, which may be the only differences
		c.problems = nil
		c.object(shapeOf(schema), unrefined(prior), unrefined(config), unrefined(planned), nil)
	}
	return c.problems.errors(schema, hidden)
}

// unrefined removes the refinements of unknown values, so that these values compare as equal.
func unrefined(v cty.Value) cty.Value {
	switch {
	case !v.IsKnown():
		return cty.UnknownVal(v.Type())
	case v.IsWhollyKnown():
		return v
	}
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		return cty.UnknownVal(v.Type()), nil
	})
	if err != nil {
		panic("unreachable: the transformation returns no error: " + err.Error())
	}
	return out
}

type planCheck struct{ problems problems }

func (c *planCheck) object(s shape, prior, config, planned cty.Value, path cty.Path) {
	switch {
	case planned.IsNull() && !config.IsNull():
		c.problems.plain(path, "planned to be absent, but the configuration has it")
		return
	case config.IsNull() && !planned.IsNull():
		c.problems.plain(path, "planned to exist, but the configuration does not have it")
		return
	case planned.IsNull():
		return
	case !planned.IsKnown():
		if config.IsKnown() {
			c.problems.plain(path, "planned unknown object for a known one in the configuration")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.attrs)) {
		a := s.attrs[name]
		ty := a.ImpliedType()
		c.attribute(a, attr(prior, name, ty), attr(config, name, ty), planned.GetAttr(name), path, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.blocks)) {
		n := s.blocks[name]
		conf, plan := attr(config, name, n.Type()), planned.GetAttr(name)
		if !plan.RawEquals(conf) {
			c.blocks(n, attr(prior, name, plan.Type()), conf, plan, path.GetAttr(name))
		}
	}
}

// attribute checks one attribute. It creates the path only if there is an error.
func (c *planCheck) attribute(
	a *configschema.Attribute, prior, config, planned cty.Value, parent cty.Path, name string,
) {
	switch {
	case a.WriteOnly:
		if !planned.IsNull() {
			c.problems.plain(parent.GetAttr(name), "planned value for a write-only attribute, which must be null")
		}
		return
	case planned.RawEquals(config):
		return
	case !prior.IsNull() && !config.IsNull() && planned.RawEquals(prior):
		return // the provider may treat both values as equal and keep the prior one
	case a.Computed && !a.Optional:
		return
	case config.IsNull() && a.Computed:
		return
	}
	path := parent.GetAttr(name)
	switch {
	case config.IsNull():
		c.problems.add(path, "a sensitive value was planned for an attribute that is not computed",
			"%#v was planned for an attribute that is not computed", planned)
	case a.NestedType != nil && !planned.IsNull() && config.IsKnown():
		if !planned.IsKnown() {
			c.problems.plain(path, "planned unknown value for a known configuration")
			return
		}
		c.nested(a.NestedType, prior, config, planned, path)
	case prior.IsNull() || prior.RawEquals(config):
		c.problems.add(path, "a sensitive value was planned that is not the configured one",
			"%#v was planned, but %#v is configured", planned, config)
	default:
		c.problems.add(path, "a sensitive value was planned that is neither the configured nor the prior one",
			"%#v was planned, but %#v is configured and %#v was there before", planned, config, prior)
	}
}

// nested checks the objects of a nested attribute. config and planned must be known and not null.
func (c *planCheck) nested(o *configschema.Object, prior, config, planned cty.Value, path cty.Path) {
	s := objectShape(o)
	switch o.Nesting {
	case configschema.NestingList:
		c.list(s, prior, config, planned, path, "elements")
	case configschema.NestingMap:
		c.keyed(s, prior, config, planned, path, "map")
	case configschema.NestingSet:
		// An element may be planned as configured or unchanged, so elements are compared to find
		// pairs.
		valid := func(plan, conf cty.Value) bool {
			var one planCheck
			one.object(s, cty.NullVal(plan.Type()), conf, plan, nil)
			return len(one.problems) == 0
		}
		plans, configs := elements(planned), elements(config)
		if len(plans) != len(configs) {
			c.problems.plain(path, "the numbers of elements differ: %d planned, %d configured", len(plans),
				len(configs))
			return
		}
		priors := hashed(elements(prior))
		for _, v := range unmatched(plans, configs, s.configured(), valid) {
			if !priors.has(v) {
				c.problems.add(path, "planned a set element that the configuration does not have",
					"planned the set element %#v, which the configuration does not have", v)
			}
		}
	default:
		c.object(s, prior, config, planned, path)
	}
}

// blocks checks all blocks of a type.
func (c *planCheck) blocks(n *configschema.NestedBlock, prior, config, planned cty.Value, path cty.Path) {
	s := shapeOf(&n.Block)
	switch {
	case !config.IsKnown():
		c.problems.plain(path, "planned blocks where their number in the configuration isn't known yet")
		return
	case !planned.IsKnown():
		c.problems.plain(path, "blocks planned as unknown; only the attributes in them can be unknown")
		return
	case singular(n.Nesting):
		c.object(s, prior, config, planned, path)
		return
	case planned.IsNull():
		c.problems.plain(path, "blocks planned as null; without blocks the %s has to be empty", n.Nesting)
		return
	}
	switch n.Nesting {
	case configschema.NestingList:
		c.list(s, prior, config, planned, path, "blocks")
	case configschema.NestingMap:
		c.keyed(s, prior, config, planned, path, "block")
	case configschema.NestingSet:
		for _, v := range elements(planned) {
			if !v.IsKnown() {
				c.problems.plain(path, "block planned as unknown; only the attributes in it can be unknown")
			}
		}
	}
}

func (c *planCheck) list(s shape, prior, config, planned cty.Value, path cty.Path, what string) {
	plans, configs, priors := elements(planned), elements(config), elements(prior)
	if len(plans) != len(configs) {
		c.problems.plain(path, "the numbers of %s differ: %d planned, %d configured", what, len(plans), len(configs))
		return
	}
	for i, plan := range plans {
		if !plan.RawEquals(configs[i]) {
			c.element(s, at(priors, i, plan), configs[i], plan, path.IndexInt(i))
		}
	}
}

func (c *planCheck) keyed(s shape, prior, config, planned cty.Value, path cty.Path, what string) {
	plans, configs, priors := entries(planned), entries(config), entries(prior)
	for _, key := range slices.Sorted(maps.Keys(plans)) {
		conf, ok := configs[key]
		if !ok {
			c.problems.plain(path, "%s key %q is planned, but not configured", what, key)
			continue
		}
		if plan := plans[key]; !plan.RawEquals(conf) {
			c.element(s, entry(priors, key, plan), conf, plan, path.IndexString(key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		if _, ok := plans[key]; !ok {
			c.problems.plain(path, "%s key %q is configured, but not planned", what, key)
		}
	}
}

func (c *planCheck) element(s shape, prior, config, planned cty.Value, path cty.Path) {
	if !planned.IsKnown() {
		c.problems.plain(path, "object planned as unknown; only the attributes in it can be unknown")
		return
	}
	c.object(s, prior, config, planned, path)
}
