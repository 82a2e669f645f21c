package valuediff

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
)

// maxCandidates is the maximum number of removed elements that may share a feature. A more common
// feature says little about likeness. It is ignored, which also bounds the time.
const maxCandidates = 16

// matches returns, for each added element, the index of the removed element that is most like it,
// or -1. Elements are alike if they are objects that share at least half of their members. The time
// is linear in the number of members.
func matches(gone, added []cty.Value) []int {
	out := make([]int, len(added))
	byFeature := make(map[string][]int)
	for i, v := range gone {
		for _, f := range features(v) {
			if len(byFeature[f]) <= maxCandidates {
				byFeature[f] = append(byFeature[f], i)
			}
		}
	}
	taken := make([]bool, len(gone))
	for i, v := range added {
		out[i] = -1
		own := features(v)
		votes := make(map[int]int)
		for _, f := range own {
			if list := byFeature[f]; len(list) <= maxCandidates {
				for _, candidate := range list {
					votes[candidate]++
				}
			}
		}
		best := 0
		for candidate, n := range votes {
			if !taken[candidate] && (n > best || n == best && candidate < out[i]) {
				best, out[i] = n, candidate
			}
		}
		if 2*best < len(own) {
			out[i] = -1
		}
		if out[i] >= 0 {
			taken[out[i]] = true
		}
	}
	if len(gone) == 1 && len(added) == 1 && isObject(gone[0]) && isObject(added[0]) {
		out[0] = 0
	}
	return out
}

// features returns the members of an object with their values, without unknown and null ones.
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

// alike compares removed with added elements: those that are alike as updates, in the order of the
// added ones, after removed ones that are like no added one.
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
