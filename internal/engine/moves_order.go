package engine

import (
	"slices"

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
	if o.diags.HasErrors() {
		return nil, o.diags[:1]
	}
	return o.out, nil
}

type visitState uint8

const (
	visiting visitState = iota + 1
	visited
)

type moveOrder struct {
	index *moveIndex
	state map[*moveStatement]visitState
	out   []*moveStatement
	diags tfdiags.Diagnostics
}

func (o *moveOrder) visit(st *moveStatement) {
	switch o.state[st] {
	case visiting:
		o.diags = o.diags.Append(tfdiags.Errorf("Cyclic dependency in move statements",
			"The moved block from %s to %s is part of a cycle: no object could ever come to rest.", &st.from, &st.to).At(st.rng))
		return
	case visited:
		return
	}
	o.state[st] = visiting
	for _, next := range o.index.follows(st) {
		o.visit(next)
	}
	o.state[st] = visited
	o.out = append(o.out, st)
}

// moveIndex finds statements by where they move from. Keys with any hold all statements of a path, whatever their keys.
type moveIndex struct {
	resources map[endKey][]*moveStatement // that move a resource or an instance
	modules   map[endKey][]*moveStatement // that move a module
	below     map[endKey][]*moveStatement // that move something in a module, or the module
}

func newMoveIndex(list []*moveStatement) *moveIndex {
	x := &moveIndex{map[endKey][]*moveStatement{}, map[endKey][]*moveStatement{}, map[endKey][]*moveStatement{}}
	for _, st := range list {
		from := &st.from
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
	to := &st.to
	var found []*moveStatement
	for i := range to.steps {
		found = append(found, find(x.modules, stepKeyOf(to.steps[:i+1]))...)
	}
	if to.isModule() {
		found = append(found, find(x.below, stepKeyOf(to.steps))...)
	} else {
		found = append(found, find(x.resources, endKey{to.module(), to.res, to.key, to.whole})...)
	}
	return slices.DeleteFunc(found, func(other *moveStatement) bool { return other == st || !to.overlaps(&other.from) })
}
