package page

import (
	"strings"

	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// details holds the differences of one object or output.
type details struct {
	Heading string     `json:"h,omitempty"`
	Notes   []string   `json:"n,omitempty"`
	Lines   []lineJSON `json:"l,omitempty"`
}

type lineJSON struct {
	Sign   string   `json:"s,omitempty"`
	Indent int      `json:"i,omitempty"`
	Parts  []string `json:"t"`           // parts of the text, alternately unchanged and changed
	Line   int      `json:"n,omitempty"` // line where the configuration sets the attribute
	Forces bool     `json:"r,omitempty"`
}

// details describes a change. The result has no differences if the object does not change or the
// change is deferred. places maps attributes to their lines in the configuration.
func (c change) details(view *planview.Change, places map[string]int) *details {
	if c.deferred != nil {
		return &details{Heading: c.Addr.String() + " is deferred until after an apply", Notes: []string{"because " +
			c.deferred.Because()}}
	}
	if c.Action == plans.NoOp && c.MovedFrom == nil && c.Importing == nil {
		return &details{Heading: c.Addr.String() + " does not change"}
	}
	heading, notes := planview.Heading(c.InstanceChange, false)
	out := &details{Heading: termtext.Printable(heading)}
	for _, note := range notes {
		out.Notes = append(out.Notes, strings.Split(termtext.Printable(note), "\n")...)
	}
	if view.Schema == nil {
		out.Notes = append(out.Notes, planview.NoSchemaText)
	}
	fields, _ := view.Fields()
	for _, l := range planview.Text(fields) {
		text := line(l)
		if !l.Nested {
			text.Line = places[l.Name]
		}
		out.Lines = append(out.Lines, text)
	}
	return out
}

// nestedIndent is the indentation of lines that belong to a long value.
const nestedIndent = 2

// line returns a line of a difference.
func line(l planview.TextLine) lineJSON {
	out := lineJSON{Sign: signs[l.Action], Parts: parts(l), Forces: l.Forces}
	if l.Nested {
		out.Indent = nestedIndent
	}
	return out
}

// parts splits a line at the boundaries of its changed words.
func parts(l planview.TextLine) []string {
	var out []string
	end := 0
	for _, w := range l.Changed {
		out = append(out, termtext.Printable(l.Text[end:w.Start]), termtext.Printable(l.Text[w.Start:w.End]))
		end = w.End
	}
	return append(out, termtext.Printable(l.Text[end:]))
}

// signs maps an action to the sign at the start of its lines.
var signs = map[plans.Action]string{plans.Create: "+", plans.Delete: "-", plans.Update: "~"}
