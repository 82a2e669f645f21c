package explain

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/graphview"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// WriteJSON writes the answer as a JSON document.
func (a *Answer) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(a); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// WriteText writes the answer as text for people, in lines of at most the given number of columns.
// 0 means no limit.
func (a *Answer) WriteText(w io.Writer, columns int) error {
	t := &text{bufio.NewWriter(w), columns}
	t.objects(a.Objects)
	if a.Output != nil {
		t.attribute(a.Output, 0)
	}
	if a.Value != nil {
		if len(a.Objects) > 0 {
			t.line(0, "")
		}
		t.value(a.Value, a.Address)
	}
	if a.Omitted > 0 {
		t.line(0, "")
		t.line(0, "%s not explained here. Name a single object to explain it.", verbed(a.Omitted, "more change", a.Address))
	}
	if len(a.WhyNot) > 0 {
		t.absence(a)
	}
	return t.out.Flush()
}

// absence writes the reasons why something is not in the plan.
func (t *text) absence(a *Answer) {
	switch {
	case a.Value == nil:
	case a.Value.Kind != string(graphview.Data):
		t.line(1, "%s.", tfdiags.Capitalize(a.WhyNot[0].Text))
		return
	default:
		t.line(0, "")
	}
	t.line(0, "%s is not in the plan:", a.Address)
	for _, g := range a.WhyNot {
		t.line(1, "- %s%s", g.Text, at(g.Place))
	}
	t.lastChange(a.LastChange)
}

func (t *text) lastChange(c *LastChange) {
	if c == nil {
		return
	}
	attributes := ""
	if len(c.Attributes) > 0 {
		attributes = " (" + strings.Join(c.Attributes, ", ") + ")"
	}
	t.line(1, "Last changed: %s by %s, %s of %s%s in run %s", c.At.UTC().Format("2006-01-02 15:04:05 UTC"), c.Who,
		c.Action, c.Address, attributes, c.Run)
}

func verbed(n int, what, of string) string {
	if n == 1 {
		return "1 " + what + " of " + of + " is"
	}
	return fmt.Sprintf("%d %ss of %s are", n, what, of)
}

// text writes lines. out.Flush returns write errors.
type text struct {
	out     *bufio.Writer
	columns int // maximum columns of a line; 0 means no limit
}

