package plantext

import (
	"slices"
	"strings"

	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// contextLines is the number of unchanged lines shown around changed lines of a string.
const contextLines = 2

// fields writes differences. Those that force a replacement come first. If symbols is false,
// all differences are additions and have no symbols.
func (s *Screen) fields(indent int, fields []planview.Field, symbols bool) {
	all := planview.Arrange(fields)
	for _, f := range slices.Concat(all.Forcing, all.Plain) {
		s.field(indent, f, symbols)
	}
	for _, u := range all.Unknown {
		s.wrapped(indent, u.Text(unknownName))
	}
}

// maxOld is the maximum number of columns for an old value if the new one isn't known yet.
const maxOld = 40

// unknownName returns the path of a value that becomes unknown, with its old value.
func unknownName(f planview.Field) string {
	if f.Before == "" {
		return f.Path
	}
	return f.Path + " (was " + termtext.Cut(termtext.OneLine(f.Before), maxOld) + ")"
}

// symbolColors maps actions to the colors of their symbols.
var symbolColors = map[plans.Action]termtext.Color{
	plans.Create: termtext.Green, plans.Delete: termtext.Red, plans.Update: termtext.Yellow,
}

// field writes one difference, on one line if it fits. Otherwise, an old and a new value are on
// lines of their own, and a single value is cut unless it is a description.
func (s *Screen) field(indent int, f planview.Field, symbols bool) {
	symbol := ""
	if symbols {
		symbol = planview.Symbol(f.Action) + " "
	}
	path, before, after := termtext.OneLine(f.Path), termtext.OneLine(f.Before), termtext.OneLine(f.After)
	note := fieldNote(f)
	value := " = " + before + " -> " + after
	switch {
	case f.Lines != nil || f.Before == "" && f.After == "":
		value = ""
	case f.Before == "":
		value = " = " + after
	case f.After == "":
		value = " = " + before
	}
	room := s.Width - indent - len(symbol)
	width := termtext.Width(path) + termtext.Width(value)
	pad := strings.Repeat(" ", indent) + s.colored(f.Action, symbol)
	switch {
	case width+termtext.Width(note) <= room:
		s.write(pad + path + value + s.Style.As(noteColor(f), note) + "\n")
	case f.Before != "" && f.After != "" && width > room:
		s.write(pad + termtext.CutMiddle(path, room-1) + ":\n")
		s.values(indent+2+len(symbol), before, after)
		s.noteLine(indent+2+len(symbol), f, note)
	case described(before) || described(after):
		s.write(pad + termtext.CutMiddle(path, room-2) + " =\n")
		s.wrapped(indent+2+len(symbol), strings.TrimPrefix(value, " = "))
		s.noteLine(indent+2+len(symbol), f, note)
	default:
		s.write(pad + termtext.Cut(path+value, room) + "\n")
		s.noteLine(indent+2+len(symbol), f, note)
	}
	s.lines(indent+2, f.Lines)
}

// described reports whether a value is shown as text in parentheses, such as the description of a
// certificate. Such text is wrapped instead of cut, unless it changes to or from a value that is
// shown in another way.
func described(value string) bool { return strings.HasPrefix(value, "(") }

// values writes an old and a new value that don't fit on one line.
func (s *Screen) values(indent int, before, after string) {
	if described(before) && described(after) {
		gone, added := valuediff.Words(before, after)
		s.wrappedMarks(indent, plans.Delete, marked{before, gone})
		s.wrappedMarks(indent, plans.Create, marked{after, added})
		return
	}
	was, now := window(before, after, s.Width-indent-2)
	s.marked(indent, plans.Delete, was)
	s.marked(indent, plans.Create, now)
}

// wrappedMarks is like marked, but breaks a long line into several lines.
func (s *Screen) wrappedMarks(indent int, action plans.Action, m marked) {
	for _, line := range m.wrap(s.Width - indent - 2) {
		s.marked(indent, action, line)
		action = plans.NoOp
	}
}

func (s *Screen) noteLine(indent int, f planview.Field, note string) {
	if note == "" {
		return
	}
	for _, line := range termtext.WrapWords(termtext.OneLine(strings.TrimSpace(note)), max(s.Width-indent, 10)) {
		s.line(indent, noteColor(f), line)
	}
}

func noteColor(f planview.Field) termtext.Color {
	if f.Forces {
		return termtext.Red
	}
	return termtext.Grey
}

func (s *Screen) colored(action plans.Action, text string) string {
	return s.Style.As(symbolColors[action], text)
}

// fieldNote returns the comment after a difference.
func fieldNote(f planview.Field) string {
	var parts []string
	if f.Forces {
		text := "forces replacement"
		if at := place(f.At); at != "" {
			text += ", " + at
		}
		parts = append(parts, text)
	}
	if f.Note != "" {
		parts = append(parts, f.Note)
	}
	if len(f.Causes) > 0 && (f.Before != "" || !f.Unknown) {
		parts = append(parts, "because "+strings.Join(f.Causes, " and "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  # " + strings.Join(parts, "; ")
}

// longValue is the minimum number of columns of an old and a new value together for marking their
// changed words.
const longValue = 40

// window cuts two values to a number of columns around their first difference.
func window(before, after string, columns int) (was, now marked) {
	columns = max(columns, 8)
	var gone, added []valuediff.Span
	if termtext.Width(before)+termtext.Width(after) >= longValue {
		gone, added = valuediff.Words(before, after)
	}
	skip := 0
	if termtext.Width(before) > columns || termtext.Width(after) > columns {
		if common := commonPrefix(before, after); termtext.Width(common) > columns/3 {
			skip = len(common) - len(termtext.Tail(common, columns/3))
		}
	}
	return marked{before, gone}.cut(skip, columns), marked{after, added}.cut(skip, columns)
}

// commonPrefix returns the longest common prefix of two strings. It doesn't split characters.
func commonPrefix(a, b string) string {
	end := 0
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) {
			return a[:i]
		}
		end = i + len(string(r))
	}
	return a[:end]
}

// marked is a printable line and the position of its changed words.
type marked struct {
	text  string
	marks []valuediff.Span
}

// cut drops the first skip bytes, and cuts the end to fit the given number of columns.
func (m marked) cut(skip, columns int) marked {
	whole := m.text
	if skip > 0 {
		whole = "…" + whole[skip:]
		skip -= len("…")
	}
	out := marked{text: termtext.Cut(whole, columns)}
	limit := len(out.text)
	if out.text != whole {
		limit -= len("…")
	}
	for _, mark := range m.marks {
		mark = valuediff.Span{Start: mark.Start - skip, End: min(mark.End-skip, limit)}
		if mark.Start < mark.End {
			out.marks = append(out.marks, mark)
		}
	}
	return out
}

// wrap breaks a line into several lines of at most the given number of columns.
func (m marked) wrap(columns int) []marked {
	var out []marked
	start := 0
	for _, text := range termtext.WrapWords(m.text, columns) {
		line := marked{text: text}
		end := start + len(text)
		for _, mark := range m.marks {
			part := valuediff.Span{Start: max(mark.Start, start) - start, End: min(mark.End, end) - start}
			if part.Start < part.End {
				line.marks = append(line.marks, part)
			}
		}
		out = append(out, line)
		start = end
		if strings.HasPrefix(m.text[start:], " ") {
			start++
		}
	}
	return out
}

// lines writes the differences of a string with several lines.
func (s *Screen) lines(indent int, lines []valuediff.Line) {
	for _, l := range valuediff.Hunks(lines, contextLines) {
		if l.Skipped > 0 {
			s.line(indent+2, termtext.Grey, "("+count(l.Skipped, "unchanged line")+")")
			continue
		}
		s.marked(indent, l.Action, markedLine(l, max(s.Width-indent-2, 8)))
	}
}

// marked writes a line with its changed words underlined or, without colors, with carets below
// them.
func (s *Screen) marked(indent int, action plans.Action, m marked) {
	symbol := s.colored(action, termtext.Pad(strings.TrimSpace(planview.Symbol(action)), 2))
	pad := strings.Repeat(" ", indent) + symbol
	if s.Style.On {
		s.write(strings.TrimRight(pad+valuediff.Underlined(s.Style, m.text, m.marks), " ") + "\n")
		return
	}
	s.write(strings.TrimRight(pad+m.text, " ") + "\n")
	if len(m.marks) > 0 {
		s.write(strings.Repeat(" ", indent+2) + valuediff.Carets(m.text, m.marks) + "\n")
	}
}

// markedLine returns a line that is cut to the given number of columns. If the first change
// would not be visible, the beginning of the line is cut off.
func markedLine(l valuediff.Line, columns int) marked {
	var m marked
	m.text, m.marks = valuediff.Printable(l.Text, l.Changed, termtext.OneLine)
	skip := 0
	if len(m.marks) > 0 && termtext.Width(m.text) > columns && termtext.Width(m.text[:m.marks[0].End]) > columns-1 {
		start := m.text[:m.marks[0].Start]
		skip = len(start) - len(termtext.Tail(start, columns/3))
	}
	return m.cut(skip, columns)
}
