package objchange

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// AssertCompatible returns an error for each path at which actual differs from what planned allows.
// Values that planned knows must be equal in actual. Where planned is unknown, actual must match
// its type and refinements. AssertCompatible checks the results of applying, and compares the final
// plan with the first plan.
func AssertCompatible(schema *configschema.Block, planned, actual cty.Value) []error {
	planned, hidden := unmark(planned)
	actual, more := unmark(actual)
	hidden = append(hidden, more...)
	if planned.RawEquals(actual) {
		return nil
	}
	c := compatCheck{show: goText}
	c.object(shapeOf(schema), planned, actual, nil)
	return c.problems.errors(schema, hidden)
}

// Contradictions is like [AssertCompatible], but for values of any type without a schema. show
// returns the text of a value for errors. The value may be unknown.
func Contradictions(planned, actual cty.Value, show func(cty.Value) string) []error {
	planned, hidden := unmark(planned)
	actual, more := unmark(actual)
	c := compatCheck{show: show}
	c.value(planned, actual, nil)
	return c.problems.errors(&configschema.Block{}, append(hidden, more...))
}

// goText returns the text of a value for errors about providers, in the Go syntax that their
// authors expect.
func goText(v cty.Value) string { return fmt.Sprintf("%#v", v) }

type compatCheck struct {
	problems problems
	show     func(cty.Value) string
}

// presence adds a problem if only one of the two values is null. It returns true if neither is
// null, so the contents must be compared.
func (c *compatCheck) presence(planned, actual cty.Value, path cty.Path) bool {
	switch {
	case planned.IsNull() && !actual.IsNull():
		c.problems.plain(path, "was absent, but now present")
	case actual.IsNull() && !planned.IsNull():
		c.problems.plain(path, "was present, but now absent")
	}
	return !planned.IsNull() && !actual.IsNull()
}

