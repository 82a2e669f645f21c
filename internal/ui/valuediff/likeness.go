package valuediff

import (
	"cmp"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
)

// maxCandidates is the maximum number of removed elements with the same feature. A feature that
// more elements have says little about similarity, and is ignored. This also limits the time.
const maxCandidates = 16

// matches returns, for each added element, the index of the most similar removed element, or -1.
// Two objects are similar if they share at least half of the features of the added one. A single
// added object always matches a single removed one. The most similar pairs are chosen first. The
// time is nearly linear in the number of members.
func matches(gone, added []cty.Value) []int {
	byFeature := make(map[string][]int)
	for i, v := range gone {
		for _, f := range features(v) {
			if len(byFeature[f]) <= maxCandidates {
				byFeature[f] = append(byFeature[f], i)
			}
		}
	}
	var pairs []likePair
	for i, v := range added {
		pairs = append(pairs, likePairs(i, features(v), byFeature)...)
	}
	slices.SortFunc(pairs, func(a, b likePair) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.added, b.added), cmp.Compare(a.gone, b.gone))
	})
	out := slices.Repeat([]int{-1}, len(added))
	taken := make([]bool, len(gone))
	for _, p := range pairs {
		if out[p.added] < 0 && !taken[p.gone] {
			out[p.added], taken[p.gone] = p.gone, true
		}
	}
	if len(gone) == 1 && len(added) == 1 && isObject(gone[0]) && isObject(added[0]) {
		out[0] = 0
	}
	return out
}

// likePair is a removed and an added element that are similar, and the number of members that
// they share.
type likePair struct{ gone, added, shared int }

// likePairs returns the pairs of an added element with similar removed elements. own holds the
// features of the added element.
func likePairs(added int, own []string, byFeature map[string][]int) []likePair {
	votes := make(map[int]int)
	for _, f := range own {
		if list := byFeature[f]; len(list) <= maxCandidates {
			for _, candidate := range list {
				votes[candidate]++
			}
		}
	}
	var out []likePair
	for candidate, n := range votes {
		if 2*n >= len(own) {
			out = append(out, likePair{candidate, added, n})
		}
	}
	return out
}

// features returns a string for each member of an object, with its name and value. It omits unknown
// and null members.
func features(v cty.Value) []string {
	if !isObject(v) {
		return nil
	}
	v, _ = v.Unmark()
	var out []string
	for name, elem := range Members(v) {
		if bare := Unmarked(elem); bare.IsKnown() && !bare.IsNull() {
			out = append(out, name+"="+Key(elem))
		}
	}
	return out
}

// alike compares removed and added elements. The result starts with the removed elements that
// have no match. Then the added elements follow in their order, as updates if they have a
// match.
func alike(gone, added []cty.Value, compare func(old, new int) *Node) (out []*Node, differs bool) {
	pairs := matches(gone, added)
	kept := make([]bool, len(gone))
	for _, i := range pairs {
		if i >= 0 {
			kept[i] = true
		}
	}
	add := func(n *Node) {
		if n != nil {
			differs = differs || n.Action != plans.NoOp
			out = append(out, n)
		}
	}
	for i := range gone {
		if !kept[i] {
			add(compare(i, -1))
		}
	}
	for i := range added {
		add(compare(pairs[i], i))
	}
	return out, differs
}
