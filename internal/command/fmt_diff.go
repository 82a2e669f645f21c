package command

import (
	"fmt"
	"slices"
	"strings"
)

// diffContext is how many unchanged lines surround a change.
const diffContext = 3

// unifiedDiff gives the differences between two texts in the form of `diff -u`; "" when there are none.
func unifiedDiff(oldName, newName, before, after string) string {
	a, b := diffLines(before), diffLines(after)
	edits := lineEdits(a, b)
	var out strings.Builder
	for len(edits) > 0 {
		last := 0 // the edits up to here are near enough to share a hunk
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

// lineEdit says that lines a0 to a1 of the old text became lines b0 to b1 of the new one.
type lineEdit struct{ a0, a1, b0, b1 int }

func writeHunk(out *strings.Builder, a, b []string, edits []lineEdit) {
	first, last := edits[0], edits[len(edits)-1]
	from, to := max(0, first.a0-diffContext), min(len(a), last.a1+diffContext)
	fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, first.b0-(first.a0-from)+1, to-from+(last.b1-last.a1)-(first.b0-first.a0))
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

// lineEdits finds the changed places. Lines that occur once in each text are anchors; the longest run of anchors in the same
// order in both is kept and grown, so the cost stays near the number of lines.
func lineEdits(a, b []string) []lineEdit {
	var edits []lineEdit
	ai, bi := 0, 0
	emit := func(a1, b1 int) {
		if ai < a1 || bi < b1 {
			edits = append(edits, lineEdit{ai, a1, bi, b1})
		}
	}
	for _, p := range append(anchors(a, b), [2]int{len(a), len(b)}) {
		if p[0] < ai || p[1] < bi {
			continue // a grown anchor went past this one
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
	return edits
}

// anchors gives the positions of lines that are unique in both texts, in the longest order that both share.
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
	var pairs [][2]int // in the old text's order
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
