package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/plans"
)

// renderer renders trees as text. Text starts at column margin + 4*depth, and its symbol two
// columns before.
type renderer struct {
	style  style
	margin int
	full   bool // show unchanged parts too
	strict bool // at the top level, hide unchanged parts even if they are in importantNames
	b      strings.Builder
}

// importantNames are attributes that are shown even if unchanged, because users identify objects by
// them.
var importantNames = map[string]bool{"id": true, "name": true, "tags": true}

// symbols precede changes.
var symbols = map[plans.Action]struct {
	text  string
	color color
}{
	plans.NoOp:   {" ", ""},
	plans.Create: {"+", green},
	plans.Delete: {"-", red},
	plans.Update: {"~", yellow},
}

// start starts a line.
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
	r.b.WriteString(r.style.as(s.color, s.text) + " ")
}

// comment writes a line with a comment.
func (r *renderer) comment(depth int, text string) {
	r.start(depth, plans.NoOp)
	r.b.WriteString(r.style.as(grey, text) + "\n")
}

// close writes a closing bracket at a depth.
func (r *renderer) close(depth int, text string) {
	r.b.WriteString(strings.Repeat(" ", max(r.margin+4*depth, 0)) + text)
}

// node writes a node after its name or symbol, whose line has been started at depth.
func (r *renderer) node(n *node, depth int) {
	switch n.form {
	case leafForm:
		r.leaf(n)
	case objectForm, mapForm, nestedMapForm:
		r.object(n, depth)
	case listForm, nestedListForm, setForm:
		r.list(n, depth)
	case becomesForm:
		r.node(n.from, depth)
		r.b.WriteString(r.arrow())
		r.node(n.to, depth)
	case textForm:
		r.text(n, depth)
	case jsonForm:
		r.json(n, depth)
	}
	if n.toNull {
		r.b.WriteString(r.style.as(grey, " -> null"))
	}
	if n.replace && (n.form == leafForm || n.form == becomesForm && !opens(n)) {
		r.forces()
	}
}

func (r *renderer) arrow() string { return " " + r.style.as(yellow, "->") + " " }

func (r *renderer) forces() { r.b.WriteString(" " + r.style.as(red, "# forces replacement")) }

// opens reports whether a node begins with a bracket, after which the reason for a replacement is
// written.
func opens(n *node) bool {
	switch n.form {
	case objectForm, mapForm, nestedMapForm:
		return len(n.members) > 0
	case listForm, nestedListForm, setForm:
		return len(n.elements) > 0
	case jsonForm, textForm:
		return true
	}
	return false
}

// open writes an opening bracket with the reason for a replacement.
func (r *renderer) open(n *node, text string) {
	r.b.WriteString(text)
	if n.replace {
		r.forces()
	}
	r.b.WriteByte('\n')
}

func (r *renderer) leaf(n *node) {
	if n.before == "" && n.after == "" {
		r.b.WriteString(printable(n.text))
		return
	}
	r.b.WriteString(printable(n.before) + r.arrow() + printable(n.after))
}

// object writes an object or a map.
func (r *renderer) object(n *node, depth int) {
	if len(n.members) == 0 {
		r.b.WriteString("{}")
		if n.replace {
			r.forces()
		}
		return
	}
	r.open(n, "{")
	hidden := r.members(n, depth+1)
	if hidden > 0 {
		what := "attribute"
		if n.form == nestedMapForm || n.form == mapForm {
			what = "element"
		}
		r.comment(depth+1, "# ("+Count(hidden, "unchanged "+what)+" hidden)")
	}
	r.close(depth, "}")
}

// members writes the members of a node and returns the number of unchanged ones that it omitted.
func (r *renderer) members(n *node, depth int) (hidden int) {
	var shown []*member
	width := 0
	for _, m := range n.members {
		width = max(width, utf8.RuneCountInString(m.label()))
		if r.shows(n, m) {
			shown = append(shown, m)
		}
	}
	hidden = len(n.members) - len(shown)
	if n.form == nestedMapForm {
		width = 0 // elements take several lines
	}
	for _, m := range shown {
		r.warnings(m.node, depth)
		r.start(depth, m.node.action)
		label := m.label()
		fmt.Fprintf(&r.b, "%s%s = ", printable(label), strings.Repeat(" ", max(width-utf8.RuneCountInString(label), 0)))
		full, strict := r.full, r.strict
		r.full, r.strict = full || importantNames[m.name] && !strict, false
		r.node(m.node, depth)
		r.full, r.strict = full, strict
		if n.form == nestedMapForm {
			r.b.WriteByte(',')
		}
		r.b.WriteByte('\n')
	}
	return hidden
}

