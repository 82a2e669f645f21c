package review

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"tofu/internal/addrs"
	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// DefaultLimit is a length that all common code hosts allow for a comment. Lengths are in
// characters.
const DefaultLimit = 65000

// LeastLimit is the smallest allowed limit. There is room for the table and the number of
// omitted changes.
const LeastLimit = 2000

// titles holds the title of each kind's section, and its word and sign in the table. Kinds are
// sorted by danger, the most dangerous first.
var titles = map[planview.Kind]struct{ title, word, sign string }{
	planview.Destroyed: {"Destroyed", "destroy", "−"}, planview.Replaced: {"Replaced", "replace", "±"},
	planview.Forgotten: {"Forgotten: left as they are, and no longer managed", "forget", "."},
	planview.Updated:   {"Updated", "update", "~"}, planview.Created: {"Created", "create", "+"},
	planview.Imported: {"Imported without a change", "import", "⇣"},
	planview.Read:     {"Read during the apply", "read", "≤"}, planview.Moved: {"Moved", "move", "→"},
}

const kinds = planview.Moved + 1

// lastDangerous is the least dangerous kind whose addresses always take precedence over all
// differences.
const lastDangerous = planview.Forgotten

// writer collects the Markdown of one plan.
type writer struct {
	plan   *planview.Plan
	groups [kinds][]*planview.Group
	counts [kinds]int // number of objects by kind
	out    strings.Builder
	left   int // number of characters that may still be written
	due    int // characters reserved for titles and addresses that are not written yet
	// reserved is the first kind without such a reserve. Dangerous kinds have one, and the next ones
	// if that takes at most half of the room.
	reserved planview.Kind
}

// Write writes a plan as Markdown of at most limit characters.
func Write(out io.Writer, view *ui.PlanView, limit int) error {
	if _, err := io.WriteString(out, Render(view, limit).Text); err != nil {
		return fmt.Errorf("writing the text: %w", err)
	}
	return nil
}

// Rendered is a plan as Markdown.
type Rendered struct {
	Text  string
	Least int    // the limit from which on the text has the addresses of all dangerous changes
	Lost  string // the dangerous changes in one line, or ""
}

// Render returns a plan as Markdown of at most limit characters.
func Render(view *ui.PlanView, limit int) Rendered {
	var least int
	w := &writer{left: limit, plan: planview.New(view.Source(), planview.Options{Spread: longValue})}
	for _, g := range w.plan.Groups() {
		w.groups[g.Kind] = append(w.groups[g.Kind], g)
		w.counts[g.Kind] += len(g.Changes)
	}
	w.head()
	w.table()
	for ; w.reserved < kinds; w.reserved++ {
		need := w.lines(w.reserved)
		if w.reserved == lastDangerous+1 {
			// A lower limit would make the text above shorter, never longer.
			least = limit - w.left + w.due + reserve
		}
		if w.reserved > lastDangerous && w.due+need > (w.left-reserve)/2 {
			break
		}
		w.due += need
	}
	w.body()
	return Rendered{w.out.String(), least, w.lost()}
}

// maxLost is the maximum number of dangerous changes of a kind that one line names.
const maxLost = 10

// lost returns the dangerous changes in one line.
func (w *writer) lost() string {
	var out []string
	for k, groups := range w.groups[:lastDangerous+1] {
		for i, g := range groups {
			if i == maxLost {
				out = append(out, fmt.Sprintf("and %d more", len(groups)-i))
				break
			}
			out = append(out, titles[planview.Kind(k)].sign+" "+strings.TrimSuffix(strings.TrimPrefix(line(g), "- "), "\n"))
		}
	}
	return strings.Join(out, ", ")
}

// longValue is the number of columns above which a value is shown on several lines.
const longValue = 100

// add appends text and subtracts its length from w.left.
func (w *writer) add(text string) {
	w.out.WriteString(text)
	w.left -= length(text)
}

func length(text string) int { return utf8.RuneCountInString(text) }

