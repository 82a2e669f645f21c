package ui

import (
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
)

// pair is one step of an alignment: an element that is kept (both set), removed (new is -1) or
// added (old is -1).
type pair struct{ old, new int }

// Aligning long lists with little in common takes quadratic time. The search stops after maxEdits
// edits, or after baseSteps steps plus stepsPerElement for each element. The whole differing middle
// then counts as replaced.
const (
	maxEdits        = 1000
	baseSteps       = 1 << 16
	stepsPerElement = 64
)

// align returns an alignment of two lists with the fewest edits (Myers, "An O(ND) Difference
// Algorithm and Its Variations"), or one with more edits if finding that would take too long.
func align[T comparable](old, new []T) []pair {
	start := 0
	for start < len(old) && start < len(new) && old[start] == new[start] {
		start++
	}
	end := 0
	for end < len(old)-start && end < len(new)-start && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	out := make([]pair, 0, len(old)+len(new))
	for i := range start {
		out = append(out, pair{i, i})
	}
	for _, p := range myers(old[start:len(old)-end], new[start:len(new)-end]) {
		if p.old >= 0 {
			p.old += start
		}
		if p.new >= 0 {
			p.new += start
		}
		out = append(out, p)
	}
	for i := range end {
		out = append(out, pair{len(old) - end + i, len(new) - end + i})
	}
	return goneFirst(out)
}

// myers searches forwards: after each edit it records the furthest point on every diagonal x - y.
// When it reaches the end, it walks back over the records.
func myers[T comparable](a, b []T) []pair {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return replaced(n, m)
	}
	most := min(n+m, maxEdits)
	budget := baseSteps + stepsPerElement*(n+m)
	furthest := make([]int, 2*most+3) // furthest point on diagonal k, at k+most+1
	mid := most + 1
	var trace [][]int // copies of furthest before each edit, for diagonals -d to d
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(furthest[mid-d-1:mid+d+2]))
		for k := -d; k <= d; k += 2 {
			x := furthest[mid+k-1] + 1
			if down(furthest[mid-d-1:], d, k) {
				x = furthest[mid+k+1]
			}
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y, budget = x+1, y+1, budget-1
			}
			furthest[mid+k] = x
			if x >= n && y >= m {
				return walkBack(trace, n, m)
			}
		}
		if budget -= d; budget < 0 {
			break
		}
	}
	return replaced(n, m)
}

// down reports whether the furthest path to diagonal k at edit d is an insertion. row starts at
// diagonal -d-1.
func down(row []int, d, k int) bool {
	return k == -d || k != d && row[k-1+d+1] < row[k+1+d+1]
}

func walkBack(trace [][]int, x, y int) []pair {
	var out []pair
	for d := len(trace) - 1; d >= 0; d-- {
		row, k := trace[d], x-y
		from := k - 1
		if down(row, d, k) {
			from = k + 1
		}
		px := row[from+d+1]
		py := px - from
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x, y = x-1, y-1
			out = append(out, pair{x, y})
		}
		if d > 0 {
			if x == px {
				out = append(out, pair{-1, y - 1})
			} else {
				out = append(out, pair{x - 1, -1})
			}
		}
		x, y = px, py
	}
	slices.Reverse(out)
	return out
}

func replaced(n, m int) []pair {
	out := make([]pair, 0, n+m)
	for i := range n {
		out = append(out, pair{i, -1})
	}
	for i := range m {
		out = append(out, pair{-1, i})
	}
	return out
}

// goneFirst puts removed elements before added ones in every run of changes.
func goneFirst(pairs []pair) []pair {
	for i := 0; i < len(pairs); {
		j := i
		for j < len(pairs) && (pairs[j].old < 0 || pairs[j].new < 0) {
			j++
		}
		slices.SortStableFunc(pairs[i:j], func(a, b pair) int {
			switch {
			case a.new < 0 && b.new >= 0:
				return -1
			case a.new >= 0 && b.new < 0:
				return 1
			}
			return 0
		})
		i = j + 1
	}
	return pairs
}

// list aligns and compares two lists. If a run of changes removes as many objects as it adds, the
// objects count as updated.
func (d *differ) list(before, after cty.Value) *node {
	was, is := elementsOf(before), elementsOf(after)
	pairs := align(elementKeys(was, "-"), elementKeys(is, "+"))
	var elements []*node
	differs := false
	for i := 0; i < len(pairs); {
		if p := pairs[i]; p.old >= 0 && p.new >= 0 {
			n := d.value(was[p.old], is[p.new], nil)
			differs = differs || changed(n)
			elements = append(elements, n)
			i++
			continue
		}
		differs = true
		j := i
		for j < len(pairs) && (pairs[j].old < 0 || pairs[j].new < 0) {
			j++
		}
		elements = append(elements, d.stretch(was, is, pairs[i:j])...)
		i = j
	}
	n := container(listForm, before, after, differs)
	n.elements = elements
	return n
}

// stretch compares a run of removed elements followed by added ones.
func (d *differ) stretch(was, is []cty.Value, pairs []pair) []*node {
	var gone, added []cty.Value
	for _, p := range pairs {
		if p.new < 0 {
			gone = append(gone, was[p.old])
		} else {
			added = append(added, is[p.new])
		}
	}
	var out []*node
	for len(gone) > 0 && len(added) > 0 && isObject(gone[0]) && isObject(added[0]) {
		out = append(out, d.value(gone[0], added[0], nil))
		gone, added = gone[1:], added[1:]
	}
	for _, v := range gone {
		out = append(out, d.value(v, cty.NilVal, nil))
	}
	for _, v := range added {
		out = append(out, d.value(cty.NilVal, v, nil))
	}
	return out
}

func isObject(v cty.Value) bool {
	v, _ = v.Unmark()
	return v.IsKnown() && !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

// elementKeys returns the keys by which elements are matched. Unknown elements match nothing; side
// makes their keys differ.
func elementKeys(values []cty.Value, side string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = valueKey(v)
		if !v.IsWhollyKnown() {
			out[i] = side + out[i]
		}
	}
	return out
}

// alignLines aligns the lines of two texts.
func alignLines(old, new []string) []line {
	var out []line
	for _, p := range align(old, new) {
		switch {
		case p.new < 0:
			out = append(out, line{plans.Delete, old[p.old]})
		case p.old < 0:
			out = append(out, line{plans.Create, new[p.new]})
		default:
			out = append(out, line{plans.NoOp, old[p.old]})
		}
	}
	return out
}
