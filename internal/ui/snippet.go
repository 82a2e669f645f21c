package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tofu/internal/ui/termtext"
)

// Limits for source excerpts in the human form. The JSON form has no limits.
const (
	snippetLines = 10
	snippetBytes = 240 // maximum number of bytes in a line
)

// sourceLine is a line of an excerpt. text[from:to] is the part to highlight.
type sourceLine struct {
	number   int
	text     string
	from, to int
}

// lines splits an excerpt into lines.
func (s *snippet) lines() []sourceLine {
	var out []sourceLine
	offset := 0
	for i, text := range strings.Split(s.Code, "\n") {
		from := min(max(s.HighlightStart-offset, 0), len(text))
		to := min(max(s.HighlightEnd-offset, from), len(text))
		out = append(out, sourceLine{s.StartLine + i, text, from, to})
		offset += len(text) + 1
	}
	return out
}

// wrong reports whether the line has a part to highlight.
func (l sourceLine) wrong() bool { return l.from < l.to }

// cut shortens a long line. It keeps at least the beginning of the highlighted part.
func (l sourceLine) cut() sourceLine {
	if len(l.text) <= snippetBytes {
		return l
	}
	start := max(min(l.from-snippetBytes/4, len(l.text)-snippetBytes), 0)
	end := start + snippetBytes
	for !utf8.RuneStart(l.text[start]) {
		start--
	}
	for end < len(l.text) && !utf8.RuneStart(l.text[end]) {
		end++
	}
	before, after := "", ""
	if start > 0 {
		before = "…"
	}
	if end < len(l.text) {
		after = "…"
	}
	shift := len(before) - start
	return sourceLine{l.number, before + l.text[start:end] + after, l.from + shift, min(l.to, end) + shift}
}

// window returns consecutive lines that include the highlighted part or, if that is too long, its
// beginning. It returns as many lines as may be shown.
func window(lines []sourceLine) []sourceLine {
	if len(lines) <= snippetLines {
		return lines
	}
	first, last := 0, 0
	for i, l := range lines {
		if l.wrong() {
			last = i
			if !lines[first].wrong() {
				first = i
			}
		}
	}
	if last < snippetLines {
		return lines[:snippetLines]
	}
	start := min(max(first-2, 0), len(lines)-snippetLines)
	return lines[start : start+snippetLines]
}

// code writes source lines. The wrong part is underlined. Without colors, its lines are marked
// instead, unless all lines are wrong.
func (w *diagWriter) code(b *strings.Builder, s *snippet) {
	all := s.lines()
	shown := window(all)
	wrong := 0
	for _, l := range all {
		if l.wrong() {
			wrong++
		}
	}
	leftOut := func(n int) {
		if n > 0 {
			fmt.Fprintf(b, "      (%s not shown)\n", Count(n, "more line"))
		}
	}
	before := shown[0].number - all[0].number
	leftOut(before)
	for _, l := range shown {
		number := fmt.Sprintf("%4d", l.number)
		if !w.style.On && l.wrong() && wrong < len(all) {
			number = ">" + strings.TrimPrefix(number, " ")
		}
		l = l.cut()
		marked := w.style.As(termtext.Underline, termtext.Printable(l.text[l.from:l.to]))
		before, after := termtext.Printable(l.text[:l.from]), termtext.Printable(l.text[l.to:])
		b.WriteString(number + ": " + before + marked + after + "\n")
	}
	leftOut(len(all) - len(shown) - before)
}
