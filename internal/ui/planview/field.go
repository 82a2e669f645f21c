package planview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/configschema"
	"tofu/internal/plans"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// A Field is one difference between an object before and after a change.
type Field struct {
	// Path is the path of the value: `tags["Name"]`, `ingress[1].port`, or, in an element of a
	// set, `rule{port = 443}.cidr`.
	Path   string
	Action plans.Action // Create, Update or Delete; NoOp if only the notation of a number changes
	// Before and After are the values on one line, in the syntax of the language. They are ""
	// if there is no value.
	Before, After string
	Lines         []valuediff.Line // lines of a string that changes; then Before and After are unused
	Note          string           // a remark, such as "only the order of keys changes"
	Forces        bool             // whether the difference forces a replacement
	Unknown       bool             // whether the new value is known only after apply
	Causes        []string         // reasons why it is unknown, such as "aws_vpc.main is created"
	At            hcl.Range        // position of the argument in the configuration; set only with Forces or Unknown
}

// Name returns the name of the argument or block that a field belongs to.
func (f Field) Name() string {
	if i := strings.IndexAny(f.Path, ".[{"); i > 0 {
		return f.Path[:i]
	}
	return f.Path
}

// flattener collects the differences in a tree as fields.
type flattener struct {
	plan   *Plan
	change *Change // nil for an output
	out    []Field
	hidden int
}

// members adds the differences in the members and blocks of a node.
func (f *flattener) members(path string, n *valuediff.Node, forces bool) {
	for _, m := range n.Members {
		if path == "" && f.hides(m.Name, m.Node) {
			continue
		}
		f.node(join(path, m.Name, m.Quote || n.Form == valuediff.MapForm), m.Node, forces)
	}
	for _, b := range n.Blocks {
		for i, item := range b.Items {
			if path == "" && f.hides(b.Name, item.Node) {
				continue
			}
			f.node(blockPath(join(path, b.Name, false), b, i), item.Node, forces)
		}
	}
}

// hides reports whether a hide rule applies to the differences in an attribute or block of the
// object, and counts them if so.
func (f *flattener) hides(name string, n *valuediff.Node) bool {
	if !f.plan.hidden[name] || !n.Changed() || n.ForcesReplacement() || f.change == nil ||
		f.change.Action == plans.Delete {
		return false
	}
	f.hidden++
	return true
}

func blockPath(path string, b *valuediff.Blocks, i int) string {
	item := b.Items[i]
	switch {
	case item.Name != "":
		return path + "[" + strconv.Quote(item.Name) + "]"
	case b.Nesting == configschema.NestingSet:
		return path + identity(item.Node)
	case b.Nesting == configschema.NestingList && len(b.Items) > 1:
		return path + "[" + strconv.Itoa(i) + "]"
	}
	return path
}

