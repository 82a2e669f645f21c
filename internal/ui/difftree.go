package ui

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
)

// The human form of a change is made in two steps: the values before and after, with their schema,
// become a tree of nodes (diff*.go), and the tree becomes text (render*.go). A state is rendered as
// a tree without changes. Building a tree takes time linear in the size of the values, except for
// lists, which are aligned (align.go).  A value that does not exist, as opposed to null, is
// cty.NilVal.

// node is one place in a value, before and after the change.
type node struct {
	action plans.Action // NoOp, Create, Update or Delete
	form   nodeForm
	text   string // leaves

	before, after string    // leaves that change: `before -> after`
	members       []*member // objects, maps and blocks
	elements      []*node   // lists and sets
	blocks        []*blocks // blocks, by type
	from, to      *node     // a value of one kind becomes another
	lines         []line    // texts

	toNull   bool     // ends with "-> null"
	replace  bool     // forces a replacement
	warnings []string // comments above the node
}

// nodeForm is how a node is rendered.
type nodeForm uint8

const (
	leafForm nodeForm = iota
	objectForm
	mapForm
	nestedMapForm // a map of nested attributes; its elements end with commas
	listForm
	nestedListForm // a list of nested attributes, compared by position
	setForm
	blockForm
	becomesForm // from -> to
	textForm    // several lines
	jsonForm    // jsonencode(elements[0])
	hiddenBlockForm
)

// member is a named part of a node.
type member struct {
	name  string
	quote bool // always quoted: keys of maps
	node  *node
}

// blocks are the nested blocks of one type.
type blocks struct {
	name  string
	items []*member // named by their key, or ""
}

// line is a line of a text.
type line struct {
	action plans.Action
	text   string
}

const (
	sensitiveText = "(sensitive value)"
	ephemeralText = "(ephemeral value)"
	unknownText   = "(known after apply)"
	writeOnlyText = "(write-only attribute)"
)

func leaf(action plans.Action, text string) *node { return &node{action: action, text: text} }

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
			key, ok := stepValue(step)
			if !ok {
				break // inside a set
			}
			at = at.enter(valueKey(key))
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
func (r *replacePaths) name(name string) *replacePaths { return r.step(cty.StringVal(name)) }
func (r *replacePaths) index(i int) *replacePaths      { return r.step(cty.NumberIntVal(int64(i))) }

func (r *replacePaths) step(key cty.Value) *replacePaths {
	if r == nil || r.next == nil {
		return nil
	}
	return r.next[valueKey(key)]
}

func (r *replacePaths) forced() bool { return r != nil && r.here }

// container returns a node with parts. It is unchanged if they are.
func container(form nodeForm, before, after cty.Value, changed bool) *node {
	n := &node{form: form, action: plans.NoOp}
	switch {
	case before == cty.NilVal:
		n.action = plans.Create
	case after == cty.NilVal:
		n.action = plans.Delete
	case changed:
		n.action = plans.Update
	}
	return n
}

func changed(n *node) bool { return n.action != plans.NoOp }
