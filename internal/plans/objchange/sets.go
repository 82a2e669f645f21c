package objchange

import "github.com/zclconf/go-cty/cty"

// hashSet finds values by hash.
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

// unmatched lists the values that match none of the candidates. Equal ones are found by hash; only the rest (few, unless the
// whole set is unknown in part) is tried against each candidate.
func unmatched(vals, candidates []cty.Value, match func(v, candidate cty.Value) bool) []cty.Value {
	equal := hashed(candidates)
	var out []cty.Value
next:
	for _, v := range vals {
		if equal.has(v) {
			continue
		}
		for _, c := range candidates {
			if match(v, c) {
				continue next
			}
		}
		out = append(out, v)
	}
	return out
}
