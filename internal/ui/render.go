package ui

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/plans"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// renderer renders trees of differences as text. Text at a depth starts at column margin +
// 4*depth, and its symbol two columns to the left.
type renderer struct {
	style  termtext.Style
	margin int
	full   bool // also show unchanged parts
	review bool // hide unchanged parts of long strings, and mark changed words
	width  int  // maximum number of columns; 0 means unlimited
	strict bool // hide unchanged top-level parts even if they are in importantNames
	b      strings.Builder
}

// importantNames are attributes that are shown even if they don't change, because users
// identify objects by them.
var importantNames = map[string]bool{"id": true, "name": true, "tags": true}

// forcesText is the comment after a value that forces a replacement.
const forcesText = "# forces replacement"

// symbols maps actions to the symbols before changes.
var symbols = map[plans.Action]struct {
	text  string
	color termtext.Color
}{
	plans.NoOp:   {" ", ""},
	plans.Create: {"+", termtext.Green},
	plans.Delete: {"-", termtext.Red},
	plans.Update: {"~", termtext.Yellow},
}

// start writes the indentation of a line, and the symbol of an action in front of its text.
func (r *renderer) start(depth int, action plans.Action) {
	col := r.margin + 4*depth
	if col < 2 {
		return
	}
	r.b.WriteString(strings.Repeat(" ", col-2))
	s := symbols[action]
	if action == plans.NoOp {
		r.b.WriteString("  ")
		return
	}
	r.b.WriteString(r.style.As(s.color, s.text) + " ")
}

// comment writes a comment on a line of its own.
func (r *renderer) comment(depth int, text string) {
	r.start(depth, plans.NoOp)
	r.b.WriteString(r.style.As(termtext.Grey, text) + "\n")
}

// close writes a closing bracket, indented by depth.
func (r *renderer) close(depth int, text string) {
	r.b.WriteString(strings.Repeat(" ", max(r.margin+4*depth, 0)) + text)
}

// node writes a node. The caller has already started the line at depth, with the name or
// symbol.
func (r *renderer) node(n *valuediff.Node, depth int) {
	switch n.Form {
	case valuediff.LeafForm:
		r.leaf(n)
	case valuediff.ObjectForm, valuediff.MapForm, valuediff.NestedMapForm:
		r.object(n, depth)
	case valuediff.ListForm, valuediff.NestedListForm, valuediff.SetForm:
		r.list(n, depth)
	case valuediff.TypeChangeForm:
		r.node(n.From, depth)
		r.b.WriteString(r.arrow())
		r.node(n.To, depth)
	case valuediff.TextForm:
		r.text(n, depth)
	case valuediff.JSONForm:
		r.json(n, depth)
	}
	if n.ToNull {
		r.b.WriteString(r.style.As(termtext.Grey, " -> null"))
	}
	if n.Replace && (n.Form == valuediff.LeafForm || n.Form == valuediff.TypeChangeForm && !opens(n)) {
		r.forces()
	}
}

func (r *renderer) arrow() string { return " " + r.style.As(termtext.Yellow, "->") + " " }

func (r *renderer) forces() { r.b.WriteString(" " + r.style.As(termtext.Red, forcesText)) }

// opens reports whether a node begins with a bracket or a heredoc marker. If so, the reason for a
// replacement is written after it.
func opens(n *valuediff.Node) bool {
	switch n.Form {
	case valuediff.ObjectForm, valuediff.MapForm, valuediff.NestedMapForm:
		return len(n.Members) > 0
	case valuediff.ListForm, valuediff.NestedListForm, valuediff.SetForm:
		return len(n.Elements) > 0
	case valuediff.JSONForm, valuediff.TextForm:
		return true
	}
	return false
}

// open writes an opening bracket or heredoc marker, the reason for a replacement, and a line break.
func (r *renderer) open(n *valuediff.Node, text string) {
	r.b.WriteString(text)
	if n.Replace {
		r.forces()
	}
	r.b.WriteByte('\n')
}

func (r *renderer) leaf(n *valuediff.Node) {
	if n.Before == "" && n.After == "" {
		r.b.WriteString(termtext.Printable(n.Text))
		return
	}
	before, after := termtext.Printable(n.Before), termtext.Printable(n.After)
	if !r.review || len(before)+len(after) < longValue || !strings.HasPrefix(before, `"`) {
		r.b.WriteString(before + r.arrow() + after)
		return
	}
	gone, added := valuediff.Words(before, after)
	r.b.WriteString(valuediff.Underlined(r.style, before, gone) + r.arrow())
	r.b.WriteString(valuediff.Underlined(r.style, after, added))
	if !r.style.On && len(gone)+len(added) > 0 {
		r.b.WriteString(" # " + cmp.Or(valuediff.Quoted(before, gone), "nothing") + " -> " +
			cmp.Or(valuediff.Quoted(after, added), "nothing"))
	}
}

