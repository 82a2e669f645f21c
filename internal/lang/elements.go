package lang

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"tofu/internal/lang/coerce"
)

// An expression may select elements with the function "element" instead of an index, as in
// element(a, count.index) or element(a[*].id, count.index). The function checks each element of its
// list. If each of N readers passed it a list of N elements, the cost would be N². So a reader gets
// a short list.

// Picked is an element that an expression selects with an index in a call of "element".
type Picked struct {
	Number int // the index before it wraps around
	At     int // the position in the whole list
	Value  cty.Value
}

// WholeNumber converts a value to an int. It returns false if the value isn't known or isn't a whole
// number.
func WholeNumber(v cty.Value) (int, bool) {
	v, _ = v.Unmark()
	v, err := coerce.Convert(v, cty.Number)
	if err != nil || !v.IsKnown() || v.IsNull() {
		return 0, false
	}
	var n int
	err = gocty.FromCtyValue(v, &n)
	return n, err == nil
}

// Wrap returns the position that an index in a call of "element" selects in a list of n elements.
func Wrap(number, n int) int { return (number%n + n) % n }

// ShortList returns a list in which each index selects its element. It is the shortest list in which
// the indexes of different elements wrap around to different positions.
func ShortList(all []Picked) cty.Value {
	const free = -1
	for n := 1; ; n++ {
		list, at, fits := make([]cty.Value, n), make([]int, n), true
		for i := range list {
			list[i], at[i] = cty.DynamicVal, free
		}
		for _, one := range all {
			i := Wrap(one.Number, n)
			fits = fits && (at[i] == free || at[i] == one.At)
			list[i], at[i] = one.Value, one.At
		}
		if fits {
			return cty.TupleVal(list)
		}
	}
}

// SparseList returns a list in which each element is at its position. The other elements are unknown.
func SparseList(all []Picked) cty.Value {
	var list []cty.Value
	for _, one := range all {
		for len(list) <= one.At {
			list = append(list, cty.DynamicVal)
		}
		list[one.At] = one.Value
	}
	return cty.TupleVal(list)
}

// shortened returns a short list for an expression that reads a list only with "element". It returns
// the list itself if that is short, or if an index is not known.
func (s *Scope) shortened(list cty.Value, of Instances) cty.Value {
	const short = 16
	ty := list.Type()
	if !ty.IsTupleType() && !ty.IsListType() || list.IsMarked() || !list.IsKnown() || list.IsNull() ||
		list.LengthInt() <= short {
		return list
	}
	var all []Picked
	scope := *s // a copy, so that only readers of long lists allocate their scope
	for _, ref := range of {
		indexes, err := scope.Indexes(ref)
		if err != nil {
			return list
		}
		for _, v := range indexes {
			number, whole := WholeNumber(v)
			if !whole {
				return list
			}
			at := Wrap(number, list.LengthInt())
			all = append(all, Picked{number, at, list.Index(cty.NumberIntVal(int64(at)))})
		}
	}
	return ShortList(all)
}

// shortenedOutputs returns the value of a module call with a short list for each output that the
// expression reads only with "element". lists holds the elements that it reads.
func (s *Scope) shortenedOutputs(call cty.Value, lists map[string]Instances) cty.Value {
	if len(lists) == 0 || !call.Type().IsObjectType() || call.IsMarked() || !call.IsKnown() || call.IsNull() {
		return call
	}
	outputs := call.AsValueMap()
	for name, of := range lists {
		if how, _ := of.FromList(); how == ByElement && call.Type().HasAttribute(name) {
			outputs[name] = s.shortened(outputs[name], of)
		}
	}
	return cty.ObjectVal(outputs)
}
