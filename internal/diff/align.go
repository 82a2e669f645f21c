package diff

import "slices"

// Pair is one step of an alignment: an element that is kept (both set), removed (New is -1) or
// added (Old is -1).
type Pair struct{ Old, New int }

// Aligning long lists with little in common takes quadratic time. The search stops after maxEdits
// edits, or after baseSteps steps plus stepsPerElement for each element.
const (
	maxEdits        = 1000
	baseSteps       = 1 << 16
	stepsPerElement = 64
)

// Align returns an alignment of two lists. In every run of changes, removed elements come before
// added ones. The alignment has the fewest possible edits, unless finding it would take too long.
// Then elements that occur exactly once in each list are matched where their order allows it, and
// the parts between them are aligned.
func Align[T comparable](old, new []T) []Pair {
	return goneFirst(appendAligned(nil, old, new, Pair{}, true))
}

// appendAligned appends the alignment of a and b, which are parts of two lists. at holds the
// positions of the parts in the whole lists. split reports whether the parts may be divided further
// if they differ too much.
func appendAligned[T comparable](out []Pair, a, b []T, at Pair, split bool) []Pair {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		out = append(out, at)
		a, b, at = a[1:], b[1:], Pair{at.Old + 1, at.New + 1}
	}
	end := 0
	for end < min(len(a), len(b)) && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	a, b = a[:len(a)-end], b[:len(b)-end]
	var middle []Pair
	ok := len(a) > 0 && len(b) > 0
	if ok {
		middle, ok = myers(a, b)
	}
	switch {
	case ok:
		out = appendShifted(out, middle, at)
	case split && len(a) > 0 && len(b) > 0:
		from := Pair{}
		for _, p := range append(anchors(a, b), Pair{len(a), len(b)}) {
			part := Pair{at.Old + from.Old, at.New + from.New}
			out = appendAligned(out, a[from.Old:p.Old], b[from.New:p.New], part, false)
			if p.Old < len(a) {
				out = append(out, Pair{at.Old + p.Old, at.New + p.New})
				from = Pair{p.Old + 1, p.New + 1}
			}
		}
	default:
		out = appendShifted(out, replaced(len(a), len(b)), at)
	}
	for i := range end {
		out = append(out, Pair{at.Old + len(a) + i, at.New + len(b) + i})
	}
	return out
}

// appendShifted appends an alignment of two parts of lists, with the positions in the whole lists.
// at holds the positions at which the parts start.
func appendShifted(out, pairs []Pair, at Pair) []Pair {
	for _, p := range pairs {
		if p.Old >= 0 {
			p.Old += at.Old
		}
		if p.New >= 0 {
			p.New += at.New
		}
		out = append(out, p)
	}
	return out
}

// myers returns the alignment with the fewest edits (Myers, "An O(ND) Difference Algorithm and Its
// Variations"), or false if finding it would take too long. It searches forward: after each edit it
// records the furthest point on every diagonal x - y. When it reaches the end, it follows the
// records back.
func myers[T comparable](a, b []T) ([]Pair, bool) {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	budget := baseSteps + stepsPerElement*(n+m)
	furthest := make([]int, 2*most+3) // furthest[k+most+1] is the furthest point on diagonal k
	mid := most + 1
	var trace [][]int // copies of furthest before each edit d, for diagonals -d to d
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
				return walkBack(trace, n, m), true
			}
		}
		budget -= d
		if budget < 0 {
			break
		}
	}
	return nil, false
}

// down reports whether the furthest path to diagonal k with d edits ends with an insertion. The
// first element of row is for diagonal -d-1.
func down(row []int, d, k int) bool {
	return k == -d || k != d && row[k-1+d+1] < row[k+1+d+1]
}

func walkBack(trace [][]int, x, y int) []Pair {
	var out []Pair
	for d, row := range slices.Backward(trace) {
		k := x - y
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
			out = append(out, Pair{x, y})
		}
		if d > 0 {
			if x == px {
				out = append(out, Pair{-1, y - 1})
			} else {
				out = append(out, Pair{x - 1, -1})
			}
		}
		x, y = px, py
	}
	slices.Reverse(out)
	return out
}

// replaced returns the alignment of two lists that have nothing in common, with n and m elements.
func replaced(n, m int) []Pair {
	out := make([]Pair, 0, n+m)
	for i := range n {
		out = append(out, Pair{i, -1})
	}
	for i := range m {
		out = append(out, Pair{-1, i})
	}
	return out
}

// goneFirst puts removed elements before added ones in every run of changes.
func goneFirst(pairs []Pair) []Pair {
	for i := 0; i < len(pairs); {
		j := i
		for j < len(pairs) && (pairs[j].Old < 0 || pairs[j].New < 0) {
			j++
		}
		slices.SortStableFunc(pairs[i:j], func(a, b Pair) int {
			switch {
			case a.New < 0 && b.New >= 0:
				return -1
			case a.New >= 0 && b.New < 0:
				return 1
			}
			return 0
		})
		i = j + 1
	}
	return pairs
}

// anchors returns the positions of elements that occur exactly once in each list. If their order
// differs between the lists, it returns the longest sequence that is in the same order in both.
func anchors[T comparable](a, b []T) []Pair {
	type seen struct{ inA, inB, atA, atB int }
	elements := make(map[T]*seen)
	for i, l := range a {
		s := elements[l]
		if s == nil {
			s = &seen{}
			elements[l] = s
		}
		s.inA, s.atA = s.inA+1, i
	}
	for i, l := range b {
		if s := elements[l]; s != nil {
			s.inB, s.atB = s.inB+1, i
		}
	}
	var pairs []Pair // pairs in the order of the old list
	for i, l := range a {
		if s := elements[l]; s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, Pair{i, s.atB})
		}
	}
	// Longest increasing subsequence: tails[k] is the pair that ends the best run of length k+1.
	tails, before := []int{}, make([]int, len(pairs))
	for i, p := range pairs {
		k, _ := slices.BinarySearchFunc(tails, p.New, func(t, at int) int { return pairs[t].New - at })
		before[i] = -1
		if k > 0 {
			before[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	var run []Pair
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			run = append(run, pairs[i])
		}
	}
	slices.Reverse(run)
	return run
}
