package command

import (
	"fmt"
	"slices"
	"strings"
)

// diffContext is how many unchanged lines surround a change.
const diffContext = 3

// unifiedDiff returns the differences between two texts in the format of `diff -u`, or "" if there
// are none.
func unifiedDiff(oldName, newName, before, after string) string {
	a, b := diffLines(before), diffLines(after)
	edits := lineEdits(a, b)
	var out strings.Builder
	for len(edits) > 0 {
		last := 0 // edits before last share a hunk
		for last+1 < len(edits) && edits[last+1].a0-edits[last].a1 <= 2*diffContext {
			last++
		}
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
		}
		writeHunk(&out, a, b, edits[:last+1])
		edits = edits[last+1:]
	}
	return out.String()
}

// lineEdit is a change of lines a0 to a1 of the old text into lines b0 to b1 of the new text.
type lineEdit struct{ a0, a1, b0, b1 int }

func writeHunk(out *strings.Builder, a, b []string, edits []lineEdit) {
	first, last := edits[0], edits[len(edits)-1]
	from, to := max(0, first.a0-diffContext), min(len(a), last.a1+diffContext)
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, first.b0-(first.a0-from)+1, to-from+
		(last.b1-last.a1)-(first.b0-first.a0))
	line := func(mark, text string) {
		out.WriteString(mark + text)
		if !strings.HasSuffix(text, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
	at := from
	for _, e := range edits {
		for ; at < e.a0; at++ {
			line(" ", a[at])
		}
		for ; at < e.a1; at++ {
			line("-", a[at])
		}
		for i := e.b0; i < e.b1; i++ {
			line("+", b[i])
		}
	}
	for ; at < to; at++ {
		line(" ", a[at])
	}
}

func diffLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineEdits returns the changed lines. Lines that occur once in each text are anchors. The longest
// common subsequence of anchors is kept and extended, so the cost is close to linear. The lines
// between two anchors are compared line by line.
func lineEdits(a, b []string) []lineEdit {
	var edits []lineEdit
	ai, bi := 0, 0
	emit := func(a1, b1 int) {
		for _, e := range shortestEdits(a[ai:a1], b[bi:b1]) {
			edits = append(edits, lineEdit{ai + e.a0, ai + e.a1, bi + e.b0, bi + e.b1})
		}
	}
	for _, p := range append(anchors(a, b), [2]int{len(a), len(b)}) {
		if p[0] < ai || p[1] < bi {
			continue // an extended anchor covers this one
		}
		a0, b0 := p[0], p[1]
		for a0 > ai && b0 > bi && a[a0-1] == b[b0-1] {
			a0, b0 = a0-1, b0-1
		}
		for ai < a0 && bi < b0 && a[ai] == b[bi] {
			ai, bi = ai+1, bi+1
		}
		emit(a0, b0)
		ai, bi = p[0], p[1]
		for ai < len(a) && bi < len(b) && a[ai] == b[bi] {
			ai, bi = ai+1, bi+1
		}
	}
	return slide(edits, a, b)
}

// slide moves pure insertions and deletions down as far as equal lines allow, like diff does.
func slide(edits []lineEdit, a, b []string) []lineEdit {
	out := edits[:0]
	for i, e := range edits {
		end := len(a) // start of the equal lines after the edit
		if i+1 < len(edits) {
			end = edits[i+1].a0
		}
		for e.a1 < end && (e.a0 == e.a1 && b[e.b0] == b[e.b1] || e.b0 == e.b1 && a[e.a0] == a[e.a1]) {
			e = lineEdit{e.a0 + 1, e.a1 + 1, e.b0 + 1, e.b1 + 1}
		}
		if e.a1 == end && i+1 < len(edits) {
			edits[i+1].a0, edits[i+1].b0 = e.a0, e.b0
			continue
		}
		out = append(out, e)
	}
	return out
}

// maxPairs is the maximum number of pairs of lines that shortestEdits compares.
const maxPairs = 1 << 22

// shortestEdits returns the smallest set of deletions and insertions, or a replacement of all lines
// if the texts are too long for that.
func shortestEdits(a, b []string) []lineEdit {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	if len(a)*len(b) == 0 || len(a)*len(b) > maxPairs {
		return []lineEdit{{0, len(a), 0, len(b)}}
	}
	width := len(b) + 1
	// length of the longest common subsequence of a[:i] and b[:j], at i*width+j
	common := make([]int32, (len(a)+1)*width)
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				common[(i+1)*width+j+1] = common[i*width+j] + 1
			} else {
				common[(i+1)*width+j+1] = max(common[i*width+j+1], common[(i+1)*width+j])
			}
		}
	}
	var edits []lineEdit // in reverse: of equal lines the last ones are kept
	e := lineEdit{len(a), len(a), len(b), len(b)}
	for e.a0 > 0 || e.b0 > 0 {
		switch {
		case e.a0 > 0 && e.b0 > 0 && a[e.a0-1] == b[e.b0-1]:
			if e.a0 < e.a1 || e.b0 < e.b1 {
				edits = append(edits, e)
			}
			e = lineEdit{e.a0 - 1, e.a0 - 1, e.b0 - 1, e.b0 - 1}
		case e.b0 == 0 || e.a0 > 0 && common[(e.a0-1)*width+e.b0] >= common[e.a0*width+e.b0-1]:
			e.a0--
		default:
			e.b0--
		}
	}
	if e.a0 < e.a1 || e.b0 < e.b1 {
		edits = append(edits, e)
	}
	slices.Reverse(edits)
	return edits
}

// anchors returns the positions of lines that are unique in both texts, in their longest common
// order.
func anchors(a, b []string) [][2]int {
	type seen struct{ inA, inB, atA, atB int }
	lines := make(map[string]*seen)
	for i, l := range a {
		s := lines[l]
		if s == nil {
			s = &seen{}
			lines[l] = s
		}
		s.inA, s.atA = s.inA+1, i
	}
	for i, l := range b {
		if s := lines[l]; s != nil {
			s.inB, s.atB = s.inB+1, i
		}
	}
	var pairs [][2]int // in the order of the old text
	for i, l := range a {
		if s := lines[l]; s.inA == 1 && s.inB == 1 {
			pairs = append(pairs, [2]int{i, s.atB})
		}
	}
	// Longest increasing subsequence: tails[k] is the pair that ends the best run of length k+1.
	tails, before := []int{}, make([]int, len(pairs))
	for i, p := range pairs {
		k, _ := slices.BinarySearchFunc(tails, p[1], func(t, at int) int { return pairs[t][1] - at })
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
	var run [][2]int
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			run = append(run, pairs[i])
		}
	}
	slices.Reverse(run)
	return run
}
