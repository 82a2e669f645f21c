package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine/graph"
	"tofu/internal/lang"
)

// elementKey returns the key for an index in a call of "element". In a partial run, it returns an
// error: the resource may have fewer instances than it declares, so the number at which the index
// wraps around is known only when the whole resource is.
func (c *evalContext) elementKey(v cty.Value, ref lang.InstanceRef, of graph.Keys) (addrs.InstanceKey, error) {
	unknown := &keyProblem{ref, "the number of instances isn't known"}
	if c.e.op.Partial() {
		return addrs.NoKey, unknown
	}
	scope := c.scope()
	if of.In != c.in.module { // the resource of an alias
		in := c.e.moduleAt(of.In, c.in.module.InstanceNear(of.In, c.in.addr))
		if in == nil {
			return addrs.NoKey, unknown
		}
		scope = c.e.newContext(c.ctx, in, repetition{}).scope()
	}
	count, err := scope.Eval(of.Count, cty.Number)
	if err != nil {
		return addrs.NoKey, err
	}
	n, known := lang.WholeNumber(count)
	if !known || n < 1 {
		return addrs.NoKey, unknown
	}
	number, known := lang.WholeNumber(v)
	if !known {
		return addrs.NoKey, &keyProblem{ref, "its key isn't a whole number"}
	}
	return addrs.IntKey(lang.Wrap(number, n)), nil
}

// elementList returns a list for an expression that selects instances only with "element", or only with
// an index after a splat. value returns the value of an instance, or cty.NilVal if it isn't
// available, and reports whether the instance exists. elementList returns false if a value isn't
// available, or if "element" selects an instance that doesn't exist.
func (c *evalContext) elementList(
	refs lang.Instances, of graph.Keys, value func(addrs.InstanceKey) (cty.Value, bool),
) (list cty.Value, ok bool) {
	var all []lang.Picked
	how, _ := refs.FromList()
	for _, ref := range refs {
		indexes, err := c.indexes(ref)
		if err != nil {
			return cty.NilVal, false
		}
		for _, v := range indexes {
			key, err := c.keyOf(v, ref, of)
			if err != nil {
				return cty.NilVal, false
			}
			number, whole := lang.WholeNumber(v)
			at, counted := key.IsInt()
			v, exists := value(key)
			switch {
			case how == lang.ByPosition && !exists:
				continue // the list is too short for the index, so the evaluation reports it
			case !whole || !counted || v == cty.NilVal:
				return cty.NilVal, false
			}
			all = append(all, lang.Picked{Number: number, At: at, Value: v})
		}
	}
	if how == lang.ByPosition {
		return lang.SparseList(all), true
	}
	return lang.ShortList(all), true
}