func (w *writer) head() {
	var parts []string
	for k, n := range w.counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("**%d to %s**", n, titles[planview.Kind(k)].word))
		}
	}
	if n := len(w.plan.Source.Plan.Deferred); n > 0 {
		parts = append(parts, fmt.Sprintf("**%d deferred**", n))
	}
	if n := w.plan.Counts.Invoke; n > 0 {
		parts = append(parts, fmt.Sprintf("**%d to invoke**", n))
	}
	switch {
	case w.plan.Source.Plan.Errored:
		w.add("### Planning failed\n\nThe plan is incomplete and can't be applied.\n\n")
	case len(parts) == 0 && len(w.plan.Outputs) == 0:
		w.add("### No changes\n\n")
	default:
		w.add("### Plan\n\n")
	}
	if w.plan.Source.Plan.Mode == plans.Destroy {
		w.add("> [!CAUTION]\n> This plan destroys everything that the configuration manages.\n\n")
	}
	if len(parts) > 0 {
		w.add(strings.Join(parts, ", ") + "\n\n")
	}
	if l := w.plan.Source.Plan.Looked; l != nil {
		w.add(l.Text(w.plan.Source.Plan.Timestamp) + ".\n\n")
	}
	w.past()
	w.problems(planview.FailedTitle(w.plan.Failed), w.plan.Failed)
	w.outside()
	w.problems(planview.WarningsTitle(w.plan.Warnings), w.plan.Warnings)
	if n := len(w.plan.Outputs); n > 0 {
		w.add(ui.Count(n, "output") + " will change.\n\n")
	}
}

// past writes what a plan that goes back to an earlier time can't restore.
func (w *writer) past() {
	past := w.plan.Source.Plan.Past
	if past == nil {
		return
	}
	w.add("The plan goes back to how the objects were " + Escape(past.When()) + ".\n\n")
	list := make([]string, len(past.Lost))
	for i, lost := range past.Lost {
		list[i] = Code(termtext.Printable(lost.Addr.String())) + " " + Escape(termtext.Printable(lost.Text()))
	}
	w.list("Not everything can be undone:", list)
}

// problems writes failed checks or warnings.
func (w *writer) problems(title string, problems []planview.Problem) {
	list := make([]string, len(problems))
	for i, p := range problems {
		list[i] = Code(termtext.Printable(p.Name))
		if p.Place != "" {
			list[i] += " (" + Code(termtext.Printable(p.Place)) + ")"
		}
		if p.Text != "" {
			list[i] += ": " + Escape(termtext.Printable(strings.Join(strings.Fields(p.Text), " ")))
		}
	}
	w.list("#### "+title, list)
}

// outside writes what was changed outside of OpenTofu and matters to the plan.
func (w *writer) outside() {
	var list []string
	for _, g := range planview.Groups(w.plan.Drift) {
		list = append(list, Code(termtext.Printable(g.Title()))+": "+Escape(termtext.Printable(g.Outside())))
	}
	w.list(fmt.Sprintf("#### Changed outside (%d)", len(w.plan.Drift)), list)
}

// list writes a title and a list, or nothing if the list is empty. Most of the room is kept for
// changes.
func (w *writer) list(title string, list []string) {
	if len(list) == 0 {
		return
	}
	w.add(title + "\n\n")
	for i, text := range list {
		if length(text) > w.left/4 {
			w.add(fmt.Sprintf("- and %d more\n", len(list)-i))
			break
		}
		w.add("- " + text + "\n")
	}
	w.add("\n")
}

// maxRows is the maximum number of rows in the table. Those with the most dangerous changes are
// kept.
const maxRows = 30

// table writes the number of objects of each resource type.
func (w *writer) table() {
	types, counts := w.byType()
	head, rule := "| Type |", "|---|"
	var columns []planview.Kind
	for k, n := range w.counts {
		if n > 0 {
			columns = append(columns, planview.Kind(k))
			about := titles[planview.Kind(k)]
			head += " " + about.sign + " " + about.word + " |"
			rule += "---:|"
		}
	}
	if len(columns) == 0 {
		return
	}
	w.add(head + "\n" + rule + "\n")
	room := w.left / 3
	for n, name := range types {
		row := "| " + Code(name) + " |"
		for _, k := range columns {
			cell := ""
			if counts[name][k] > 0 {
				cell = fmt.Sprint(counts[name][k])
			}
			row += " " + cell + " |"
		}
		room -= length(row) + 1
		if n == maxRows || room < 0 {
			cells := strings.Repeat(" |", len(columns))
			w.add(fmt.Sprintf("| and %s |%s\n", ui.Count(len(types)-n, "more type"), cells))
			break
		}
		w.add(row + "\n")
	}
	w.add("\n")
}

