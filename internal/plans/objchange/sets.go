package objchange

import (
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// hashSet holds values by hash.
type hashSet map[int][]cty.Value

func hashed(vals []cty.Value) hashSet {
	set := make(hashSet, len(vals))
	for _, v := range vals {
		key := v.Hash()
		set[key] = append(set[key], v)
	}
	return set
}

func (s hashSet) has(v cty.Value) bool {
	for _, other := range s[v.Hash()] {
		if other.RawEquals(v) {
			return true
		}
	}
	return false
}

// unmatched returns the values that match no candidate. Equal values are found by hash. Any other
// value is compared only with the candidates whose decisive attributes are equal to its own,
// because no other candidate can match.
func unmatched(vals, candidates []cty.Value, decisive []string, match func(v, candidate cty.Value) bool) []cty.Value {
	equal := hashed(candidates)
	similar := make(map[int][]cty.Value)
	for _, c := range candidates {
		key := attrsHash(c, decisive)
		similar[key] = append(similar[key], c)
	}
	var out []cty.Value
	for _, v := range vals {
		found := func(c cty.Value) bool { return match(v, c) }
		if !equal.has(v) && !slices.ContainsFunc(similar[attrsHash(v, decisive)], found) {
			out = append(out, v)
		}
	}
	return out
}

// attrsHash returns a hash of the named attributes of an object.
func attrsHash(obj cty.Value, names []string) int {
	key := 0
	for _, name := range names {
		key = key*31 + attr(obj, name, cty.DynamicPseudoType).Hash()
	}
	return key
}

// knownInAll returns the names of the attributes that have a primitive type and are known in all
// objects.
func knownInAll(objs []cty.Value) []string {
	if len(objs) == 0 || !objs[0].Type().IsObjectType() {
		return nil
	}
	var names []string
	for name, ty := range objs[0].Type().AttributeTypes() {
		unknown := func(obj cty.Value) bool { return !obj.IsKnown() || obj.IsNull() || !obj.GetAttr(name).IsKnown() }
		if ty.IsPrimitiveType() && !slices.ContainsFunc(objs, unknown) {
			names = append(names, name)
		}
	}
	return names
}
