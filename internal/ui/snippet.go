package ui

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits for the source that a problem shows to people. Documents for programs have all of it.
const (
	snippetLines = 10
	snippetBytes = 240 // of a line
)

// sourceLine is a line of a snippet: text[from:to] is wrong.
type sourceLine struct {
	number   int
	text     string
	from, to int
}

// lines splits a snippet.
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

// wrong reports whether a part of the line is what is wrong.
func (l sourceLine) wrong() bool { return l.from < l.to }

// cut returns the line with no more text than is shown, around what is wrong.
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

// window returns those lines that are shown: some that follow one another, with what is wrong among them.
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

// code writes the source lines with the place that is wrong underlined, or its lines marked where there are no colours.
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
		if !w.style.on && l.wrong() && wrong < len(all) {
			number = ">" + strings.TrimPrefix(number, " ")
		}
		l = l.cut()
		b.WriteString(number + ": " + printable(l.text[:l.from]) + w.style.as(underline, printable(l.text[l.from:l.to])) + printable(l.text[l.to:]) + "\n")
	}
	leftOut(len(all) - len(shown) - before)
}
