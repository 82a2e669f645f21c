package ui

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
)

// How people see a change: the values before and after, with their schema, become a tree of nodes (diff*.go), and the tree becomes
// text (render*.go). A state is a tree in which nothing changed. Building a tree costs time linear in the values' size, but for
// lists, which are aligned (align.go).
//
// Where a value isn't there at all, as opposed to null, it is cty.NilVal.

// node is one place in a value, as it was and as it becomes.
type node struct {
	action plans.Action // NoOp, Create, Update or Delete
	form   nodeForm
	text   string // of a leaf

	before, after string    // leaves that change: `before -> after`
	members       []*member // of objects, maps and blocks
	elements      []*node   // of lists and sets
	blocks        []*blocks // of blocks, by type
	from, to      *node     // one thing becomes another
	lines         []line    // of a text

	toNull   bool     // ends with "-> null"
	replace  bool     // the reason for a replacement
	warnings []string // lines above it
}

// nodeForm is how a node is written.
type nodeForm uint8

const (
	leafForm nodeForm = iota
	objectForm
	mapForm
	nestedMapForm // a map of nested attributes, whose elements end with commas
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
	quote bool // always in quotes: keys of maps
	node  *node
}

// blocks are the nested blocks of one type.
type blocks struct {
	name  string
	items []*member // named by their key; "" for none
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

// name steps into an attribute or a map's element, index into a list's.
func (r *replacePaths) name(name string) *replacePaths { return r.step(cty.StringVal(name)) }
func (r *replacePaths) index(i int) *replacePaths      { return r.step(cty.NumberIntVal(int64(i))) }

func (r *replacePaths) step(key cty.Value) *replacePaths {
	if r == nil || r.next == nil {
		return nil
	}
	return r.next[valueKey(key)]
}

func (r *replacePaths) forced() bool { return r != nil && r.here }

// container makes the node of something with parts: it is as unchanged as they are.
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
