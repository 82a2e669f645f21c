package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// orderMoves sorts the statements so that one that moves something to where another moves from comes first.
func orderMoves(list []*moveStatement) ([]*moveStatement, tfdiags.Diagnostics) {
	o := &moveOrder{index: newMoveIndex(list), state: map[*moveStatement]visitState{}}
	for _, st := range list {
		o.visit(st)
	}
	slices.Reverse(o.out)
	if len(o.ring) > 0 {
		return nil, tfdiags.Diagnostics{ringOfMoves(o.ring)}
	}
	return o.out, nil
}

// orderImplied adds what is implied to explicit statements in their order: it comes after them, but before one that moves on what it moves.
func orderImplied(explicit, implied []*moveStatement) []*moveStatement {
	last := slices.Concat(explicit, implied)
	slices.Reverse(last) // what is visited last comes first
	if ordered, ring := orderMoves(last); !ring.HasErrors() {
		return ordered
	}
	return slices.Concat(explicit, implied)
}

// ringOfMoves is said of statements that follow one another in a ring. No one of them is the wrong one, so all are named.
func ringOfMoves(ring []*moveStatement) tfdiags.Diagnostic {
	var b strings.Builder
	for _, st := range ring {
		fmt.Fprintf(&b, "\n  - %s: %s moves to %s", tfdiags.Place(st.rng), &st.from, &st.to)
	}
	return tfdiags.Errorf("Cyclic dependency in move statements",
		"These moved blocks follow one another in a ring, so that no object could ever come to rest:%s\n\nRemove at least one of them.", b.String())
}

type visitState uint8

const (
	visiting visitState = iota + 1
	visited
)

type moveOrder struct {
	index *moveIndex
	state map[*moveStatement]visitState
	path  []*moveStatement // being visited
	out   []*moveStatement
	ring  []*moveStatement // the first one that was found
}

func (o *moveOrder) visit(st *moveStatement) {
	switch o.state[st] {
	case visiting:
		if o.ring == nil {
			o.ring = slices.Clone(o.path[slices.Index(o.path, st):])
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

// moveIndex finds statements by where they move from. Keys with any hold all statements of a path, whatever their keys.
type moveIndex struct {
	ends      map[*moveStatement]moveEnds
	resources map[endKey][]*moveStatement // that move a resource or an instance
	modules   map[endKey][]*moveStatement // that move a module
	below     map[endKey][]*moveStatement // that move something in a module, or the module
}

// moveEnds are the ends of a statement as far as instances go: one without a key, beside one that has a key, means the instance without.
type moveEnds struct{ from, to *endpoint }

func (st *moveStatement) ends() moveEnds {
	if st.from.open() == st.to.open() {
		return moveEnds{&st.from, &st.to}
	}
	return moveEnds{st.from.single(), st.to.single()}
}

// open tells whether an end may mean several instances.
func (e *endpoint) open() bool {
	if e.isModule() {
		return e.last().any
	}
	return e.whole
}

// single gives the end that means one instance.
func (e *endpoint) single() *endpoint {
	one := *e
	if one.whole = false; one.isModule() {
		one.steps = slices.Clone(e.steps)
		one.last().any = false
	}
	return &one
}

func newMoveIndex(list []*moveStatement) *moveIndex {
	x := &moveIndex{map[*moveStatement]moveEnds{}, map[endKey][]*moveStatement{}, map[endKey][]*moveStatement{}, map[endKey][]*moveStatement{}}
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

// add files a statement under its key, and under the key of the whole path.
func add(index map[endKey][]*moveStatement, key endKey, st *moveStatement) {
	if key.any {
		key.key = addrs.NoKey
	}
	index[key] = append(index[key], st)
	index[everyKey(key)] = append(index[everyKey(key)], st)
}

// everyKey is the key under which everything of a path is filed.
func everyKey(k endKey) endKey {
	k.key, k.any = addrs.StringKey("\x00every"), true
	return k
}

func stepKeyOf(steps []endStep) endKey {
	last := steps[len(steps)-1]
	return endKey{module: pathOf(steps), key: last.key, any: last.any}
}

// find lists what may have the key: exactly it, or any; all of the path where the key itself is any.
func find(index map[endKey][]*moveStatement, key endKey) []*moveStatement {
	if key.any {
		return index[everyKey(key)]
	}
	any := key
	any.key, any.any = addrs.NoKey, true
	return slices.Concat(index[key], index[any])
}

// follows lists the statements that have to come after st: they move on what st moves, a module that holds it, or what lies in a
// module that st moves.
func (x *moveIndex) follows(st *moveStatement) []*moveStatement {
	to := x.ends[st].to
	var found []*moveStatement
	for i := range to.steps {
		found = append(found, find(x.modules, stepKeyOf(to.steps[:i+1]))...)
	}
	if to.isModule() {
		found = append(found, find(x.below, stepKeyOf(to.steps))...)
	} else {
		found = append(found, find(x.resources, endKey{to.module(), to.res, to.key, to.whole})...)
	}
	return slices.DeleteFunc(found, func(other *moveStatement) bool {
		return other == st || !to.overlaps(x.ends[other].from) || x.comesFirst(other, st)
	})
}

// comesFirst tells whether a statement moves a module in, or into, any instance of which another one was written: that one comes after
// it, and needn't come before it as well, since it finds what it moves in either place.
func (x *moveIndex) comesFirst(outer, st *moveStatement) bool {
	ends := x.ends[outer]
	return ends.from.isModule() && len(ends.from.steps) <= st.depth && ends.to.overlaps(x.ends[st].from)
}
