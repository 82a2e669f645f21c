package valuediff

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/plans"
)

// A Node is the difference between two values, or between two parts of them.
type Node struct {
	Action plans.Action // NoOp, Create, Update or Delete
	Form   Form
	Text   string // text of a leaf, or a remark about a JSONForm or TextForm

	Before, After string    // values of a leaf that changes: `before -> after`
	Members       []*Member // members of an object, map or block
	Elements      []*Node   // elements of a list or set
	Blocks        []*Blocks // nested blocks by type
	From, To      *Node     // values of a TypeChangeForm
	Lines         []Line    // lines of a TextForm
	Calls         []string  // functions that produce the string from its content, the outermost first

	ToNull   bool     // whether it ends with "-> null"
	Replace  bool     // whether it forces a replacement
	Warnings []string // comments on the lines above the node
	Note     string   // what Warnings say, in a few words
}

// Form is the kind of a node. It determines how the node is rendered.
type Form uint8

// Forms of nodes.
const (
	LeafForm Form = iota
	ObjectForm
	MapForm
	NestedMapForm // map of nested attributes; its elements end with commas
	ListForm
	NestedListForm // list of nested attributes, compared by position or, for review, by similarity
	SetForm
	BlockForm
	TypeChangeForm // value that becomes one of another kind: From -> To
	TextForm       // string of several lines
	JSONForm       // string with structured content: Calls(Elements[0])
	HiddenBlockForm
)

// A Member is a named part of a node.
type Member struct {
	Name  string
	Quote bool // whether the name is always quoted, as in maps
	Node  *Node
}

// Blocks are the nested blocks of one type.
type Blocks struct {
	Name    string
	Nesting configschema.NestingMode
	Items   []*Member // blocks by key; the name is "" if they have none
}

// A Line is a line of a string.
type Line struct {
	Action  plans.Action
	Text    string
	Changed []Span // changed words, if the line replaces another or is replaced
	Skipped int    // number of unchanged lines that this one represents
}

// Placeholders for values.
const (
	SensitiveText = "(sensitive value)"
	EphemeralText = "(ephemeral value)"
	UnknownText   = "(known after apply)"
	WriteOnlyText = "(write-only attribute)"
)

// Leaf returns a leaf with the given text.
func Leaf(action plans.Action, text string) *Node { return &Node{Action: action, Text: text} }

// replacePaths holds the paths that force a replacement, as a tree.
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
				break // paths end at a set
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

// name returns the subtree for an attribute or an element of a map, and index returns the subtree
// for an element of a list.
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

// container returns a node that consists of parts. changed says whether any part changes.
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

// Changed reports whether the value changes.
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
