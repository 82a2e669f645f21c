package diff

import (
	"fmt"
	"strings"
)

// contextLines is how many unchanged lines surround a change.
const contextLines = 3

// Unified returns the differences between two texts in the format of `diff -u`, or "" if there
// are none.
func Unified(oldName, newName, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	edits := lineEdits(a, b)
	var out strings.Builder
	for len(edits) > 0 {
		last := 0 // index of the last edit in the next hunk
		for last+1 < len(edits) && edits[last+1].a0-edits[last].a1 <= 2*contextLines {
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
	from, to := max(0, first.a0-contextLines), min(len(a), last.a1+contextLines)
	fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(from, to), lineRange(first.b0-(first.a0-from), last.b1+(to-last.a1)))
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

func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineEdits returns the changes between the lines a and b.
func lineEdits(a, b []string) []lineEdit {
	var edits []lineEdit
	ai, bi := 0, 0
	changing := false
	for _, p := range Align(a, b) {
		if p.Old >= 0 && p.New >= 0 {
			ai, bi, changing = p.Old+1, p.New+1, false
			continue
		}
		if !changing {
			edits = append(edits, lineEdit{ai, ai, bi, bi})
			changing = true
		}
		last := &edits[len(edits)-1]
		if p.Old >= 0 {
			last.a1++
		} else {
			last.b1++
		}
	}
	return slide(edits, a, b)
}

// slide moves pure insertions and deletions down as far as equal lines allow, like diff does.
func slide(edits []lineEdit, a, b []string) []lineEdit {
	out := edits[:0]
	for i, e := range edits {
		end := len(a) // start of the equal lines that follow the edit
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

// lineRange writes the lines from one index to another like diff(1): the number of the first line
// and, unless it is 1, how many there are. An empty range has the number of the line before it.
func lineRange(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}
