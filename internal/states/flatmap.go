package states

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// A flatmap holds the attributes of an object as they are stored in states up to version 3: as
// strings, by path. A map has "tags.%" = "1" and "tags.NAME", a list has "disks.#" = "2" and
// "disks.0.size", and a set has "rules.#" = "1" and "rules.HASH.port". Missing paths are null
// values. Schemas at that time could not have tuples.
type flatmap struct {
	texts map[string]string
	names []string // sorted
}

// flatUnknown marks a value that was unknown when it was stored.
const flatUnknown = "74D93920-ED26-11E3-AC10-0800200C9A66"

// expandFlatmap returns the attributes as a value of type ty, for display only. To use the object,
// its provider must upgrade it.
func expandFlatmap(texts map[string]string, ty cty.Type) (cty.Value, error) {
	f := flatmap{texts, slices.Sorted(maps.Keys(texts))}
	return f.object("", ty)
}

// value returns the value at a path.
func (f *flatmap) value(name string, ty cty.Type) (cty.Value, error) {
	switch {
	case ty.IsObjectType():
		return f.object(name+".", ty)
	case ty.IsMapType():
		return f.mapping(name, ty)
	case ty.IsListType():
		return f.list(name, ty)
	case ty.IsSetType():
		return f.set(name, ty)
	}
	text, ok := f.texts[name]
	if !ok || text == flatUnknown || text == "" && (ty == cty.Number || ty == cty.Bool) {
		return cty.NullVal(ty), nil
	}
	v, err := convert.Convert(cty.StringVal(text), ty)
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

func (f *flatmap) object(prefix string, ty cty.Type) (cty.Value, error) {
	attrs := make(map[string]cty.Value)
	for name, ty := range ty.AttributeTypes() {
		v, err := f.value(prefix+name, ty)
		if err != nil {
			return v, err
		}
		attrs[name] = v
	}
	return cty.ObjectVal(attrs), nil
}

// size returns the number of elements of the collection at a path. It returns false if the
// collection is null or unknown. The number can't exceed the number of strings in the object,
// because each element has at least one string.
func (f *flatmap) size(name, sign string) (int, bool, error) {
	text, ok := f.texts[name+"."+sign]
	if !ok || text == flatUnknown {
		return 0, false, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > len(f.texts) {
		return 0, false, fmt.Errorf("%s.%s: %q is not a valid number of elements", name, sign, text)
	}
	return n, true, nil
}

func (f *flatmap) list(name string, ty cty.Type) (cty.Value, error) {
	n, ok, err := f.size(name, "#")
	switch {
	case err != nil || !ok:
		return cty.NullVal(ty), err
	case n == 0:
		return cty.ListValEmpty(ty.ElementType()), nil
	}
	elems := make([]cty.Value, n)
	for i := range elems {
		elems[i], err = f.value(name+"."+strconv.Itoa(i), ty.ElementType())
		if err != nil {
			return cty.NullVal(ty), err
		}
	}
	return cty.ListVal(elems), nil
}

func (f *flatmap) set(name string, ty cty.Type) (cty.Value, error) {
	_, ok, err := f.size(name, "#")
	if err != nil || !ok {
		return cty.NullVal(ty), err
	}
	var elems []cty.Value
	last := ""
	for _, key := range f.below(name) {
		hash, _, _ := strings.Cut(key, ".")
		if hash == "#" || hash == last {
			continue
		}
		last = hash
		v, err := f.value(name+"."+hash, ty.ElementType())
		if err != nil {
			return cty.NullVal(ty), err
		}
		elems = append(elems, v)
	}
	if len(elems) == 0 {
		return cty.SetValEmpty(ty.ElementType()), nil
	}
	return cty.SetVal(elems), nil
}

// mapping returns a map, whose keys may contain dots.
func (f *flatmap) mapping(name string, ty cty.Type) (cty.Value, error) {
	_, ok, err := f.size(name, "%")
	if err != nil || !ok {
		return cty.NullVal(ty), err
	}
	elems := make(map[string]cty.Value)
	for _, key := range f.below(name) {
		if key == "%" {
			continue
		}
		if !ty.ElementType().IsPrimitiveType() {
			key, _, _ = strings.Cut(key, ".")
		}
		if _, seen := elems[key]; seen {
			continue
		}
		elems[key], err = f.value(name+"."+key, ty.ElementType())
		if err != nil {
			return cty.NullVal(ty), err
		}
	}
	if len(elems) == 0 {
		return cty.MapValEmpty(ty.ElementType()), nil
	}
	return cty.MapVal(elems), nil
}

// below returns, for each path that starts with name and a dot, the rest of the path. The result is
// sorted.
func (f *flatmap) below(name string) []string {
	prefix := name + "."
	from, _ := slices.BinarySearch(f.names, prefix)
	var out []string
	for _, n := range f.names[from:] {
		rest, ok := strings.CutPrefix(n, prefix)
		if !ok {
			break
		}
		out = append(out, rest)
	}
	return out
}
