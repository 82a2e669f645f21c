package plantext

import (
	"slices"
	"strings"

	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// contextLines is the number of unchanged lines around the changes of a text.
const contextLines = 2

// fields writes differences, those that force a replacement first. Without symbols, all of them are
// additions.
func (s *Screen) fields(indent int, fields []planview.Field, symbols bool) {
	all := planview.Arrange(fields)
	for _, f := range slices.Concat(all.Forcing, all.Plain) {
		s.field(indent, f, symbols)
	}
	for _, u := range all.Unknown {
		s.wrapped(indent, u.Text(unknownName))
	}
	if len(all.Reformed) > 0 {
		s.wrapped(indent, "only the form of the number changes: "+strings.Join(all.Reformed, ", "))
	}
}

// maxOld is the number of columns of an old value whose new one is not known yet.
const maxOld = 40

// unknownName returns the path of a value that becomes unknown, with its old value.
func unknownName(f planview.Field) string {
	if f.Before == "" {
		return f.Path
	}
	return f.Path + " (was " + termtext.Cut(oneLine(f.Before), maxOld) + ")"
}

// symbolColors are the colors of the symbols of differences.
var symbolColors = map[plans.Action]termtext.Color{
	plans.Create: termtext.Green, plans.Delete: termtext.Red, plans.Update: termtext.Yellow,
}

// field writes one difference: on one line if it fits, and otherwise on one for each value.
func (s *Screen) field(indent int, f planview.Field, symbols bool) {
	symbol := ""
	if symbols {
		symbol = planview.Symbol(f.Action) + " "
	}
	path, before, after := oneLine(f.Path), oneLine(f.Before), oneLine(f.After)
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
		old, new := window(before, after, room-4)
		s.write(strings.Repeat(" ", indent+2+len(symbol)) + s.colored(plans.Delete, "- ") + old + "\n")
		s.write(strings.Repeat(" ", indent+2+len(symbol)) + s.colored(plans.Create, "+ ") + new + "\n")
		s.noteLine(indent+2+len(symbol), f, note)
	default:
		s.write(pad + termtext.Cut(path+value, room) + "\n")
		s.noteLine(indent+2+len(symbol), f, note)
	}
	s.lines(indent+2, f.Lines)
}

func (s *Screen) noteLine(indent int, f planview.Field, note string) {
	if note != "" {
		s.line(indent, noteColor(f), strings.TrimSpace(note))
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

// fieldNote returns what follows a difference as a comment.
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
	if len(f.Causes) > 0 && f.Before != "" {
		parts = append(parts, "because "+strings.Join(f.Causes, " and "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  # " + strings.Join(parts, "; ")
}

// window cuts two values to a width, around the first difference.
func window(before, after string, columns int) (old, new string) {
	columns = max(columns, 8)
	if termtext.Width(before) <= columns && termtext.Width(after) <= columns {
		return before, after
	}
	common := commonPrefix(before, after)
	if keep := columns / 3; termtext.Width(common) > keep {
		cut := common[:len(common)-len(termtext.Tail(common, keep))]
		before, after = "…"+before[len(cut):], "…"+after[len(cut):]
	}
	return termtext.Cut(before, columns), termtext.Cut(after, columns)
}

// commonPrefix returns the longest common start of whole runes.
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

// lines writes a text that changes. Without colors, carets below a line mark its changed words.
func (s *Screen) lines(indent int, lines []valuediff.Line) {
	for _, l := range valuediff.Hunks(lines, contextLines) {
		if l.Skipped > 0 {
			s.line(indent+2, termtext.Grey, "("+count(l.Skipped, "unchanged line")+")")
			continue
		}
		room := max(s.Width-indent-2, 8)
		symbol := strings.TrimSpace(planview.Symbol(l.Action))
		pad := strings.Repeat(" ", indent) + s.colored(l.Action, termtext.Pad(symbol, 2))
		text, marks := markedLine(l, room)
		if s.Style.On {
			s.write(strings.TrimRight(pad+s.underlined(text, marks), " ") + "\n")
			continue
		}
		s.write(strings.TrimRight(pad+text, " ") + "\n")
		if len(marks) > 0 {
			s.write(strings.Repeat(" ", indent+2) + carets(text, marks) + "\n")
		}
	}
}

// markedLine returns a printable line that is cut to a width, and its changed words.
func markedLine(l valuediff.Line, columns int) (text string, marks []valuediff.Span) {
	var b strings.Builder
	end := 0
	for _, w := range l.Changed {
		b.WriteString(oneLine(l.Text[end:w.Start]))
		start := b.Len()
		b.WriteString(oneLine(l.Text[w.Start:w.End]))
		marks = append(marks, valuediff.Span{Start: start, End: b.Len()})
		end = w.End
	}
	b.WriteString(oneLine(l.Text[end:]))
	whole := b.String()
	if termtext.Width(whole) <= columns {
		return whole, marks
	}
	skip := 0
	if len(marks) > 0 && termtext.Width(whole[:marks[0].End]) > columns-1 { // the first change is out of sight
		skip = len(whole[:marks[0].Start]) - len(termtext.Tail(whole[:marks[0].Start], columns/3))
		whole = "…" + whole[skip:]
		skip -= len("…")
	}
	text = termtext.Cut(whole, columns)
	limit := len(strings.TrimSuffix(text, "…"))
	var visible []valuediff.Span
	for _, m := range marks {
		m = valuediff.Span{Start: m.Start - skip, End: min(m.End-skip, limit)}
		if m.Start < m.End {
			visible = append(visible, m)
		}
	}
	return text, visible
}

func (s *Screen) underlined(text string, marks []valuediff.Span) string {
	var b strings.Builder
	end := 0
	for _, m := range marks {
		b.WriteString(text[end:m.Start] + s.Style.As(termtext.Underline, text[m.Start:m.End]))
		end = m.End
	}
	return b.String() + text[end:]
}

// carets returns a line with carets below the marks.
func carets(text string, marks []valuediff.Span) string {
	var b strings.Builder
	end := 0
	for _, m := range marks {
		b.WriteString(strings.Repeat(" ", termtext.Width(text[end:m.Start])) +
			strings.Repeat("^", termtext.Width(text[m.Start:m.End])))
		end = m.End
	}
	return b.String()
}