// join appends the name of a member to a path.
func join(path, name string, quote bool) string {
	switch {
	case quote || path != "" && !hclsyntax.ValidIdentifier(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// node adds the differences between the two values of a node.
func (f *flattener) node(path string, n *valuediff.Node, forces bool) {
	forces = forces || n.Replace
	// Skip write-only attributes, because it is unknown whether they change.
	if !n.Changed() || n.Text == valuediff.WriteOnlyText {
		return
	}
	field := Field{Path: path, Action: n.Action, Forces: forces, Note: n.Note}
	if n.Action == plans.Update {
		if f.parts(path, n, forces) {
			if n.Note != "" {
				f.add(field, false)
			}
			return
		}
		switch n.Form {
		case valuediff.JSONForm:
			field.Note = cmp.Or(n.Text, n.Note)
		case valuediff.TextForm:
			field.Note = cmp.Or(n.Text, n.Note)
			if n.Text == "" && slices.ContainsFunc(n.Lines, changedLine) { // with a text, no line has changed
				field.Lines = n.Lines
			}
		case valuediff.TypeChangeForm:
			field.Before, field.After = Inline(n.From), Inline(n.To)
			field.Unknown = n.To.Text == valuediff.UnknownText
		default:
			field.Before, field.After = n.Before, n.After
			if n.Before == "" && n.After == "" {
				field.Before, field.After = "", Inline(n)
			}
		}
	} else if f.spread(&field, n, forces) {
		return
	} else if text := Inline(n); n.Action == plans.Delete {
		field.Before = text
	} else {
		field.After = text
		field.Unknown = text == valuediff.UnknownText
	}
	f.add(field, field.Unknown || field.After != "" && hasUnknown(n))
}

// hasUnknown reports whether a part of a value is known only after apply.
func hasUnknown(n *valuediff.Node) bool {
	unknown := n.Text == valuediff.UnknownText || slices.ContainsFunc(n.Elements, hasUnknown) ||
		n.To != nil && hasUnknown(n.To)
	for _, m := range n.Members {
		unknown = unknown || hasUnknown(m.Node)
	}
	for _, b := range n.Blocks {
		for _, item := range b.Items {
			unknown = unknown || hasUnknown(item.Node)
		}
	}
	return unknown
}

func changedLine(l valuediff.Line) bool { return l.Action != plans.NoOp }

// parts adds the differences in the parts of a value that is updated. It returns false if the value
// has no parts that are compared.
func (f *flattener) parts(path string, n *valuediff.Node, forces bool) bool {
	switch n.Form {
	case valuediff.ObjectForm, valuediff.MapForm, valuediff.NestedMapForm, valuediff.BlockForm:
		f.members(path, n, forces)
	case valuediff.ListForm, valuediff.NestedListForm, valuediff.SetForm:
		f.elements(path, n, forces)
	case valuediff.JSONForm:
		if !n.Elements[0].Changed() {
			return false
		}
		f.node(path, n.Elements[0], forces)
	default:
		return false
	}
	return true
}

// spread adds the parts of a long value that is added or removed as separate fields. It returns
// false, without adding any, if the value is short or has no parts.
func (f *flattener) spread(field *Field, n *valuediff.Node, forces bool) bool {
	limit := f.plan.Options.Spread
	if limit == 0 || termtext.Width(Inline(n)) <= limit && n.Form != valuediff.TextForm {
		return false
	}
	switch n.Form {
	case valuediff.JSONForm:
		f.node(field.Path, n.Elements[0], forces)
	case valuediff.TextForm:
		field.Lines = n.Lines
		f.add(*field, false)
	default:
		return f.parts(field.Path, n, forces)
	}
	return true
}

// elements adds the differences in the elements of a list or set.
func (f *flattener) elements(path string, n *valuediff.Node, forces bool) {
	was, now := 0, 0 // positions in the old and the new list
	for _, e := range n.Elements {
		at := path
		switch {
		case n.Form == valuediff.SetForm && e.Action == plans.Update:
			at += identity(e)
		case n.Form == valuediff.SetForm:
			at += "[]"
		case e.Action == plans.Delete:
			at += "[" + strconv.Itoa(was) + "]"
		default:
			at += "[" + strconv.Itoa(now) + "]"
		}
		f.node(at, e, forces)
		if e.Action != plans.Create {
			was++
		}
		if e.Action != plans.Delete {
			now++
		}
	}
}

// add adds a field. It sets the position and the causes if the field is unknown, also in part, or
// forces a replacement.
func (f *flattener) add(field Field, unknown bool) {
	if f.change != nil && f.change.Block != nil && (unknown || field.Forces) {
		field.At, field.Causes = f.plan.origins.attribute(f.change, field.Name(), unknown)
	}
	f.out = append(f.out, field)
}

// identities are the names of members that identify an element of a set, if they don't change.
var identities = []string{"id", "name", "key", "sid", "Sid", "type", "protocol", "from_port", "port"}

// identity returns at most two unchanged members that identify an element of a set that is updated,
// such as `{port = 443}`. It returns "" for other elements.
func identity(n *valuediff.Node) string {
	if n.Action != plans.Update {
		return ""
	}
	texts := make(map[string]string)
	var names []string
	for _, m := range n.Members {
		if m.Node.Form == valuediff.LeafForm && !m.Node.Changed() && len(m.Node.Text) <= 40 && m.Node.Text != "null" {
			texts[m.Name] = m.Node.Text
			names = append(names, m.Name)
		}
	}
	var parts []string
	for _, list := range [][]string{identities, names} {
		for _, name := range list {
			if text := texts[name]; text != "" && len(parts) < 2 {
				parts = append(parts, name+" = "+text)
				delete(texts, name)
			}
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