// longValue is the minimum length of an old and a new string together for marking their changed
// words.
const longValue = 80

// object writes an object or a map.
func (r *renderer) object(n *valuediff.Node, depth int) {
	if len(n.Members) == 0 {
		r.b.WriteString("{}")
		if n.Replace {
			r.forces()
		}
		return
	}
	r.open(n, "{")
	hidden := r.members(n, depth+1)
	if hidden > 0 {
		what := "attribute"
		if n.Form == valuediff.NestedMapForm || n.Form == valuediff.MapForm {
			what = "element"
		}
		r.comment(depth+1, "# ("+Count(hidden, "unchanged "+what)+" hidden)")
	}
	r.close(depth, "}")
}

// members writes the members of a node. It returns the number of unchanged members that it
// omits.
func (r *renderer) members(n *valuediff.Node, depth int) (hidden int) {
	var shown []*valuediff.Member
	width := 0
	for _, m := range n.Members {
		width = max(width, utf8.RuneCountInString(label(m)))
		if r.shows(n, m) {
			shown = append(shown, m)
		}
	}
	hidden = len(n.Members) - len(shown)
	if n.Form == valuediff.NestedMapForm {
		width = 0 // elements are on separate lines
	}
	for _, m := range shown {
		r.warnings(m.Node, depth)
		r.start(depth, m.Node.Action)
		label := label(m)
		padding := strings.Repeat(" ", max(width-utf8.RuneCountInString(label), 0))
		r.b.WriteString(termtext.Printable(label) + padding + " = ")
		full, strict := r.full, r.strict
		r.full, r.strict = full || importantNames[m.Name] && !strict, false
		r.node(m.Node, depth)
		r.full, r.strict = full, strict
		if n.Form == valuediff.NestedMapForm {
			r.b.WriteByte(',')
		}
		r.b.WriteByte('\n')
	}
	return hidden
}

func (r *renderer) shows(parent *valuediff.Node, m *valuediff.Member) bool {
	switch {
	case r.full || m.Node.Changed():
		return true
	case parent.Action == plans.NoOp && parent.Form != valuediff.BlockForm:
		return true // the parent is unchanged, but shown completely because of its position
	case parent.Form == valuediff.MapForm || parent.Form == valuediff.NestedMapForm:
		return false
	}
	return importantNames[m.Name] && !r.strict
}

func (r *renderer) warnings(n *valuediff.Node, depth int) {
	for _, w := range n.Warnings {
		r.b.WriteString(strings.Repeat(" ", max(r.margin+4*depth-2, 0)) + r.style.As(termtext.Yellow, w) + "\n")
	}
}

// label formats a member's name in the syntax of the language.
func label(m *valuediff.Member) string {
	if !m.Quote && (isWord(m.Name) || hclsyntax.ValidIdentifier(m.Name)) {
		return m.Name
	}
	return quoted(m.Name)
}

