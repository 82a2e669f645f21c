package states

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/jsonscan"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// Decode returns the object's value in the type of its schema. Each stored sensitive path that
// exists in the value gets the sensitive mark. An object from a state older than version 4 is
// decoded for display only: its provider may decode it differently when it upgrades the object.
func (o *Object) Decode(ty cty.Type) (cty.Value, error) {
	if o.Attrs == nil && o.Flatmap != nil {
		v, err := expandFlatmap(o.Flatmap, ty)
		return MarkSensitive(v, o.SensitivePaths), err
	}
	v, err := (&decoder{Scanner: jsonscan.Scanner{Data: o.Attrs}, shares: true}).decode(ty)
	if err != nil {
		if at, ok := errors.AsType[cty.PathError](err); ok && len(at.Path) > 0 {
			return cty.NilVal, fmt.Errorf("%s: %w", tfdiags.FormatPath(at.Path), err)
		}
		return cty.NilVal, err
	}
	return MarkSensitive(v, o.SensitivePaths), nil
}

// EncodeValue encodes v as the Attrs and SensitivePaths of an object. Unknown parts are stored as
// null. Marks other than sensitive are dropped, but an ephemeral value is an error, because it must
// never be stored.
func EncodeValue(v cty.Value, ty cty.Type) (json []byte, sensitive []cty.Path, err error) {
	if marks.Any(v) {
		v, sensitive, err = unmark(v)
		if err != nil {
			return nil, nil, err
		}
	}
	if !v.IsWhollyKnown() {
		v = cty.UnknownAsNull(v)
	}
	json, err = Marshal(v, ty)
	return json, sensitive, err
}

// unmark returns v without marks and the sorted paths of its sensitive parts. It returns an error
// if a part is ephemeral.
func unmark(v cty.Value) (cty.Value, []cty.Path, error) {
	v, marked := v.UnmarkDeepWithPaths()
	var sensitive []cty.Path
	for _, pvm := range marked {
		if _, ok := pvm.Marks[marks.Ephemeral]; ok {
			return cty.NilVal, nil, fmt.Errorf("%s is ephemeral and can't be stored", tfdiags.FormatPath(pvm.Path))
		}
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			sensitive = append(sensitive, pvm.Path)
		}
	}
	slices.SortFunc(sensitive, ComparePaths)
	return v, sensitive, nil
}

// MarkSensitive returns v with the sensitive mark at each of the paths. Paths that don't exist in v
// are ignored. Only values on the way to a marked path are rebuilt, so marking a large object that
// has few sensitive attributes is cheap.
func MarkSensitive(v cty.Value, paths []cty.Path) cty.Value {
	if len(paths) == 0 {
		return v
	}
	self := false
	below := make(map[string][]cty.Path)
	for _, p := range paths {
		if len(p) == 0 {
			self = true
			continue
		}
		key := stepKey(p[0])
		below[key] = append(below[key], p)
	}
	if len(below) > 0 && v.IsKnown() && !v.IsNull() {
		bare, own := v.Unmark()
		v = markBelow(bare, below).WithMarks(own)
	}
	if self {
		v = v.Mark(marks.Sensitive)
	}
	return v
}

// markBelow marks values inside a collection. below holds the paths, grouped by their first step.
func markBelow(v cty.Value, below map[string][]cty.Path) cty.Value {
	ty := v.Type()
	inner := func(elem cty.Value, key string) cty.Value {
		group := below[key]
		rest := make([]cty.Path, len(group))
		for i, p := range group {
			rest[i] = p[1:]
		}
		return MarkSensitive(elem, rest)
	}
	switch {
	case ty.IsObjectType() || ty.IsMapType():
		elems, prefix := v.AsValueMap(), "."
		if ty.IsMapType() {
			prefix = "["
		}
		for name, elem := range elems {
			elems[name] = inner(elem, prefix+name)
		}
		if ty.IsMapType() {
			if len(elems) == 0 {
				return v
			}
			return cty.MapVal(elems)
		}
		return cty.ObjectVal(elems)
	case ty.IsListType() || ty.IsTupleType():
		elems := v.AsValueSlice()
		for i, elem := range elems {
			elems[i] = inner(elem, fmt.Sprintf("#%d", i))
		}
		switch {
		case len(elems) == 0:
			return v
		case ty.IsListType():
			return cty.ListVal(elems)
		}
		return cty.TupleVal(elems)
	case ty.IsSetType():
		return v.Mark(marks.Sensitive) // the elements of a set can't have marks of their own
	}
	return v
}

// stepKey returns a map key for a path step. Its first character distinguishes attributes, map keys
// and list indexes.
func stepKey(step cty.PathStep) string {
	switch step := step.(type) {
	case cty.GetAttrStep:
		return "." + step.Name
	case cty.IndexStep:
		switch {
		case step.Key.IsNull() || !step.Key.IsKnown():
		case step.Key.Type() == cty.String:
			return "[" + step.Key.AsString()
		case step.Key.Type() == cty.Number:
			return "#" + step.Key.AsBigFloat().Text('f', -1)
		}
		return "set element" // the paths share a group, because the whole set is marked
	}
	panic("unreachable: a path step is an attribute or an index")
}

// ComparePaths orders paths step by step: list indexes by number, then attributes, then map keys.
func ComparePaths(a, b cty.Path) int {
	for i := range min(len(a), len(b)) {
		ai, aok := stepPosition(a[i])
		bi, bok := stepPosition(b[i])
		c := strings.Compare(stepKey(a[i]), stepKey(b[i]))
		if aok && bok {
			c = ai.Cmp(bi)
		}
		if c != 0 {
			return c
		}
	}
	return len(a) - len(b)
}

func stepPosition(step cty.PathStep) (*big.Float, bool) {
	index, ok := step.(cty.IndexStep)
	if !ok || index.Key.Type() != cty.Number || index.Key.IsNull() || !index.Key.IsKnown() {
		return nil, false
	}
	return index.Key.AsBigFloat(), true
}