func (c *compatCheck) object(s shape, planned, actual cty.Value, path cty.Path) {
	if !planned.IsKnown() || !c.presence(planned, actual, path) {
		return
	}
	if !actual.IsKnown() {
		c.problems.plain(path, "was known, but now unknown")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.attrs)) {
		p, a := planned.GetAttr(name), actual.GetAttr(name)
		if !p.RawEquals(a) {
			c.value(p, a, path.GetAttr(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.blocks)) {
		p, a := planned.GetAttr(name), actual.GetAttr(name)
		if !p.RawEquals(a) {
			c.blocks(s.blocks[name], p, a, path.GetAttr(name))
		}
	}
}

// blocks compares all blocks of a type. If the number of planned blocks is unknown, any number of
// actual blocks is valid.
func (c *compatCheck) blocks(n *configschema.NestedBlock, planned, actual cty.Value, path cty.Path) {
	s := shapeOf(&n.Block)
	switch {
	case !planned.IsKnown():
		return
	case singular(n.Nesting):
		if actual.IsNull() && isPlaceholder(planned) {
			return
		}
		c.object(s, planned, actual, path)
		return
	case !actual.IsKnown():
		c.problems.plain(path, "was known, but now unknown")
		return
	case !c.presence(planned, actual, path):
		return
	}
	switch n.Nesting {
	case configschema.NestingSet:
		c.set(planned, actual, path)
	case configschema.NestingMap:
		c.keyedBlocks(s, planned, actual, path)
	default:
		plans, actuals := elements(planned), elements(actual)
		if len(plans) != len(actuals) {
			if !slices.ContainsFunc(plans, isPlaceholder) {
				c.problems.plain(path, "block count changed from %d to %d", len(plans), len(actuals))
			}
			return
		}
		for i, p := range plans {
			c.object(s, p, actuals[i], path.IndexInt(i))
		}
	}
}

func (c *compatCheck) keyedBlocks(s shape, planned, actual cty.Value, path cty.Path) {
	plans, actuals := entries(planned), entries(actual)
	for _, key := range slices.Sorted(maps.Keys(plans)) {
		if a, ok := actuals[key]; ok {
			c.object(s, plans[key], a, path.IndexString(key))
		} else {
			c.problems.plain(path, "block key %q has vanished", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(actuals)) {
		if _, ok := plans[key]; !ok {
			c.problems.plain(path, "new block key %q has appeared", key)
		}
	}
}

// isPlaceholder reports whether an object represents an unknown number of blocks. All values in
// such an object are unknown.
func isPlaceholder(v cty.Value) bool {
	if !v.IsKnown() {
		return true
	}
	if v.IsNull() || !v.Type().IsObjectType() || v.LengthInt() == 0 {
		return false
	}
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		switch {
		case !elem.IsKnown():
		case elem.IsNull():
			return false
		case elem.Type().IsObjectType():
			if !isPlaceholder(elem) {
				return false
			}
		case elem.CanIterateElements():
			isReal := func(v cty.Value) bool { return !isPlaceholder(v) }
			if slices.ContainsFunc(elem.AsValueSlice(), isReal) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// sensitiveChanged is the error text for sensitive values, which must not be shown.
const sensitiveChanged = "the value, which is sensitive, differs from the planned value"

// value compares two values of any type.
func (c *compatCheck) value(planned, actual cty.Value, path cty.Path) {
	switch {
	case planned.RawEquals(actual):
	case len(actual.Type().TestConformance(planned.Type())) > 0:
		c.problems.plain(path, "wrong final value type: the type must be %s", planned.Type().FriendlyNameForConstraint())
	case !planned.IsKnown():
		if fits := planned.Range().Includes(actual); fits.IsKnown() && fits.False() {
			c.problems.add(path, "the plan doesn't allow the value",
				"%s is not one of the values that the plan allows: %s", c.show(actual), c.show(planned))
		}
	case planned.IsNull():
		c.problems.add(path, sensitiveChanged, "was null, but now %s", c.show(actual))
	case actual.IsNull():
		c.problems.add(path, sensitiveChanged, "was %s, but now null", c.show(planned))
	case !actual.IsKnown():
		c.problems.plain(path, "was known, but now unknown")
	case planned.Type().IsPrimitiveType() || planned.Type().IsCapsuleType():
		c.problems.add(path, sensitiveChanged, "was %s, but now %s", c.show(planned), c.show(actual))
	case planned.Type().IsSetType():
		c.set(planned, actual, path)
	case planned.Type().IsObjectType():
		for _, name := range slices.Sorted(maps.Keys(planned.Type().AttributeTypes())) {
			if p, a := planned.GetAttr(name), actual.GetAttr(name); !p.RawEquals(a) {
				c.value(p, a, path.GetAttr(name))
			}
		}
	case planned.Type().IsMapType():
		c.mapping(planned, actual, path)
	default:
		c.sequence(planned, actual, path)
	}
}

func (c *compatCheck) sequence(planned, actual cty.Value, path cty.Path) {
	plans, actuals := elements(planned), elements(actual)
	for i := range max(len(plans), len(actuals)) {
		switch {
		case i >= len(actuals):
			c.problems.plain(path, "element %d has vanished", i)
		case i >= len(plans):
			c.problems.plain(path, "new element %d has appeared", i)
		default:
			c.value(plans[i], actuals[i], path.IndexInt(i))
		}
	}
}

func (c *compatCheck) mapping(planned, actual cty.Value, path cty.Path) {
	plans, actuals := entries(planned), entries(actual)
	for _, key := range slices.Sorted(maps.Keys(plans)) {
		if a, ok := actuals[key]; ok {
			c.value(plans[key], a, path.IndexString(key))
		} else {
			c.problems.plain(path, "element %q has vanished", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(actuals)) {
		if _, ok := plans[key]; !ok {
			c.problems.plain(path, "new element %q has appeared", key)
		}
	}
}

// set compares two sets in both directions: every planned element must have become an actual
// element, and every actual element must come from a planned one. Several planned elements may
// become the same element, so the set may shrink but not grow.
func (c *compatCheck) set(planned, actual cty.Value, path cty.Path) {
	plans, actuals := elements(planned), elements(actual)
	becomes := func(p, a cty.Value) bool {
		one := compatCheck{show: c.show}
		one.value(p, a, nil)
		return len(one.problems) == 0
	}
	decisive := knownInAll(plans)
	lost := unmatched(plans, actuals, decisive, becomes)
	for _, v := range lost {
		c.problems.add(path, "a planned set element has vanished",
			"the planned set element %s has vanished", c.show(v))
	}
	if len(lost) > 0 {
		return // don't report unexpected elements too, because they have the same cause
	}
	stems := func(a, p cty.Value) bool { return becomes(p, a) }
	for _, v := range unmatched(actuals, plans, decisive, stems) {
		c.problems.add(path, "a set element has appeared that was not planned",
			"the set element %s has appeared, which was not planned", c.show(v))
	}
	if len(actuals) > len(plans) {
		c.problems.plain(path, "length changed from %d to %d", len(plans), len(actuals))
	}
}
