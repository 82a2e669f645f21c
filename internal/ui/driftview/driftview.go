// Package driftview shows what was changed outside of OpenTofu: as text, as Markdown and as JSON. It
// tells apart what changed, what is gone, and what the provider only writes in another way.
package driftview

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tofu/internal/plans"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/review"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

const formatVersion = "1.0"

// Kind says what happened to an object outside of OpenTofu.
type Kind string

// The kinds of drift, the worst first.
const (
	Gone       Kind = "gone"
	Changed    Kind = "changed"
	Normalized Kind = "normalized" // only the notation differs, or null instead of an empty value
)

var titles = []struct {
	kind  Kind
	title string
}{{Gone, "Gone"}, {Changed, "Changed"}, {Normalized, "Only written differently by the provider"}}

// A Report says what was changed outside in one root module. It is also the JSON document.
type Report struct {
	FormatVersion string        `json:"format_version"`
	Drifted       bool          `json:"drifted"` // whether any object is gone or changed
	Objects       []Object      `json:"objects"`
	LookedAt      *plans.Looked `json:"looked_at,omitempty"` // nil if all objects were read
	Unread        []string      `json:"unread,omitempty"`    // objects that could not be read
	Vanished      []string      `json:"vanished,omitempty"`  // see plans.Plan
	Errors        []string      `json:"errors,omitempty"`

	at       time.Time
	groups   map[Kind][]*planview.Group
	markdown string // of a restored report, which has no groups
}

