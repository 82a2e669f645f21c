package ui

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/providers"
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
	Indent int          // columns before the text
	Text   string
	Forces bool // the change replaces the object
}

// Sign returns the symbol of the line's action, a space for none.
func (l DiffLine) Sign() string { return symbols[l.Action].text }

// Listed returns the changes to show, by module and address. It omits the removal of data source
// results from the state by a destroy plan.
func (v *PlanView) Listed() []*plans.InstanceChange { return v.listed() }

// ChangeText describes a change. Sensitive and ephemeral values are hidden. Control characters are
// replaced by visible symbols.
func (v *PlanView) ChangeText(c *plans.InstanceChange) *ChangeText {
	out := v.Heading(c)
	p := &planText{PlanView: v, style: style{on: true}, differ: &differ{}}
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
	out := DiffLine{Indent: len(line) - len(rest), Forces: strings.Contains(line, "\x1b["+string(red)+"m# forces")}
	for action, symbol := range symbols {
		if colored := (style{on: true}).as(symbol.color, symbol.text) + " "; symbol.color != "" &&
			strings.HasPrefix(rest, colored) {
			out.Action, rest = action, strings.TrimPrefix(rest, colored)
			out.Indent += 2
			break
		}
	}
	out.Text = colorCodes.ReplaceAllString(rest, "")
	return out
}

// Schema returns the schema of a resource type, or nil if it is not available.
func (v *PlanView) Schema(p addrs.Provider, r addrs.Resource) *providers.ResourceSchema {
	return v.Schemas.resource(p, r)
}

// Heading describes a change without its difference.
func (v *PlanView) Heading(c *plans.InstanceChange) *ChangeText {
	heading, notes := changeHeading(c, false)
	out := &ChangeText{Heading: printable(heading)}
	for _, note := range notes {
		out.Notes = append(out.Notes, strings.Split(printable(note), "\n")...)
	}
	return out
}

// Shown returns a value of a change with marks on everything that must not be shown.
func (v *PlanView) Shown(val cty.Value, c *plans.InstanceChange) cty.Value {
	return markShown(val, v.Schema(c.Provider.Config.Provider, c.Addr.Resource), c.Provider.Config.Provider,
		c.Addr.Resource)
}

// Printable replaces control characters, which could move the cursor or hide text, with visible
// symbols.
func Printable(text string) string { return printable(text) }
