package terragrunt

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
)

// note is a message about something in a unit that has no counterpart in roots.tofu.hcl. If many
// units include the same file, they share the notes about it.
type note struct {
	noteKey
	units []string // in the order in which the units were read
}

type noteKey struct {
	file string // relative to the estate; "" if the note is about a unit as a whole
	line int
	text string
	unit string // only set if the note is about a unit as a whole
}

// leave records that something in a unit has no counterpart. at is its position. The zero value of
// at means the unit as a whole.
func (im *importer) leave(unit string, at hcl.Range, what string, args ...any) {
	key := noteKey{text: fmt.Sprintf(what, args...), unit: unit}
	if at.Filename != "" {
		key.file, key.line, key.unit = im.relative(at.Filename), at.Start.Line, ""
	}
	if before := im.noted[key]; before != nil {
		if before.units[len(before.units)-1] != unit {
			before.units = append(before.units, unit)
		}
		return
	}
	im.noted[key] = &note{noteKey: key, units: []string{unit}}
	im.notes = append(im.notes, im.noted[key])
}

// relative returns a path relative to the top of the estate, as text for messages.
func (im *importer) relative(path string) string {
	rel, err := filepath.Rel(im.top, path)
	if err != nil {
		return slash(path)
	}
	return slash(rel)
}

// leftOut returns the notes as lines, sorted by file and unit, and a summary of them.
func (im *importer) leftOut() (all, summary []string) {
	slices.SortStableFunc(im.notes, func(a, b *note) int {
		return cmp.Or(strings.Compare(a.place(), b.place()), a.line-b.line, strings.Compare(a.text, b.text))
	})
	groups := make(map[string][]*note)
	for _, n := range im.notes {
		all = append(all, n.String())
		groups[n.kind()] = append(groups[n.kind()], n)
	}
	for _, n := range im.notes {
		same := groups[n.kind()]
		switch {
		case len(same) <= mostAlike:
			summary = append(summary, n.String())
		case same[0] == n:
			summary = append(summary, summarize(same))
		}
	}
	return all, summary
}

const (
	mostShown = 3  // number of units or places that are shown before "and N more"
	mostAlike = 10 // number of notes of one kind that are shown one by one
)

// specific matches the parts of a note that are about one place: quoted text, places, paths and
// names of environment variables.
var specific = regexp.MustCompile(`"[^"]*"| \([^\s()]+:\d+\)|\S*/[^\s:,]*|TF_VAR_\w+`)

// kind returns the text of a note without what is specific to its place.
func (n *note) kind() string { return specific.ReplaceAllString(n.text, "…") }

// summarize returns the lines for notes of one kind: the kind, and the first places with what is
// specific to them.
func summarize(same []*note) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%d times):", same[0].kind(), len(same))
	for _, n := range same[:mostShown] {
		b.WriteString("\n      " + n.place())
		if n.file != "" {
			fmt.Fprintf(&b, ":%d", n.line)
		}
		if details := specific.FindAllString(n.text, -1); len(details) > 0 {
			b.WriteString(": " + strings.ReplaceAll(strings.Join(details, ", "), ",  (", " ("))
		}
	}
	fmt.Fprintf(&b, "\n      and %d more", len(same)-mostShown)
	return b.String()
}

func (n *note) place() string { return cmp.Or(n.file, n.unit) }

// String returns the line "FILE:LINE: TEXT". It adds the names of the units, unless the file
// belongs to the only unit of the note.
func (n *note) String() string {
	if n.file == "" {
		return n.unit + ": " + n.text
	}
	line := fmt.Sprintf("%s:%d: %s", n.file, n.line, n.text)
	switch units := n.units; {
	case len(units) == 1 && strings.HasPrefix(n.file, units[0]+"/"):
		return line
	case len(units) > mostShown:
		return fmt.Sprintf("%s (in %s and %d more)", line, strings.Join(units[:mostShown], ", "), len(units)-mostShown)
	default:
		return fmt.Sprintf("%s (in %s)", line, strings.Join(units, ", "))
	}
}

// callFailed matches the prefix of errors from functions.
var callFailed = regexp.MustCompile(`^Call to function "[^"]*" failed: `)

// reason returns an error as text for a note, with paths relative to the estate. The text includes
// the position of the error unless it is inside at.
func (im *importer) reason(err error, at hcl.Range) string {
	if err == nil {
		return "it is not known"
	}
	d := tfdiags.FromError(err)[0]
	text := strings.TrimSuffix(strings.Join(strings.Fields(d.Detail), " "), ".")
	if text == "" {
		text = d.Summary
	}
	text = callFailed.ReplaceAllString(text, "")
	if d.Subject != nil && (d.Subject.Filename != at.Filename || d.Subject.Start.Line != at.Start.Line) {
		text += " (" + tfdiags.Place(*d.Subject) + ")"
	}
	return strings.ReplaceAll(text, im.top+string(filepath.Separator), "")
}