// byType counts the objects of each resource type by kind. Types with more dangerous changes
// come first.
func (w *writer) byType() (types []string, counts map[string]*[kinds]int) {
	counts = map[string]*[kinds]int{}
	for k, groups := range w.groups {
		for _, g := range groups {
			name := g.Addr.Resource.Type
			if g.Addr.Resource.Mode == addrs.Data {
				name = "data." + name
			}
			if counts[name] == nil {
				counts[name] = &[kinds]int{}
				types = append(types, name)
			}
			counts[name][k] += len(g.Changes)
		}
	}
	return types, counts
}

// reserve is the number of characters reserved for the numbers of omitted changes: a line for
// each section and one at the end.
const reserve = 600

// least is the number of characters below which no differences are rendered.
const least = 120

// body writes as many changes as there is room for.
func (w *writer) body() {
	w.left -= reserve
	hidden := 0
	for k, groups := range w.groups {
		if len(groups) == 0 {
			continue
		}
		title, reserved := w.title(planview.Kind(k)), planview.Kind(k) < w.reserved
		if reserved {
			w.due -= length(title) + len("\n")
		}
		if length(title) > w.left {
			hidden += w.counts[k]
			continue
		}
		w.add(title)
		hidden += w.section(groups, reserved)
	}
	hidden += w.deferred() + w.invocations()
	w.outputs()
	w.renames()
	w.left += reserve
	switch hidden {
	case 0:
	case 1:
		w.add("> The length of this text is limited: 1 change is not shown. `tofu show` shows the whole plan.\n")
	default:
		w.add(fmt.Sprintf("> The length of this text is limited: %d changes are not shown. "+
			"`tofu show` shows the whole plan.\n", hidden))
	}
}

// lines returns the number of characters of a section that only has addresses.
func (w *writer) lines(k planview.Kind) int {
	if len(w.groups[k]) == 0 {
		return 0
	}
	n := length(w.title(k)) + len("\n")
	for _, g := range w.groups[k] {
		n += length(line(g))
	}
	return n
}

// title returns the title of the section about the changes of a kind.
func (w *writer) title(k planview.Kind) string {
	return fmt.Sprintf("#### %s %s (%d)\n\n", titles[k].sign, titles[k].title, w.counts[k])
}

// deferred writes the deferred changes, and returns the number of those that it omits.
func (w *writer) deferred() (hidden int) {
	var lines []string
	for _, d := range w.plan.Source.Deferred() {
		name, why := Code(termtext.Printable(d.Addr.String())), Escape(termtext.Printable(d.Because()))
		lines = append(lines, fmt.Sprintf("- %s: %s\n", name, why))
	}
	return w.titledList("… Deferred until after an apply", lines)
}

// invocations writes the actions that are invoked, and returns the number of those that it omits.
func (w *writer) invocations() (hidden int) {
	var lines []string
	for inv := range w.plan.Source.Plan.Changes.Invocations() {
		text := Code(termtext.OneLine(termtext.Printable(planview.InvocationText(inv))))
		if inv.Trigger != nil {
			text = Code(termtext.Printable(inv.Trigger.Caller.String())) + ": " + text
		}
		lines = append(lines, "- "+text+"\n")
	}
	return w.titledList("=> Invoke", lines)
}

// titledList writes lines with a title, and returns the number of those for which there is no room.
func (w *writer) titledList(title string, lines []string) (hidden int) {
	for i, text := range lines {
		if i == 0 {
			text = fmt.Sprintf("#### %s (%d)\n\n", title, len(lines)) + text
		}
		if length(text) > w.left {
			return len(lines) - i
		}
		w.add(text)
	}
	return 0
}

