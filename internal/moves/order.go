package moves

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// sortStatements orders the statements. A statement precedes each statement that moves the same
// objects further. If the statements form a cycle, sortStatements returns an error.
func sortStatements(list []*statement) ([]*statement, error) {
	o := &sorter{index: newSourceIndex(list), state: map[*statement]visitState{}}
	for _, st := range list {
		o.visit(st)
	}
	slices.Reverse(o.out)
	if len(o.cycle) > 0 {
		return nil, cycleError(o.cycle)
	}
	return o.out, nil
}

// insertImplied adds implied moves to the ordered explicit moves. They come last, except that an
// implied move precedes an explicit move that starts from its destination. If this order is
// impossible, all implied moves come last.
func insertImplied(explicit, implied []*statement) []*statement {
	last := slices.Concat(explicit, implied)
	slices.Reverse(last) // the sort reverses the order in which it visits statements
	if ordered, err := sortStatements(last); err == nil {
		return ordered
	}
	return slices.Concat(explicit, implied)
}

// cycleError returns the error for statements that form a cycle. It names all of them, because any
// of them may be the wrong one.
func cycleError(ring []*statement) tfdiags.Diagnostic {
	var b strings.Builder
	for _, st := range ring {
		fmt.Fprintf(&b, "\n  - %s: %s moves to %s", tfdiags.Place(st.rng), &st.from, &st.to)
	}
	return tfdiags.Errorf(
		"Cyclic dependency in move statements",
		"These moved blocks form a cycle, so that no object would have a final address:%s\n\nRemove at least "+
			"one of them.",
		b.String(),
	)
}

type visitState uint8

const (
	visiting visitState = iota + 1
	visited
)

type sorter struct {
	index *sourceIndex
	state map[*statement]visitState
	path  []*statement // statements that are being visited
	out   []*statement
	cycle []*statement // the first cycle found, or nil
}

func (o *sorter) visit(st *statement) {
	switch o.state[st] {
	case visiting:
		if o.cycle == nil {
			o.cycle = slices.Clone(o.path[slices.Index(o.path, st):])
		}
		return
	case visited:
		return
	}
	o.state[st] = visiting
	o.path = append(o.path, st)
	for _, next := range o.index.follows(st) {
		o.visit(next)
	}
	o.path = o.path[:len(o.path)-1]
	o.state[st] = visited
	o.out = append(o.out, st)
}

// sourceIndex finds statements by the address from which they move objects. An entry whose key has
// anyKey contains all statements for the path, whatever their instance keys are.
type sourceIndex struct {
	ends      map[*statement]ends
	resources map[endKey][]*statement // statements that move a resource or an instance
	modules   map[endKey][]*statement // statements that move a module
	below     map[endKey][]*statement // statements that move a module or something in it
}

// ends holds the endpoints of a statement. If only one endpoint is written with a key, the other
// one refers to the instance without a key.
type ends struct{ from, to *endpoint }

func (st *statement) ends() ends {
	if st.from.open() == st.to.open() {
		return ends{&st.from, &st.to}
	}
	return ends{st.from.single(), st.to.single()}
}

// open reports whether an endpoint refers to all instances of a resource or module.
func (e *endpoint) open() bool {
	if e.isModule() {
		return e.last().anyKey
	}
	return e.whole
}

// single returns a copy of the endpoint that refers only to the instance without a key.
func (e *endpoint) single() *endpoint {
	one := *e
	one.whole = false
	if one.isModule() {
		one.steps = slices.Clone(e.steps)
		one.last().anyKey = false
	}
	return &one
}

func newSourceIndex(list []*statement) *sourceIndex {
	x := &sourceIndex{
		map[*statement]ends{},
		map[endKey][]*statement{},
		map[endKey][]*statement{},
		map[endKey][]*statement{},
	}
	for _, st := range list {
		x.ends[st] = st.ends()
		from := x.ends[st].from
		if from.isModule() {
			add(x.modules, stepKeyOf(from.steps), st)
		} else {
			add(x.resources, endKey{from.module(), from.res, from.key, from.whole}, st)
		}
		for i := range from.steps {
			add(x.below, stepKeyOf(from.steps[:i+1]), st)
		}
	}
	return x
}

// add adds a statement under its key, and under the key that anyKeyOf returns for this key.
func add(index map[endKey][]*statement, key endKey, st *statement) {
	if key.anyKey {
		key.key = addrs.NoKey
	}
	index[key] = append(index[key], st)
	index[anyKeyOf(key)] = append(index[anyKeyOf(key)], st)
}

// anyKeyOf returns the key under which all statements for the same path are found.
func anyKeyOf(k endKey) endKey {
	k.key, k.anyKey = addrs.StringKey("\x00every"), true
	return k
}

func stepKeyOf(steps []endStep) endKey {
	last := steps[len(steps)-1]
	return endKey{module: pathOf(steps), key: last.key, anyKey: last.anyKey}
}

// find returns the statements that may move objects at the key's address.
func find(index map[endKey][]*statement, key endKey) []*statement {
	if key.anyKey {
		return index[anyKeyOf(key)]
	}
	open := key
	open.key, open.anyKey = addrs.NoKey, true
	return slices.Concat(index[key], index[open])
}

// follows returns the statements that must come after st: they move the same objects further, or
// move a module that contains these objects, or move an object in a module that st moves.
func (x *sourceIndex) follows(st *statement) []*statement {
	to := x.ends[st].to
	var found []*statement
	for i := range to.steps {
		found = append(found, find(x.modules, stepKeyOf(to.steps[:i+1]))...)
	}
	if to.isModule() {
		found = append(found, find(x.below, stepKeyOf(to.steps))...)
	} else {
		found = append(found, find(x.resources, endKey{to.module(), to.res, to.key, to.whole})...)
	}
	return slices.DeleteFunc(found, func(other *statement) bool {
		return other == st || !to.overlaps(x.ends[other].from) || x.comesFirst(other, st)
	})
}

// comesFirst reports whether outer moves a module from or to the address of a module that declares
// st. If so, st comes after outer. It need not also come before outer, because st finds its objects
// at both addresses.
func (x *sourceIndex) comesFirst(outer, st *statement) bool {
	ends := x.ends[outer]
	return ends.from.isModule() && len(ends.from.steps) <= st.depth && ends.to.overlaps(x.ends[st].from)
}