func (r *renderer) shows(parent *node, m *member) bool {
	switch {
	case r.full || changed(m.node):
		return true
	case parent.action == plans.NoOp && parent.form != blockForm: // unchanged, shown as a whole for its position
		return true
	}
	return parent.form != mapForm && parent.form != nestedMapForm && importantNames[m.name] && !r.strict
}

func (r *renderer) warnings(n *node, depth int) {
	for _, w := range n.warnings {
		r.b.WriteString(strings.Repeat(" ", max(r.margin+4*depth-2, 0)) + r.style.as(yellow, w) + "\n")
	}
}

// label returns a member's name in the syntax of the language.
func (m *member) label() string {
	if !m.quote && (isWord(m.name) || hclsyntax.ValidIdentifier(m.name)) {
		return m.name
	}
	return quoted(m.name)
}

// isWord reports whether a name is a plain ASCII identifier. Most names are, and hclsyntax is slow.
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
func (r *renderer) list(n *node, depth int) {
	if len(n.elements) == 0 {
		r.b.WriteString("[]")
		if n.replace {
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
	for i, e := range n.elements {
		if !r.showsElement(n, i) {
			hidden++
			continue
		}
		flush()
		r.warnings(e, depth+1)
		r.start(depth+1, e.action)
		r.node(e, depth+1)
		r.b.WriteString(",\n")
	}
	flush()
	r.close(depth, "]")
}

// showsElement reports whether to show an element. Unchanged elements are shown only next to
// changed ones, and never in sets.
func (r *renderer) showsElement(n *node, i int) bool {
	if r.full || n.action != plans.Update || changed(n.elements[i]) {
		return true
	}
	if n.form != listForm {
		return false
	}
	return i > 0 && changed(n.elements[i-1]) || i+1 < len(n.elements) && changed(n.elements[i+1])
}

// text writes a string with several lines.
func (r *renderer) text(n *node, depth int) {
	r.open(n, "<<-EOT")
	for _, l := range n.lines {
		r.start(depth+1, l.action)
		r.b.WriteString(printable(l.text) + "\n")
	}
	r.close(depth, "EOT")
}

// json writes a string that contains JSON.
func (r *renderer) json(n *node, depth int) {
	inner := n.elements[0]
	r.b.WriteString("jsonencode(")
	if len(inner.elements)+len(inner.members) == 0 && n.text == "" && !n.replace { // empty
		r.node(inner, depth)
		r.b.WriteByte(')')
		return
	}
	if n.text != "" {
		r.b.WriteString(" # " + n.text)
	}
	if n.replace {
		r.forces()
	}
	r.b.WriteByte('\n')
	action := inner.action
	if action != plans.Update {
		action = plans.NoOp
	}
	r.start(depth+1, action)
	full := r.full
	r.full = full || inner.action == plans.NoOp
	r.node(inner, depth+1)
	r.full = full
	r.b.WriteByte('\n')
	r.close(depth, ")")
}

// block writes the content of a block between its braces, after its header at depth.
func (r *renderer) block(n *node, depth int) {
	if n.form == hiddenBlockForm {
		r.b.WriteString("{\n")
		r.comment(depth+1, "# (hidden, because it has or had sensitive values)")
		r.close(depth, "}")
		return
	}
	if len(n.members) == 0 && len(n.blocks) == 0 && len(n.warnings) == 0 {
		r.b.WriteString("{}")
		return
	}
	r.b.WriteString("{\n")
	for _, text := range n.warnings {
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
func (r *renderer) blocks(n *node, depth int) {
	hidden := 0
	for _, group := range n.blocks {
		first := true
		for _, item := range group.items {
			if !r.full && !changed(item.node) {
				hidden++
				continue
			}
			if first && r.begun() {
				r.b.WriteByte('\n')
			}
			first = false
			r.start(depth, item.node.action)
			r.b.WriteString(group.name + " ")
			if item.name != "" {
				r.b.WriteString(quoted(item.name) + " ")
			}
			r.block(item.node, depth)
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

// begun reports whether the block already has content, from which a blank line separates the next
// group.
func (r *renderer) begun() bool { return !strings.HasSuffix(r.b.String(), "{\n") }

// quoted quotes a string. Template markers are not escaped, which is easier to read.
func quoted(s string) string { return strconv.Quote(s) }
