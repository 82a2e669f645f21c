package review

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui"
)

// DefaultLimit is a length that the comments of all common code hosts may have. Lengths are in
// characters.
const DefaultLimit = 65000

// LeastLimit is the smallest limit: there is room for the table and for what was left out.
const LeastLimit = 1000

// section is the group of changes with one kind of action.
type section struct {
	title   string // of the list
	column  string // of the table
	sign    string
	actions []plans.Action
	changes []*plans.InstanceChange
}

// sections returns the empty sections, the most dangerous first.
func sections() []*section {
	return []*section{
		{title: "Destroyed", column: "destroy", sign: "−", actions: []plans.Action{plans.Delete}},
		{title: "Replaced", column: "replace", sign: "±",
			actions: []plans.Action{plans.DeleteThenCreate, plans.CreateThenDelete, plans.ForgetThenCreate}},
		{title: "Forgotten", column: "forget", sign: ".", actions: []plans.Action{plans.Forget}},
		{title: "Updated", column: "update", sign: "~", actions: []plans.Action{plans.Update}},
		{title: "Created", column: "create", sign: "+", actions: []plans.Action{plans.Create}},
		{title: "Read", column: "read", sign: "≤", actions: []plans.Action{plans.Read}},
		{title: "Imported or moved only", column: "move", sign: "→", actions: []plans.Action{plans.NoOp}},
	}
}

// writer writes one text.
type writer struct {
	view     *ui.PlanView
	sections []*section
	out      strings.Builder
	left     int // characters
	due      int // characters of the addresses of dangerous changes that are not written yet
}

// Write writes a plan as Markdown of at most limit characters.
func Write(out io.Writer, view *ui.PlanView, limit int) error {
	w := &writer{view: view, sections: sections(), left: limit}
	of := map[plans.Action]*section{}
	for _, s := range w.sections {
		for _, a := range s.actions {
			of[a] = s
		}
	}
	for _, c := range view.Listed() {
		if s := of[c.Action]; s != nil && (c.Action != plans.NoOp || c.MovedFrom != nil || c.Importing != nil) {
			s.changes = append(s.changes, c)
		}
	}
	w.head()
	w.table()
	w.body()
	if _, err := io.WriteString(out, w.out.String()); err != nil {
		return fmt.Errorf("writing the text: %w", err)
	}
	return nil
}

// add writes a piece of text.
func (w *writer) add(text string) {
	w.out.WriteString(text)
	w.left -= length(text)
}

func (w *writer) head() {
	var parts []string
	for _, s := range w.sections {
		if len(s.changes) > 0 {
			parts = append(parts, fmt.Sprintf("**%d to %s**", len(s.changes), s.column))
		}
	}
	switch {
	case w.view.Plan.Errored:
		w.add("### Planning failed\n\nThe plan is incomplete and can't be applied.\n\n")
	case len(parts) == 0 && !w.view.Plan.Applyable:
		w.add("### No changes\n\n")
	default:
		w.add("### Plan\n\n")
	}
	if w.view.Plan.Mode == plans.Destroy {
		w.add("> [!CAUTION]\n> This plan destroys everything that the configuration manages.\n\n")
	}
	if len(parts) > 0 {
		w.add(strings.Join(parts, ", ") + "\n\n")
	}
	if outputs := w.outputs(); outputs > 0 {
		w.add(ui.Count(outputs, "output") + " will change.\n\n")
	}
}

// outputs returns the number of outputs that change.
func (w *writer) outputs() int {
	n := 0
	for _, o := range w.view.Plan.Changes.Outputs {
		if o.Action != plans.NoOp {
			n++
		}
	}
	return n
}

// maxRows limits the table. The rows with the most dangerous changes stay.
const maxRows = 30

// table writes the counts by resource type.
func (w *writer) table() {
	counts := map[string][]int{}
	var types []string
	var columns []int
	for i, s := range w.sections {
		if len(s.changes) > 0 {
			columns = append(columns, i)
		}
		for _, c := range s.changes {
			name := typeName(c.Addr.Resource)
			if counts[name] == nil {
				counts[name] = make([]int, len(w.sections))
				types = append(types, name)
			}
			counts[name][i]++
		}
	}
	if len(columns) == 0 {
		return
	}
	head, rule := "| Type |", "|---|"
	for _, i := range columns {
		head += " " + w.sections[i].sign + " " + w.sections[i].column + " |"
		rule += "---:|"
	}
	w.add(head + "\n" + rule + "\n")
	room := w.left / 2
	for n, name := range types {
		row := "| " + code(name) + " |"
		for _, i := range columns {
			cell := ""
			if counts[name][i] > 0 {
				cell = fmt.Sprint(counts[name][i])
			}
			row += " " + cell + " |"
		}
		if n == maxRows || length(row) > room {
			w.add(fmt.Sprintf("| and %s | %s\n", ui.Count(len(types)-n, "more type"), strings.Repeat(" |", len(columns))))
			break
		}
		room -= length(row) + 1
		w.add(row + "\n")
	}
	w.add("\n")
}

