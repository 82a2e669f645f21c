package ui

import (
	"strings"

	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// ChangeText is one planned change in words and lines, for documents other than a terminal's.
type ChangeText struct {
	Heading string   // what happens to the object
	Notes   []string // why, and where the object comes from
	Lines   []DiffLine
}

// DiffLine is a line of the difference between two objects.
type DiffLine struct {
	Action plans.Action // NoOp, Create, Update or Delete
	Indent int          // columns before the text, counted from the object's attributes
	Text   string
	Forces bool // the change replaces the object
}

// attributeIndent is the indentation of an object's attributes in the text of a plan.
const attributeIndent = 8

// ChangeText describes a change. Sensitive and ephemeral values are hidden. Control characters are
// replaced by visible symbols.
func (v *PlanView) ChangeText(c *plans.InstanceChange) *ChangeText {
	heading, notes := planview.Heading(c, false)
	out := &ChangeText{Heading: termtext.Printable(heading)}
	for _, note := range notes {
		out.Notes = append(out.Notes, strings.Split(termtext.Printable(note), "\n")...)
	}
	p := &planText{PlanView: v, style: termtext.Style{On: true}, differ: &valuediff.Differ{}}
	text := p.change(c, p.schema(c), false)
	_, text, _ = strings.Cut(text, "{\n") // the header of the block
	for line := range strings.Lines(text) {
		out.Lines = append(out.Lines, diffLine(strings.TrimSuffix(line, "\n")))
	}
	if n := len(out.Lines); n > 0 { // the end of the block
		out.Lines = out.Lines[:n-1]
	}
	return out
}

// diffLine reads a line of the colored text. A symbol is one only if it is colored: the texts of
// values may look like symbols, but can't contain colors.
func diffLine(line string) DiffLine {
	rest := strings.TrimLeft(line, " ")
	style := termtext.Style{On: true}
	indent := len(line) - len(rest)
	out := DiffLine{Forces: strings.Contains(line, style.As(termtext.Red, forcesText))}
	for action, symbol := range symbols {
		colored := style.As(symbol.color, symbol.text) + " "
		if symbol.color != "" && strings.HasPrefix(rest, colored) {
			out.Action, rest = action, strings.TrimPrefix(rest, colored)
			indent += 2
			break
		}
	}
	out.Indent = max(indent-attributeIndent, 0)
	out.Text = termtext.Plain(rest)
	return out
}