// Object is an object that was changed outside.
type Object struct {
	Address    string      `json:"address"`
	Type       string      `json:"type"`
	Provider   string      `json:"provider"`
	Kind       Kind        `json:"kind"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Attribute is a difference. Before and After are values in the syntax of the language, without what
// is sensitive; they are empty if there is no value, or if it has several lines.
type Attribute struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Note   string `json:"note,omitempty"`
}

// New returns the report of a refresh-only plan.
func New(view *ui.PlanView, showSensitive bool) *Report {
	source := view.Source()
	p := planview.New(source, planview.Options{ShowSensitive: showSensitive})
	out := &Report{FormatVersion: formatVersion, Objects: []Object{}, LookedAt: source.Plan.Looked,
		Unread: source.Plan.Unread, Vanished: source.Plan.Vanished, at: source.Plan.Timestamp,
		groups: map[Kind][]*planview.Group{}}
	for _, d := range source.Plan.Deferred { // it is not known which instances there are, so none was read
		if d.Kept > 0 {
			out.Unread = append(slices.Clip(out.Unread), d.Addr.String())
		}
	}
	byKind := map[Kind][]*planview.Change{}
	for _, c := range source.ShownDrift() {
		if c.Action == plans.NoOp { // only moved
			continue
		}
		change := p.ViewDrift(c)
		fields, _ := change.Fields()
		kind := kindOf(c, fields)
		byKind[kind] = append(byKind[kind], change)
		o := Object{Address: c.Addr.String(), Type: c.Addr.Resource.Type, Kind: kind,
			Provider: c.Provider.Config.Provider.String()}
		if kind != Gone {
			for _, f := range fields {
				o.Attributes = append(o.Attributes, Attribute{f.Path, f.Before, f.After, f.Note})
			}
		}
		out.Objects = append(out.Objects, o)
		out.Drifted = out.Drifted || kind != Normalized
	}
	for kind, changes := range byKind {
		out.groups[kind] = planview.Groups(changes)
	}
	return out
}

func kindOf(c *plans.InstanceChange, fields []planview.Field) Kind {
	switch {
	case c.Action == plans.Delete:
		return Gone
	case valuediff.Alike(c.Before, c.After), !slices.ContainsFunc(fields, func(f planview.Field) bool {
		return f.Action != plans.NoOp && f.Note == ""
	}):
		return Normalized
	}
	return Changed
}

// Fail adds errors to the report.
func (r *Report) Fail(texts ...string) { r.Errors = append(r.Errors, texts...) }

// JSON writes the report as a JSON document.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// each calls section for each kind that there is, and group for each group of equal changes.
func (r *Report) each(section func(title string, n int), group func(*planview.Group)) {
	for _, t := range titles {
		n := 0
		for _, g := range r.groups[t.kind] {
			n += len(g.Changes)
		}
		if n == 0 {
			continue
		}
		section(t.title, n)
		for _, g := range r.groups[t.kind] {
			group(g)
		}
	}
}

// summary returns a sentence about the drift.
func (r *Report) summary() string {
	n := 0
	for _, o := range r.Objects {
		if o.Kind != Normalized {
			n++
		}
	}
	switch {
	case n > 0:
		return ui.Count(n, "object") + " changed outside of OpenTofu."
	case len(r.Unread) > 0, len(r.Errors) > 0:
		return "No drift in the objects that could be read."
	case r.LookedAt != nil:
		return "No drift in the objects that were read."
	}
	return "No drift: the objects match the state."
}

// notes returns sentences about what was not read and what vanished.
func (r *Report) notes() []string {
	var out []string
	for _, text := range r.Vanished {
		out = append(out, "Many objects are gone: "+text+
			" If they were not deleted on purpose, check the credentials and settings of the provider.")
	}
	if len(r.Unread) > 0 {
		out = append(out, "Could not be read: "+strings.Join(r.Unread, ", ")+".")
	}
	if r.LookedAt != nil {
		out = append(out, r.LookedAt.Text(r.at)+".")
	}
	return out
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer, style termtext.Style) error {
	var b strings.Builder
	r.each(func(title string, n int) {
		fmt.Fprintf(&b, "\n%s\n", style.As(termtext.Bold, fmt.Sprintf("%s %d:", title, n)))
	}, func(g *planview.Group) {
		fmt.Fprintf(&b, "  %s %s", strings.TrimSpace(planview.Symbol(g.Action)), termtext.Printable(g.Title()))
		if len(g.Changes) > 1 {
			fmt.Fprintf(&b, "  %s", termtext.Printable(members(g)))
		}
		b.WriteString("\n")
		for _, f := range g.Fields {
			fmt.Fprintf(&b, "      %s\n", termtext.Printable(fieldText(f)))
		}
	})
	fmt.Fprintf(&b, "\n%s\n", style.As(termtext.Bold, r.summary()))
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "%s\n", termtext.Printable(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the report for a comment or a ticket.
func (r *Report) Markdown(w io.Writer) error {
	_, err := io.WriteString(w, r.asMarkdown())
	return err
}

func (r *Report) asMarkdown() string {
	if r.markdown != "" {
		return r.markdown
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", review.Escape(r.summary()))
	for _, note := range r.notes() {
		fmt.Fprintf(&b, "%s\n\n", review.Escape(termtext.Printable(note)))
	}
	r.each(func(title string, n int) {
		if !strings.HasSuffix(b.String(), "\n\n") {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "#### %s (%d)\n\n", title, n)
	}, func(g *planview.Group) {
		fmt.Fprintf(&b, "- %s", review.Code(termtext.Printable(g.Title())))
		if len(g.Changes) > 1 {
			fmt.Fprintf(&b, " %s", review.Escape(termtext.Printable(members(g))))
		}
		b.WriteString("\n")
		for _, f := range g.Fields {
			fmt.Fprintf(&b, "  - %s\n", review.Code(termtext.Printable(fieldText(f))))
		}
	})
	for _, text := range r.Errors {
		fmt.Fprintf(&b, "\n**Error:** %s\n", review.Escape(termtext.Printable(text)))
	}
	return b.String()
}

// Stored is a report for another process. Its JSON form can be decoded.
type Stored struct {
	Report   *Report `json:"report"`
	Markdown string  `json:"markdown"`
}

// Store returns the report for another process; nil for none.
func (r *Report) Store() *Stored {
	if r == nil {
		return nil
	}
	return &Stored{r, r.asMarkdown()}
}

// Restore returns the report that was stored; nil for none. It has everything but its text for people.
func (s *Stored) Restore() *Report {
	if s == nil || s.Report == nil {
		return nil
	}
	s.Report.markdown = s.Markdown
	return s.Report
}

// maxMembers is the number of instances that a group names.
const maxMembers = 20

func members(g *planview.Group) string {
	names, left := g.Members(maxMembers)
	if left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	return fmt.Sprintf("%d instances: %s", len(g.Changes), strings.Join(names, ", "))
}

func fieldText(f planview.Field) string {
	before, after := f.Before, f.After
	switch {
	case f.Note != "":
		return f.Path + ": " + f.Note
	case len(f.Lines) > 0:
		return f.Path + ": several lines differ"
	case before == "":
		before = "(none)"
	case after == "":
		after = "(none)"
	}
	return fmt.Sprintf("%s = %s -> %s", f.Path, before, after)
}