// line writes a line at a depth of indentation. Control characters become visible symbols. Text
// that doesn't fit continues in lines that are indented further.
func (t *text) line(depth int, format string, args ...any) {
	indent, line := strings.Repeat("  ", depth), termtext.Printable(fmt.Sprintf(format, args...))
	lines := []string{line}
	if t.columns > 0 && len(indent)+termtext.Width(line) > t.columns {
		lines = termtext.WrapWords(line, max(t.columns-len(indent)-len(further), minColumns))
	}
	for i, line := range lines {
		if i > 0 {
			line = further + strings.TrimLeft(line, " ")
		}
		_, _ = t.out.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
}

// further is the additional indentation of continued lines.
const further = "    "

// minColumns is the minimum number of columns of a line after its indentation, even on a narrow
// terminal.
const minColumns = 12

func at(p *Place) string {
	if p == nil {
		return ""
	}
	return "  (" + p.String() + ")"
}

// objects writes changes. Changes with the same explanation share it. Several changes also share it
// if their explanations differ only in their own instance keys.
func (t *text) objects(list []*Object) {
	alike := map[string]int{}
	for _, o := range list {
		alike[o.pattern(0)]++
	}
	var order []string
	same := map[string][]*Object{}
	for _, o := range list {
		key := o.pattern(0)
		if alike[key] < minFolded {
			key = o.explanation(0, true)
		}
		if same[key] == nil {
			order = append(order, key)
		}
		same[key] = append(same[key], o)
	}
	for i, key := range order {
		if i > 0 {
			t.line(0, "")
		}
		objects := same[key]
		t.headings(objects)
		explanation := objects[0].explanation(t.columns, len(objects) > 1)
		if alike[key] >= minFolded {
			explanation = objects[0].pattern(t.columns)
		}
		_, _ = t.out.WriteString(explanation)
	}
}

// pattern returns the explanation of a change in the form that it may share with others. Keys of
// the changed instance, as in a["x"], are replaced by expressions, as in a[each.key].
func (o *Object) pattern(columns int) string {
	text := o.explanation(columns, true)
	keys := []addrs.InstanceKey{o.change.Addr.Key}
	for _, step := range o.change.Addr.Module.Steps() {
		keys = append(keys, step.Key)
	}
	for _, key := range keys {
		if _, number := key.IsInt(); number {
			text = strings.ReplaceAll(text, key.String(), "[count.index]")
		} else if key != addrs.NoKey {
			text = strings.ReplaceAll(text, key.String(), "[each.key]")
		}
	}
	return text
}

// explanation returns the explanation of a change, which is written below its heading. If shared is
// true, several objects have this explanation, and everything that is true only of this object is
// left out.
func (o *Object) explanation(columns int, shared bool) string {
	var b strings.Builder
	inner := &text{bufio.NewWriter(&b), columns}
	inner.object(o, shared)
	_ = inner.out.Flush() // a strings.Builder has no errors
	return b.String()
}

// minFolded is the minimum number of instances that share one heading.
const minFolded = 3

// headings writes what happens to objects. At least minFolded instances of a block share one line.
func (t *text) headings(list []*Object) {
	happens := func(o *Object) string { return strings.TrimPrefix(o.Summary, o.Address) }
	alike := func(x, y *Object) bool {
		return x.change.Addr.Abs() == y.change.Addr.Abs() && happens(x) == happens(y)
	}
	for len(list) > 0 {
		first := list[0]
		end := 1
		for end < len(list) && alike(first, list[end]) {
			end++
		}
		if end < minFolded || first.Deposed != "" {
			t.line(0, "%s%s", first.Summary, at(first.Place))
			list = list[1:]
			continue
		}
		g := &planview.Group{}
		for _, o := range list[:end] {
			g.Changes = append(g.Changes, &planview.Change{InstanceChange: o.change})
		}
		g.Change = g.Changes[0]
		t.line(0, "%s: %d instances%s%s", first.change.Addr.Abs(), end, happens(first), at(first.Place))
		names, _ := g.Members(end)
		t.line(1, "%s", strings.Join(names, ", "))
		list = list[end:]
	}
}

// object writes the explanation of a change below its heading.
func (t *text) object(o *Object, shared bool) {
	why := (&planview.Change{InstanceChange: o.change}).Why()
	for _, note := range o.Notes {
		if shared && why != "" && note == "("+why+")" {
			note = "(" + planview.SharedReason(o.change) + ")"
		}
		t.line(1, "%s", note)
	}
	var decided []string
	title := "Attributes:"
	for _, a := range o.Attributes {
		if a.Place == nil && len(a.Sources) == 0 && a.Unknown {
			decided = append(decided, a.Name)
			continue
		}
		t.title(&title)
		t.attribute(a, 2)
	}
	if len(decided) > 0 {
		t.title(&title)
		t.line(2, "%s: known after the apply, because the provider decides", strings.Join(decided, ", "))
	}
	t.others("Waits for:", o.WaitsFor, waitingParts)
	t.others("What waits for it:", o.WaitedForBy, awaitedParts)
	t.others("Destroyed or replaced with it:", o.TakesAlong, nil)
	t.conditions(o.Conditions)
	t.checkedBy(o.CheckedBy)
	t.lastChange(o.LastChange)
	version := ""
	if o.Provider.Version != "" {
		version = " " + o.Provider.Version
	}
	t.line(1, "Provider: %s%s%s", o.Provider.Address, version, at(o.Provider.Place))
}

// title writes the title of a part, unless it has been written already.
func (t *text) title(title *string) {
	if *title != "" {
		t.line(1, "%s", *title)
		*title = ""
	}
}

// attribute writes an attribute or an output at a depth of indentation.
func (t *text) attribute(a *Attribute, depth int) {
	change := a.After
	switch {
	case len(a.Parts) > 0:
		change = "changes in " + strings.Join(a.Parts, ", ")
	case a.Before != "" && multiline(a.Before, a.After):
		change = "changes"
	case a.Before != "":
		change = a.Before + " -> " + a.After
	case multiline(a.After):
		change = "is set"
	}
	forces := ""
	if a.Forces {
		forces = "  # forces replacement"
	}
	if change != "" {
		change = ": " + change
	}
	t.line(depth, "%s%s%s%s", a.Name, change, forces, at(a.Place))
	if a.Cause != "" {
		t.line(depth+1, "%s", a.Cause)
	}
	t.sources(changing(a.Sources), depth+1)
}

func multiline(values ...string) bool {
	return strings.Contains(strings.Join(values, ""), "\n")
}

// changing returns the sources that changed or may have changed.
func changing(list []*Source) []*Source {
	var out []*Source
	for _, s := range list {
		if s.Changed != Same {
			copied := *s
			copied.Sources = changing(s.Sources)
			out = append(out, &copied)
		}
	}
	return out
}

// sources writes the sources of a value.
func (t *text) sources(list []*Source, depth int) {
	for _, s := range list {
		text := s.Reference
		if s.Text != "" {
			text += ": " + firstLine(s.Text)
		}
		t.line(depth, "<- %s%s", text, at(s.Place))
		t.sources(s.Sources, depth+1)
	}
}

// maxInstances limits the number of instances whose values are written.
const maxInstances = 20

// value writes a variable, a local, an output of a module or a data source.
func (t *text) value(v *NamedValue, address string) {
	for i, c := range v.Instances[:min(len(v.Instances), maxInstances)] {
		place := ""
		if i == 0 {
			place = at(v.Place)
		}
		t.content(c, place)
	}
	if more := len(v.Instances) - maxInstances; more > 0 {
		t.line(0, "and %s of %s", ui.Count(more, "more instance"), address)
	}
	if len(v.Instances) == 0 {
		t.line(0, "%s%s", address, at(v.Place))
	}
	if v.Problem != "" {
		t.line(1, "The value can't be evaluated: %s", firstLine(v.Problem))
	}
	if v.Description != "" {
		t.line(1, "Description: %s", firstLine(strings.TrimSpace(v.Description)))
	}
	if v.Origin != "" || len(v.Sources) > 0 {
		t.line(1, "Comes from:")
	}
	if v.Origin != "" {
		t.line(2, "%s%s", v.Origin, at(v.SetAt))
	}
	t.sources(v.Sources, 2)
	t.readers(v.Readers)
	t.others("Changes that use it:", v.Changes, nil)
}

// content writes a value. The lines of a long value are indented.
func (t *text) content(c *Content, place string) {
	first, rest, _ := strings.Cut(c.Value, "\n")
	switch {
	case c.Value == "":
		t.line(0, "%s%s", c.Address, place)
	case rest == "":
		t.line(0, "%s = %s%s", c.Address, first, place)
	default:
		t.line(0, "%s%s", c.Address, place)
		for line := range strings.SplitSeq(c.Value, "\n") {
			t.line(2, "%s", line)
		}
	}
}

// readers writes the blocks that refer to a value.
func (t *text) readers(list []*Reader) {
	writeList(t, "Read by:", list, func(r *Reader) { t.line(2, "%s%s", r.Address, at(r.Place)) })
}

// writeList writes a title and the items below it, or nothing if there are none. It writes at most
// maxOthers items, and the number of the others.
func writeList[T any](t *text, title string, items []T, write func(T)) {
	if len(items) == 0 {
		return
	}
	t.line(1, "%s", title)
	for _, item := range items[:min(len(items), maxOthers)] {
		write(item)
	}
	if more := len(items) - maxOthers; more > 0 {
		t.line(2, "and %d more", more)
	}
}

// has reports whether one of the sources has the given certainty.
func has(list []*Source, c Certainty) bool {
	return slices.ContainsFunc(list, func(s *Source) bool { return s.Changed == c })
}

func firstLine(text string) string {
	line, rest, _ := strings.Cut(text, "\n")
	if rest != "" {
		line += " ..."
	}
	return line
}

// maxOthers limits the number of items of a list that are written.
const maxOthers = 20

// waitingParts holds phrases for the parts of a replacement that wait for another object.
// awaitedParts holds phrases for the parts that another object waits for.
var (
	waitingParts = map[string]string{"create": ", before the new object is created",
		"delete": ", before the old object is destroyed", "forget": ", before the old object is forgotten"}
	awaitedParts = map[string]string{"create": ", after the new object is created",
		"delete": ", after the old object is destroyed", "forget": ", after the old object is forgotten"}
)

// others writes other objects. parts holds the text for each part of a replacement; see Other.Part.
// maxIndirect is the maximum number of lines about objects that come indirectly. More are counted.
const maxIndirect = 3

func (t *text) others(title string, list []*Other, parts map[string]string) {
	first := slices.IndexFunc(list, func(o *Other) bool { return o.Indirect })
	if first >= 0 && len(list)-first > maxIndirect {
		rest := 0
		for _, o := range list[first:] {
			rest += o.Count
		}
		list = list[:first]
		defer func() { t.line(2, "and %s, through these", ui.Count(rest, "more object")) }()
	}
	writeList(t, title, list, func(o *Other) {
		count := ""
		if o.Count > 1 {
			count = fmt.Sprintf(", %d objects", o.Count)
		}
		t.line(2, "%s (%s%s)%s", o.Address, o.Action, count, parts[o.Part])
	})
}

func (t *text) conditions(c *Conditions) {
	if c == nil {
		return
	}
	places := make([]string, len(c.Places))
	for i, p := range c.Places {
		places[i] = p.String()
	}
	t.line(1, "Conditions: %s  (%s)", c.Status, strings.Join(places, ", "))
	for _, message := range c.Messages {
		t.line(2, "%s", message)
	}
}

// checkedBy writes the conditions in other blocks that read an object.
func (t *text) checkedBy(list []*Condition) {
	writeList(t, "Read by conditions:", list, func(c *Condition) {
		t.line(2, "%s: %s%s", c.Address, c.Status, at(c.Place))
		for _, message := range c.Messages {
			t.line(3, "%s", message)
		}
	})
}
