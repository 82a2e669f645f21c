package valuediff

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/configschema"
	"tofu/internal/plans"
)

// A Node is one place in a value, before and after a change.
type Node struct {
	Action plans.Action // NoOp, Create, Update or Delete
	Form   Form
	Text   string // of a leaf; a remark about a JSONForm or TextForm

	Before, After string    // leaves that change: `before -> after`
	Members       []*Member // objects, maps and blocks
	Elements      []*Node   // lists and sets
	Blocks        []*Blocks // nested blocks by type
	From, To      *Node     // a value of one kind becomes another
	Lines         []Line    // texts
	Calls         []string  // functions that make a text of the content, the outermost first

	ToNull   bool     // ends with "-> null"
	Replace  bool     // forces a replacement
	Warnings []string // comments above the node
}

// Form is the kind of a node, which says how it is rendered.
type Form uint8

// The forms of nodes.
const (
	LeafForm Form = iota
	ObjectForm
	MapForm
	NestedMapForm // a map of nested attributes; its elements end with commas
	ListForm
	NestedListForm // a list of nested attributes, compared by position
	SetForm
	BlockForm
	TypeChangeForm // From -> To
	TextForm       // several lines
	JSONForm       // a text with structure: Calls(Elements[0])
	HiddenBlockForm
)

// A Member is a named part of a node.
type Member struct {
	Name  string
	Quote bool // always quoted: keys of maps
	Node  *Node
}

// Blocks are the nested blocks of one type.
type Blocks struct {
	Name    string
	Nesting configschema.NestingMode
	Items   []*Member // named by their key, or ""
}

// A Line is a line of a text.
type Line struct {
	Action  plans.Action
	Text    string
	Changed []Span // changed words of a line that replaces another, or is replaced
	Skipped int    // the number of unchanged lines that this one stands for
}

// Texts in place of values that are not shown.
const (
	SensitiveText = "(sensitive value)"
	EphemeralText = "(ephemeral value)"
	UnknownText   = "(known after apply)"
	WriteOnlyText = "(write-only attribute)"
)

// Leaf returns a node with a text.
func Leaf(action plans.Action, text string) *Node { return &Node{Action: action, Text: text} }

// replacePaths are the paths that force a replacement, as a tree.
type replacePaths struct {
	here bool
	next map[string]*replacePaths
}

func newReplacePaths(paths []cty.Path) *replacePaths {
	if len(paths) == 0 {
		return nil
	}
	root := &replacePaths{}
	for _, path := range paths {
		at := root
		for _, step := range path {
			key, ok := StepValue(step)
			if !ok {
				break // inside a set
			}
			at = at.enter(Key(key))
		}
		at.here = true
	}
	return root
}

func (r *replacePaths) enter(key string) *replacePaths {
	if r.next == nil {
		r.next = make(map[string]*replacePaths)
	}
	if r.next[key] == nil {
		r.next[key] = &replacePaths{}
	}
	return r.next[key]
}

// name steps into an attribute or an element of a map, and index into an element of a list.
func (r *replacePaths) name(name string) *replacePaths {
	if r == nil || r.next == nil {
		return nil
	}
	return r.next[Key(cty.StringVal(name))]
}

func (r *replacePaths) index(i int) *replacePaths {
	if r == nil || r.next == nil {
		return nil
	}
	return r.next[Key(cty.NumberIntVal(int64(i)))]
}

func (r *replacePaths) forced() bool { return r != nil && r.here }

// container returns a node with parts. It is unchanged if they are.
func container(form Form, before, after cty.Value, changed bool) *Node {
	n := &Node{Form: form, Action: plans.NoOp}
	switch {
	case before == cty.NilVal:
		n.Action = plans.Create
	case after == cty.NilVal:
		n.Action = plans.Delete
	case changed:
		n.Action = plans.Update
	}
	return n
}

// Changed reports whether a node differs.
func (n *Node) Changed() bool { return n.Action != plans.NoOp }

// ForcesReplacement reports whether a node or a part of it forces a replacement.
func (n *Node) ForcesReplacement() bool {
	if n.Replace {
		return true
	}
	for _, m := range n.Members {
		if m.Node.ForcesReplacement() {
			return true
		}
	}
	for _, e := range n.Elements {
		if e.ForcesReplacement() {
			return true
		}
	}
	for _, b := range n.Blocks {
		for _, item := range b.Items {
			if item.Node.ForcesReplacement() {
				return true
			}
		}
	}
	return false
}
