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

// flatmap has attributes as states of version 3 and older have them, whose values are all texts: "tags.%" = "1" and "tags.NAME" for a
// map, "disks.#" = "2" and "disks.0.size" for a list, "rules.#" = "1" and "rules.HASH.port" for a set. What isn't there is null.
// Tuples aren't: nobody could declare one at that time.
type flatmap struct {
	texts map[string]string
	names []string // sorted
}

// flatUnknown stands for a value that wasn't known when it was stored.
const flatUnknown = "74D93920-ED26-11E3-AC10-0800200C9A66"

// expandFlatmap gives a value of the type, for people to look at. To work with such an object takes its provider.
func expandFlatmap(texts map[string]string, ty cty.Type) (cty.Value, error) {
	f := flatmap{texts, slices.Sorted(maps.Keys(texts))}
	return f.object("", ty)
}

// value gives what the name and those below it have.
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

// size is how many elements there are; false when the whole is null. There can't be more than the state has texts, since each has at
// least one.
func (f *flatmap) size(name, sign string) (int, bool, error) {
	text, ok := f.texts[name+"."+sign]
	if !ok || text == flatUnknown {
		return 0, false, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > len(f.texts) {
		return 0, false, fmt.Errorf("%s.%s: %q is not the number of its elements", name, sign, text)
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
		if elems[i], err = f.value(name+"."+strconv.Itoa(i), ty.ElementType()); err != nil {
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

// mapping gives a map, whose keys may have dots.
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
		if elems[key], err = f.value(name+"."+key, ty.ElementType()); err != nil {
			return cty.NullVal(ty), err
		}
	}
	if len(elems) == 0 {
		return cty.MapValEmpty(ty.ElementType()), nil
	}
	return cty.MapVal(elems), nil
}

// below gives the names that begin with this one and a dot, without these, sorted.
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
