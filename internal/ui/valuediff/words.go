package valuediff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"tofu/internal/diff"
	"tofu/internal/plans"
)

// A Span is a range of bytes in a string.
type Span struct{ Start, End int }

// Words returns the whole words that differ between two strings. It returns nil for strings that
// have little in common.
func Words(before, after string) (gone, added []Span) {
	was, is := words(before), words(after)
	common := 0
	atOld, atNew := 0, 0
	for _, p := range diff.Align(was, is) {
		switch {
		case p.New < 0:
			gone = extend(gone, atOld, atOld+len(was[p.Old]))
			atOld += len(was[p.Old])
		case p.Old < 0:
			added = extend(added, atNew, atNew+len(is[p.New]))
			atNew += len(is[p.New])
		default:
			if strings.TrimSpace(was[p.Old]) != "" {
				common += len(was[p.Old])
			}
			atOld += len(was[p.Old])
			atNew += len(is[p.New])
		}
	}
	if 3*common < max(len(before), len(after)) || common == 0 {
		return nil, nil
	}
	return gone, added
}

// extend appends a span to spans. If it starts at the end of the last span, it extends the last
// span.
func extend(spans []Span, start, end int) []Span {
	if n := len(spans); n > 0 && spans[n-1].End == start {
		spans[n-1].End = end
		return spans
	}
	return append(spans, Span{start, end})
}

// words splits a string into runs of letters and digits, and single other characters.
func words(text string) []string {
	var out []string
	start := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) {
			if i > start {
				out = append(out, text[start:i])
			}
			out = append(out, text[i:i+n])
			start = i + n
		}
		i += n
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// markWords marks the changed words of lines that were replaced. It compares the first removed
// line of a run with the first added one, the second with the second, and so on.
func markWords(lines []Line) {
	for i := 0; i < len(lines); {
		gone := i
		for i < len(lines) && lines[i].Action == plans.Delete {
			i++
		}
		added := i
		for i < len(lines) && lines[i].Action == plans.Create {
			i++
		}
		for k := range min(added-gone, i-added) {
			was, now := &lines[gone+k], &lines[added+k]
			was.Changed, now.Changed = Words(was.Text, now.Text)
		}
		if i == gone {
			i++
		}
	}
}

// Hunks returns the changed lines of a string, and up to context unchanged lines around each. A run
// of two or more other lines becomes a single Line, whose field Skipped is their number.
func Hunks(lines []Line, context int) []Line {
	near := make([]bool, len(lines))
	distance := context + 1
	for i := range lines {
		distance++
		if lines[i].Action != plans.NoOp {
			distance = 0
		}
		near[i] = distance <= context
	}
	distance = context + 1
	for i := len(lines) - 1; i >= 0; i-- {
		distance++
		if lines[i].Action != plans.NoOp {
			distance = 0
		}
		near[i] = near[i] || distance <= context
	}
	var out []Line
	for i := 0; i < len(lines); {
		if near[i] {
			out = append(out, lines[i])
			i++
			continue
		}
		j := i
		for j < len(lines) && !near[j] {
			j++
		}
		if j-i == 1 { // the remark would be as long as the line
			out = append(out, lines[i])
		} else {
			out = append(out, Line{Skipped: j - i})
		}
		i = j
	}
	return out
}