func typeName(r addrs.Resource) string {
	if r.Mode == addrs.Data {
		return "data." + r.Type
	}
	return r.Type
}

// reserve is the room that is kept for the numbers of changes that are left out: a line for each
// section and a last one.
const reserve = 450

// dangerous is the number of sections whose addresses have precedence over all differences.
const dangerous = 3

// least is the room without which no difference is tried.
const least = 120

// body writes the changes, as many as there is room for.
func (w *writer) body() {
	w.left -= reserve
	for _, s := range w.sections[:dangerous] {
		for _, c := range s.changes {
			w.due += length(line(c))
		}
	}
	hidden := 0
	for i, s := range w.sections {
		if len(s.changes) == 0 {
			continue
		}
		title := fmt.Sprintf("#### %s %s (%d)\n\n", s.sign, s.title, len(s.changes))
		if length(title) > w.left {
			hidden += len(s.changes)
			continue
		}
		w.add(title)
		hidden += w.changes(s, i < dangerous)
	}
	w.left += reserve
	if hidden > 0 {
		w.add(fmt.Sprintf("> The length of this text is limited: %s not shown. `tofu show` shows the whole plan.\n",
			counted(hidden, "change is", "changes are")))
	}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// line returns the line of a change whose difference is left out.
func line(c *plans.InstanceChange) string { return "- " + code(name(c)) + "\n" }

func length(text string) int { return utf8.RuneCountInString(text) }

// changes writes the changes of a section and returns the number of those that it left out. A change
// whose difference would take the room of dangerous addresses has only its address.
func (w *writer) changes(s *section, due bool) (hidden int) {
	inList := false
	for i, c := range s.changes {
		short := line(c)
		if due {
			w.due -= length(short)
		}
		if w.left-w.due > least {
			text := w.folded(c)
			if inList {
				text = "\n" + text // Markdown would add the block to the list
			}
			if length(text) <= w.left-w.due {
				w.add(text)
				inList = false
				continue
			}
		}
		if length(short) > w.left {
			hidden = len(s.changes) - i
			for _, rest := range s.changes[i+1:] {
				if due {
					w.due -= length(line(rest))
				}
			}
			w.add(fmt.Sprintf("- and %d more\n", hidden))
			break
		}
		w.add(short)
		inList = true
	}
	w.add("\n")
	return hidden
}

func name(c *plans.InstanceChange) string {
	if c.Deposed != addrs.NotDeposed {
		return c.Addr.String() + " (deposed " + string(c.Deposed) + ")"
	}
	return c.Addr.String()
}

// folded returns a change with its difference in a folded block.
func (w *writer) folded(c *plans.InstanceChange) string {
	text := w.view.ChangeText(c)
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary><code>%s</code>", escape(name(c)))
	if forced := forcing(text); len(forced) > 0 {
		fmt.Fprintf(&b, " forced by <code>%s</code>", escape(strings.Join(forced, ", ")))
	}
	b.WriteString("</summary>\n\n")
	var lines []string
	for _, note := range append([]string{text.Heading}, text.Notes...) {
		lines = append(lines, "# "+note)
	}
	for _, l := range text.Lines {
		lines = append(lines, strings.TrimRight(sign(l.Action)+" "+strings.Repeat(" ", max(l.Indent-topIndent, 0))+l.Text, " "))
	}
	content := strings.Join(lines, "\n")
	fence := fenceFor(content)
	fmt.Fprintf(&b, "%sdiff\n%s\n%s\n\n</details>\n", fence, content, fence)
	return b.String()
}

// topIndent is the indentation of an object's attributes.
const topIndent = 8

// sign returns the symbol that a code block of the language diff colors.
func sign(a plans.Action) string {
	return map[plans.Action]string{plans.NoOp: " ", plans.Create: "+", plans.Delete: "-", plans.Update: "!"}[a]
}

// forcing returns the attributes that force a replacement.
func forcing(text *ui.ChangeText) []string {
	var out []string
	for _, l := range text.Lines {
		if l.Forces {
			word, _, _ := strings.Cut(l.Text, " ")
			out = append(out, word)
		}
	}
	return slices.Compact(out)
}

// escape escapes text for an HTML element in Markdown: also the characters that are markup there.
func escape(text string) string {
	return escapesMarkdown.Replace(html.EscapeString(text))
}

var escapesMarkdown = strings.NewReplacer("`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;",
	"@", "&#64;", "\\", "&#92;", "~", "&#126;", "|", "&#124;", ":", "&#58;")

// code returns text as a code span, also within a table.
func code(text string) string {
	text = strings.ReplaceAll(text, "|", "\\|")
	fence := strings.Repeat("`", longest(text, '`')+1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return fence + pad + text + pad + fence
}

// fenceFor returns a fence that the text can't close.
func fenceFor(text string) string { return strings.Repeat("`", max(3, longest(text, '`')+1)) }

// longest returns the length of the longest run of a character.
func longest(text string, char rune) int {
	most, run := 0, 0
	for _, c := range text {
		if c == char {
			run++
		} else {
			run = 0
		}
		most = max(most, run)
	}
	return most
}