// outputs writes the differences of root outputs, but only if there is room for all of them.
func (w *writer) outputs() {
	var lines []string
	for _, o := range w.plan.Outputs {
		lines = append(lines, differences(o.Fields)...)
	}
	if len(lines) == 0 {
		return
	}
	text := fmt.Sprintf("#### Outputs (%d)\n\n<details><summary>Differences</summary>\n\n%s\n</details>\n\n",
		len(w.plan.Outputs), fenced("diff", lines))
	if length(text) <= w.left {
		w.add(text)
	}
}

// maxRenames is the maximum number of moved blocks that are suggested.
const maxRenames = 5

// renames writes moved blocks for objects that seem to have been renamed, but only if there is
// room for all of them.
func (w *writer) renames() {
	list := w.plan.Renames[:min(len(w.plan.Renames), maxRenames)]
	if len(list) == 0 {
		return
	}
	text := "#### Hint\n\nObjects that are destroyed look like others that are created. If only their addresses " +
		"change, `moved` blocks keep them:\n\n"
	for _, r := range list {
		if r.Module != "" {
			text += "In " + Code(r.Module.String()) + ":\n\n"
		}
		text += fenced("hcl", strings.Split(termtext.Printable(r.MovedBlock()), "\n")) + "\n"
	}
	if length(text) <= w.left {
		w.add(text)
	}
}

// section writes the changes of one kind, and returns the number of those that it omits. If the
// differences of a change need room that is reserved for addresses, only its address is written.
// reserved says that there is such a reserve for these groups.
func (w *writer) section(groups []*planview.Group, reserved bool) (hidden int) {
	inList := false
	var texts []string // rendered differences of the next groups
	for i, g := range groups {
		if i%batch == 0 {
			texts = w.texts(groups[i:min(i+batch, len(groups))])
		}
		short := line(g)
		if reserved {
			w.due -= length(short)
		}
		if text := texts[i%batch]; text != "" {
			if inList {
				text = "\n" + text // otherwise, Markdown adds the block to the list
			}
			if length(text) <= w.left-w.due {
				w.add(w.withMembers(text, g))
				inList = false
				continue
			}
		}
		if length(short) > w.left {
			hidden = w.leaveOut(groups[i:], reserved)
			break
		}
		w.add(short)
		inList = true
	}
	w.add("\n")
	return hidden
}

// batch is the number of groups that are rendered concurrently.
const batch = 256

// texts renders groups as folded blocks, concurrently. It returns empty strings if there is no room
// for any block.
func (w *writer) texts(groups []*planview.Group) []string {
	out := make([]string, len(groups))
	if w.left-w.due > least {
		parallel.Each(len(groups), runtime.GOMAXPROCS(0), func(i int) { out[i] = w.folded(groups[i]) })
	}
	return out
}

// leaveOut writes and returns the number of objects in groups, which are omitted. The caller has
// already subtracted the address of the first group from w.due.
func (w *writer) leaveOut(groups []*planview.Group, reserved bool) int {
	n := 0
	for i, g := range groups {
		n += len(g.Changes)
		if reserved && i > 0 {
			w.due -= length(line(g))
		}
	}
	w.add(fmt.Sprintf("- and %d more\n", n))
	return n
}

// line returns the line for a group whose differences are omitted.
func line(g *planview.Group) string {
	text := "- " + Code(termtext.Printable(g.Title()))
	if n := len(g.Changes); n > 1 {
		text += fmt.Sprintf(" (%d instances)", n)
	}
	return text + "\n"
}

// maxKeys is the maximum number of instances that are listed above the differences of a group.
const maxKeys = 30

// endOfBlock ends a folded block.
const endOfBlock = "</details>\n"

// withMembers adds a folded list to the text of a group. It contains instances that the text
// doesn't name, as many as there is room for. The list takes at most half of the room that is
// left for other changes.
func (w *writer) withMembers(text string, g *planview.Group) string {
	if len(g.Changes) <= maxKeys {
		return text
	}
	rest := &planview.Group{Change: g.Changes[maxKeys], Changes: g.Changes[maxKeys:]}
	room := (w.left-w.due-length(text))/2 - listFrame
	names, _ := rest.Members(max(room/leastName, 0))
	shown := 0
	for shown < len(names) && room >= length(names[shown])+len("\n") {
		names[shown] = termtext.OneLine(names[shown])
		room -= length(names[shown]) + len("\n")
		shown++
	}
	if shown == 0 {
		return text
	}
	_, left := rest.Members(shown)
	names = names[:shown]
	if left > 0 {
		names = append(names, fmt.Sprintf("and %d more", left))
	}
	whole := strings.TrimSuffix(text, endOfBlock) + fmt.Sprintf("<details><summary>%s</summary>\n\n%s\n%s%s",
		ui.Count(len(rest.Changes), "more instance"), fenced("", names), endOfBlock, endOfBlock)
	if length(whole) > w.left-w.due { // keys with many backticks need long fences
		return text
	}
	return whole
}

