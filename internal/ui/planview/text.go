package planview

import (
	"strings"

	"tofu/internal/plans"
	"tofu/internal/ui/valuediff"
)

// Arranged holds the differences of a change in the order in which all views show them.
type Arranged struct {
	Forcing []Field   // differences that force a replacement
	Plain   []Field   // differences that are in no other list
	Unknown []Unknown // other values that are known only after apply
}

// Unknown holds values that are unknown for the same reasons.
type Unknown struct {
	Causes string // such as "aws_vpc.main is created"; "" if the provider decides the values
	Fields []Field
}

// Arrange sorts differences by their importance to a reviewer.
func Arrange(fields []Field) Arranged {
	var out Arranged
	index := make(map[string]int)
	for _, f := range fields {
		switch {
		case f.Forces:
			out.Forcing = append(out.Forcing, f)
		case f.Unknown:
			causes := strings.Join(f.Causes, " and ")
			i, found := index[causes]
			if !found {
				i = len(out.Unknown)
				index[causes] = i
				out.Unknown = append(out.Unknown, Unknown{Causes: causes})
			}
			out.Unknown[i].Fields = append(out.Unknown[i].Fields, f)
		default:
			out.Plain = append(out.Plain, f)
		}
	}
	return out
}

// Text returns one line about the values. name returns the text for each of them.
func (u Unknown) Text(name func(Field) string) string {
	names := make([]string, len(u.Fields))
	for i, f := range u.Fields {
		names[i] = name(f)
	}
	text := "known after apply: " + strings.Join(names, ", ")
	if u.Causes != "" {
		text += ", because " + u.Causes
	}
	return text
}

// A TextLine is a line about the differences of a change, for documents without columns.
type TextLine struct {
	Action  plans.Action // NoOp, Create, Update or Delete
	Text    string
	Changed []valuediff.Span // positions of the changed words in Text
	Nested  bool             // whether the line belongs to the last line before it that isn't nested
	Name    string           // name of the argument or block; "" if the line is about several
	Forces  bool             // whether the difference forces a replacement
}

// Limits for the lines of documents.
const (
	besideLimit  = 80 // maximum length in bytes of two values together on one line
	contextLines = 3  // number of unchanged lines around changed lines of a string
)

// Text returns the lines of differences, in the order of Arrange.
func Text(fields []Field) []TextLine {
	all := Arrange(fields)
	var out []TextLine
	for _, f := range all.Forcing {
		out = f.appendText(out)
	}
	for _, f := range all.Plain {
		out = f.appendText(out)
	}
	for _, u := range all.Unknown {
		name := ""
		if len(u.Fields) == 1 {
			name = u.Fields[0].Name()
		}
		out = append(out, TextLine{Action: u.Fields[0].Action, Name: name, Text: u.Text(func(f Field) string {
			if f.Before == "" {
				return f.Path
			}
			return f.Path + " (was " + f.Before + ")"
		})})
	}
	return out
}

// appendText appends the lines of one difference.
func (f Field) appendText(out []TextLine) []TextLine {
	line := TextLine{Action: f.Action, Name: f.Name(), Forces: f.Forces, Text: f.Path}
	beside := len(f.Before)+len(f.After) <= besideLimit
	switch {
	case f.Lines != nil || f.Before == "" && f.After == "":
	case f.Before == "":
		line.Text += " = " + f.After
	case f.After == "":
		line.Text += " = " + f.Before
	case beside:
		line.Text += " = " + f.Before + " -> " + f.After
	}
	line.Text += f.remarks()
	out = append(out, line)
	if f.Before != "" && f.After != "" && !beside {
		gone, added := valuediff.Words(f.Before, f.After)
		out = append(out,
			TextLine{Action: plans.Delete, Nested: true, Name: f.Name(), Text: f.Before, Changed: gone},
			TextLine{Action: plans.Create, Nested: true, Name: f.Name(), Text: f.After, Changed: added})
	}
	lines := f.Lines
	if f.Action == plans.Update {
		lines = valuediff.Hunks(lines, contextLines)
	}
	for _, l := range lines {
		if l.Skipped > 0 {
			out = append(out, TextLine{Nested: true, Name: f.Name(), Text: skippedText(l.Skipped)})
			continue
		}
		if f.Action != plans.Update { // the whole text is added or removed
			l.Action = f.Action
		}
		out = append(out, TextLine{Action: l.Action, Nested: true, Name: f.Name(), Text: l.Text, Changed: l.Changed})
	}
	return out
}

// remarks returns the comments after a difference.
func (f Field) remarks() string {
	text := ""
	if f.Forces {
		text += " # forces replacement"
	}
	if f.Note != "" {
		text += " # " + f.Note
	}
	if len(f.Causes) > 0 {
		text += " # because " + strings.Join(f.Causes, " and ")
	}
	return text
}
