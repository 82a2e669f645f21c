package engine

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
	"tofu/internal/lang/coerce"
)

// An expression may select instances with the function "element" instead of an index, as in
// element(a, count.index) or element(a[*].id, count.index). The index wraps around at the number of
// instances.

// elementKey returns the key for an index in a call of "element". In a partial run, it returns an
// error: the resource may have fewer instances than it declares, so the number at which the index
// wraps around is unknown.
func (c *evalContext) elementKey(v cty.Value, ref lang.InstanceRef, of graph.Repetition) (addrs.InstanceKey, error) {
	unknown := &keyProblem{ref, "the number of instances isn't known"}
	if c.e.op.Partial() {
		return addrs.NoKey, unknown
	}
	count, err := c.scope().Eval(of.Count, cty.Number)
	if err != nil {
		return addrs.NoKey, err
	}
	n, known := wholeNumber(count)
	if !known || n < 1 {
		return addrs.NoKey, unknown
	}
	number, known := wholeNumber(v)
	if !known {
		return addrs.NoKey, &keyProblem{ref, "its key isn't a whole number"}
	}
	return addrs.IntKey(wrap(number, n)), nil
}

// wholeNumber converts a value to an int. It returns false if the value isn't known or isn't a whole
// number.
func wholeNumber(v cty.Value) (int, bool) {
	v, _ = v.Unmark()
	v, err := coerce.Convert(v, cty.Number)
	if err != nil || !v.IsKnown() || v.IsNull() {
		return 0, false
	}
	var n int
	err = gocty.FromCtyValue(v, &n)
	return n, err == nil
}

// wrap returns the position that an index selects in a list of n elements.
func wrap(number, n int) int { return (number%n + n) % n }

// elementList returns a list for an expression that selects instances only with "element". value
// returns the value of an instance, or cty.NilVal if it isn't available; elementList then returns
// false.
func (c *evalContext) elementList(
	refs lang.Instances, of graph.Repetition, value func(addrs.InstanceKey) cty.Value,
) (list cty.Value, ok bool) {
	var all []picked
	for _, ref := range refs {
		indexes, err := c.indexes(ref)
		if err != nil {
			return cty.NilVal, false
		}
		for _, v := range indexes {
			key, err := c.keyOf(v, ref, of)
			number, whole := wholeNumber(v)
			if err != nil || !whole {
				return cty.NilVal, false
			}
			one := picked{number, key, value(key)}
			if one.value == cty.NilVal {
				return cty.NilVal, false
			}
			all = append(all, one)
		}
	}
	return shortList(all), true
}

// picked is an instance that an expression selects with an index in a call of "element".
type picked struct {
	number int // the index before it wraps around
	key    addrs.InstanceKey
	value  cty.Value
}

// shortList returns a list in which each index selects the value of its instance. It is the
// shortest list in which the indexes of different instances wrap around to different positions. If
// each of N readers got a list of all N instances, the cost would be N².
func shortList(all []picked) cty.Value {
	for n := 1; ; n++ {
		list, at, fits := make([]cty.Value, n), make([]addrs.InstanceKey, n), true
		for _, one := range all {
			i := wrap(one.number, n)
			fits = fits && (at[i] == addrs.NoKey || at[i] == one.key)
			list[i], at[i] = one.value, one.key
		}
		for i, v := range list {
			if v == cty.NilVal {
				list[i] = cty.DynamicVal
			}
		}
		if fits {
			return cty.TupleVal(list)
		}
	}
}