// listFrame is the usual number of characters of a folded list without the names in it.
const listFrame = 100

// leastName is the number of characters of the shortest possible instance name and a line break.
const leastName = 4

// folded renders the differences of a group as a folded block.
func (w *writer) folded(g *planview.Group) string {
	fields := g.Fields
	// A group of deleted objects has no fields, because their values may differ.
	if g.Kind == planview.Destroyed && len(g.Changes) == 1 {
		fields, _ = g.Change.Fields()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary><code>%s</code>", Escape(termtext.Printable(g.Title())))
	if n := len(g.Changes); n > 1 {
		fmt.Fprintf(&b, " (%d instances)", n)
	}
	if forced := forcing(fields); forced != "" {
		fmt.Fprintf(&b, ", forced by <code>%s</code>", Escape(forced))
	}
	b.WriteString("</summary>\n\n")
	if at := g.At(); at.Filename != "" {
		fmt.Fprintf(&b, "%s\n\n", Code(fmt.Sprintf("%s:%d", at.Filename, at.Start.Line)))
	}
	b.WriteString(fenced("diff", content(g, fields)) + "\n" + endOfBlock)
	return b.String()
}

// fenced returns lines in a code block with fences.
func fenced(language string, lines []string) string {
	content := strings.Join(lines, "\n")
	fence := strings.Repeat("`", max(3, longest(content, '`')+1))
	return fence + language + "\n" + content + "\n" + fence + "\n"
}

// content returns the lines about a group: its heading or its instances, and the differences
// that all its changes have in common.
func content(g *planview.Group, fields []planview.Field) []string {
	heading, notes := planview.Heading(g.InstanceChange, false)
	lines := []string{"# " + termtext.Printable(heading)}
	if len(g.Changes) > 1 {
		lines, notes = nil, g.Notes()
		for i, c := range g.Changes {
			if i == maxKeys {
				lines = append(lines, fmt.Sprintf("# and %d more", len(g.Changes)-i))
				break
			}
			line := c.Name()
			if c.Importing != nil && c.Importing.ID != "" {
				line += fmt.Sprintf(" (imported from %q)", c.Importing.ID)
			}
			lines = append(lines, "# "+termtext.Printable(line))
		}
	}
	for _, note := range notes {
		lines = append(lines, "# "+strings.ReplaceAll(termtext.Printable(note), "\n", "\n# "))
	}
	if g.Schema == nil {
		lines = append(lines, "# "+planview.NoSchemaText)
	}
	return append(lines, differences(fields)...)
}

// differences formats fields as the lines of a diff code block. A line of carets below a changed
// line marks its changed parts.
func differences(fields []planview.Field) []string {
	var lines []string
	for _, l := range planview.Text(fields) {
		indent := " "
		if l.Nested {
			indent = "   "
		}
		text, marks := valuediff.Printable(l.Text, l.Changed, func(part string) string {
			return termtext.OneLine(part)
		})
		lines = append(lines, strings.TrimRight(signs[l.Action]+indent+text, " "))
		if len(marks) > 0 {
			lines = append(lines, " "+indent+valuediff.Carets(text, marks))
		}
	}
	return lines
}

// signs maps actions to the symbols that get a color in a code block of the language diff.
var signs = map[plans.Action]string{plans.NoOp: " ", plans.Create: "+", plans.Delete: "-", plans.Update: "!"}

// forcing lists the attributes that force a replacement.
func forcing(fields []planview.Field) string {
	var out []string
	for _, f := range fields {
		if name := f.Name(); f.Forces && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