// isWord reports whether a name is a plain ASCII identifier. It is a fast check for most names,
// because hclsyntax is slow.
func isWord(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && (c == '_' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return name != ""
}

// list writes a list or a set.
func (r *renderer) list(n *valuediff.Node, depth int) {
	if len(n.Elements) == 0 {
		r.b.WriteString("[]")
		if n.Replace {
			r.forces()
		}
		return
	}
	r.open(n, "[")
	hidden := 0
	flush := func() {
		if hidden > 0 {
			r.comment(depth+1, "# ("+Count(hidden, "unchanged element")+" hidden)")
		}
		hidden = 0
	}
	for i, e := range n.Elements {
		if !r.showsElement(n, i) {
			hidden++
			continue
		}
		flush()
		r.warnings(e, depth+1)
		r.start(depth+1, e.Action)
		r.node(e, depth+1)
		r.b.WriteString(",\n")
	}
	flush()
	r.close(depth, "]")
}

// showsElement reports whether to show an element. In a list or set that is updated, an unchanged
// element is shown only if everything is shown, or in a plain list next to a changed element.
func (r *renderer) showsElement(n *valuediff.Node, i int) bool {
	if r.full || n.Action != plans.Update || n.Elements[i].Changed() {
		return true
	}
	if n.Form != valuediff.ListForm {
		return false
	}
	return i > 0 && n.Elements[i-1].Changed() || i+1 < len(n.Elements) && n.Elements[i+1].Changed()
}

// text writes a string with several lines.
func (r *renderer) text(n *valuediff.Node, depth int) {
	r.open(n, calls(n)+"<<-EOT")
	if n.Text != "" {
		r.comment(depth+1, "# ("+n.Text+")")
	}
	lines := n.Lines
	if r.review && n.Action == plans.Update && len(lines) > wholeText {
		lines = valuediff.Hunks(lines, contextLines)
	}
	for _, l := range lines {
		if l.Skipped > 0 {
			r.comment(depth+1, "# ("+Count(l.Skipped, "unchanged line")+" hidden)")
			continue
		}
		r.start(depth+1, l.Action)
		r.marked(l, depth+1)
	}
	r.close(depth, "EOT"+strings.Repeat(")", len(n.Calls)))
}

// calls returns the names of the functions whose calls produce a string, each with an opening
// bracket.
func calls(n *valuediff.Node) string {
	if len(n.Calls) == 0 {
		return ""
	}
	return strings.Join(n.Calls, "(") + "("
}

// marked writes the rest of a line of a string, with its changed words underlined. Without colors,
// carets below the line mark the words. If the line is too long for this, a comment lists the
// words.
func (r *renderer) marked(l valuediff.Line, depth int) {
	text, marks := valuediff.Printable(l.Text, l.Changed, termtext.Printable)
	if r.style.On || len(marks) == 0 {
		r.b.WriteString(valuediff.Underlined(r.style, text, marks) + "\n")
		return
	}
	r.b.WriteString(text + "\n")
	indent := max(r.margin+4*depth, 0)
	if r.width > 0 && indent+termtext.Width(text) > r.width {
		r.comment(depth, termtext.Cut("# changed: "+valuediff.Quoted(text, marks), max(r.width-indent, minComment)))
		return
	}
	r.b.WriteString(strings.Repeat(" ", indent) + valuediff.Carets(text, marks) + "\n")
}

// minComment is the minimum number of columns for a comment, even if the terminal is narrower.
const minComment = 30

// For review, a string with more than wholeText lines shows only contextLines around each change.
const (
	wholeText    = 20
	contextLines = 3
)

// json writes a string with structured content, such as JSON.
func (r *renderer) json(n *valuediff.Node, depth int) {
	inner := n.Elements[0]
	r.b.WriteString(calls(n))
	end := strings.Repeat(")", len(n.Calls))
	if len(inner.Elements)+len(inner.Members) == 0 && n.Text == "" && !n.Replace { // empty content
		r.node(inner, depth)
		r.b.WriteString(end)
		return
	}
	if n.Text != "" {
		r.b.WriteString(" # " + n.Text)
	}
	if n.Replace {
		r.forces()
	}
	r.b.WriteByte('\n')
	action := inner.Action
	if action != plans.Update {
		action = plans.NoOp
	}
	r.start(depth+1, action)
	full := r.full
	r.full = full || inner.Action == plans.NoOp
	r.node(inner, depth+1)
	r.full = full
	r.b.WriteByte('\n')
	r.close(depth, end)
}

// block writes the content of a block between braces. The caller has already written the header
// at depth.
func (r *renderer) block(n *valuediff.Node, depth int) {
	if n.Form == valuediff.HiddenBlockForm {
		r.b.WriteString("{\n")
		for _, text := range n.Warnings {
			r.comment(depth+1, text)
		}
		r.comment(depth+1, "# (hidden, because it has or had sensitive values)")
		r.close(depth, "}")
		return
	}
	if len(n.Members) == 0 && len(n.Blocks) == 0 && len(n.Warnings) == 0 {
		r.b.WriteString("{}")
		return
	}
	r.b.WriteString("{\n")
	for _, text := range n.Warnings {
		r.comment(depth+1, text)
	}
	hidden := r.members(n, depth+1)
	if hidden > 0 {
		r.comment(depth+1, "# ("+Count(hidden, "unchanged attribute")+" hidden)")
	}
	r.blocks(n, depth+1)
	r.close(depth, "}")
}

// blocks writes nested blocks, grouped by type.
func (r *renderer) blocks(n *valuediff.Node, depth int) {
	hidden := 0
	for _, group := range n.Blocks {
		first := true
		for _, item := range group.Items {
			if !r.full && !item.Node.Changed() {
				hidden++
				continue
			}
			if first && r.begun() {
				r.b.WriteByte('\n')
			}
			first = false
			r.start(depth, item.Node.Action)
			r.b.WriteString(group.Name + " ")
			if item.Name != "" {
				r.b.WriteString(quoted(item.Name) + " ")
			}
			r.block(item.Node, depth)
			r.b.WriteByte('\n')
		}
	}
	if hidden > 0 {
		if r.begun() {
			r.b.WriteByte('\n')
		}
		r.comment(depth, "# ("+Count(hidden, "unchanged block")+" hidden)")
	}
}

// begun reports whether the block already has content. If so, a blank line comes before the
// next group.
func (r *renderer) begun() bool { return !strings.HasSuffix(r.b.String(), "{\n") }

// quoted quotes a string. It doesn't escape template markers, so that the result is easier to read.
func quoted(s string) string { return strconv.Quote(s) }
