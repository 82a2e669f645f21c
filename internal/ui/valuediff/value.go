package valuediff

import (
	"maps"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// A Differ compares values and builds trees of differences.
type Differ struct {
	ShowSensitive bool // whether sensitive values are shown
	// Review compares values for human readers: strings by their content, elements of lists and
	// sets by similarity, and numbers by their value. Certificates and hashes are shortened.
	Review bool
	// static reports whether a schema determines the types of the values. If so, null attributes
	// are treated as absent.
	static bool
}

// Value compares two values of any types. NilVal is a value that doesn't exist.
func (d *Differ) Value(before, after cty.Value) *Node { return d.value(before, after, nil) }

// value compares two values. r holds the paths in them that force a replacement.
func (d *Differ) value(before, after cty.Value, r *replacePaths) *Node {
	n := d.bare(before, after, r)
	n.Replace = n.Replace || r.forced() && n.Changed()
	return n
}

func (d *Differ) bare(before, after cty.Value, r *replacePaths) *Node {
	if n := d.hidden(before, after); n != nil {
		return n
	}
	return d.shown(Unmarked(before), Unmarked(after), r).noteMarks(before, after)
}

// shown compares two values without marks at their top level.
func (d *Differ) shown(before, after cty.Value, r *replacePaths) *Node {
	switch {
	case after != cty.NilVal && !after.IsKnown():
		return d.becomesUnknown(before)
	case before != cty.NilVal && !before.IsKnown():
		return Leaf(ActionOf(before, after, false), UnknownText)
	case before == cty.NilVal || after == cty.NilVal || before.IsNull() && after.IsNull():
		return d.oneSided(before, after, r)
	case before.IsNull() || after.IsNull():
		return d.becomes(before, after)
	}
	return d.known(before, after, r)
}

// Unmarked returns v without the marks at its top level. It returns NilVal unchanged.
func Unmarked(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	v, _ = v.Unmark()
	return v
}

// ActionOf returns the action that turns before into after. differs says whether two existing
// values differ.
func ActionOf(before, after cty.Value, differs bool) plans.Action {
	switch {
	case before == cty.NilVal:
		return plans.Create
	case after == cty.NilVal:
		return plans.Delete
	case differs:
		return plans.Update
	}
	return plans.NoOp
}

// hidden returns a node without values if the values must not be shown, and nil otherwise.
func (d *Differ) hidden(before, after cty.Value) *Node {
	switch {
	case has(before, marks.Ephemeral) || has(after, marks.Ephemeral):
		return Leaf(ActionOf(before, after, differ(before, after)), EphemeralText)
	case (has(before, marks.Sensitive) || has(after, marks.Sensitive)) && !d.ShowSensitive:
		return Leaf(ActionOf(before, after, differ(before, after)), SensitiveText).noteMarks(before, after)
	}
	return nil
}

// has reports whether a value has a mark at its top level.
func has(v cty.Value, mark any) bool { return v != cty.NilVal && marks.Has(v, mark) }

// differ reports whether two values differ in more than their marks.
func differ(before, after cty.Value) bool {
	return before == cty.NilVal || after == cty.NilVal || !SameValue(before, after)
}

// noteMarks adds to a node that its value becomes sensitive or is no longer sensitive. That is a
// change even if the value stays the same.
func (n *Node) noteMarks(before, after cty.Value) *Node {
	becomes := has(after, marks.Sensitive)
	if has(before, marks.Sensitive) == becomes || AbsentIfNull(Unmarked(before)) == cty.NilVal ||
		AbsentIfNull(Unmarked(after)) == cty.NilVal || n.Action != plans.NoOp && n.Action != plans.Update {
		return n
	}
	n.Note, n.Warnings = "no longer sensitive",
		[]string{"# Warning: the value will no longer be sensitive, and will be shown after apply"}
	if becomes {
		n.Note, n.Warnings[0] = "becomes sensitive",
			"# Warning: the value will be sensitive, and will be hidden after apply"
	}
	if n.Action == plans.NoOp {
		n.Action = plans.Update
		n.Note += "; the value stays the same"
		n.Warnings = append(n.Warnings, "# The value itself does not change.")
	}
	return n
}

// SameValue reports whether two values are equal apart from marks.
func SameValue(a, b cty.Value) bool {
	a, _ = a.UnmarkDeep()
	b, _ = b.UnmarkDeep()
	return a.RawEquals(b)
}

// becomesUnknown returns the node of a value that is known only after apply.
func (d *Differ) becomesUnknown(before cty.Value) *Node {
	if before == cty.NilVal || before.IsNull() {
		return Leaf(plans.Create, UnknownText)
	}
	return &Node{Action: plans.Update, Form: TypeChangeForm, From: d.value(before, cty.NilVal, nil),
		To: Leaf(plans.NoOp, UnknownText)}
}

// becomes returns the node of a value that changes to another kind, or to or from null.
func (d *Differ) becomes(before, after cty.Value) *Node {
	return &Node{Action: plans.Update, Form: TypeChangeForm, From: d.value(before, cty.NilVal, nil),
		To: d.value(cty.NilVal, after, nil)}
}

// oneSided returns the node of a value that is added or removed, or is null before and after.
func (d *Differ) oneSided(before, after cty.Value, r *replacePaths) *Node {
	v := before
	if v == cty.NilVal {
		v = after
	}
	if v == cty.NilVal || v.IsNull() {
		return Leaf(ActionOf(before, after, false), "null")
	}
	return d.known(before, after, r)
}

// known compares two known, unmarked values that are not null. One of them may be NilVal.
func (d *Differ) known(before, after cty.Value, r *replacePaths) *Node {
	k := kindOf(before)
	if before == cty.NilVal {
		k = kindOf(after)
	} else if after != cty.NilVal && kindOf(after) != k {
		return d.becomes(before, after)
	}
	switch k {
	case objectKind:
		return d.object(before, after, r)
	case mapKind:
		return d.mapping(MapForm, before, after, r, d.value)
	case listKind:
		return d.list(before, after)
	case setKind:
		return d.set(before, after, d.value)
	case stringKind:
		return d.text(before, after)
	}
	return d.leaves(before, after)
}

type kind uint8

const (
	plainKind kind = iota
	stringKind
	objectKind
	mapKind
	listKind
	setKind
)

func kindOf(v cty.Value) kind {
	if v == cty.NilVal {
		return plainKind
	}
	ty := v.Type()
	switch {
	case ty == cty.String:
		return stringKind
	case ty.IsObjectType():
		return objectKind
	case ty.IsMapType():
		return mapKind
	case ty.IsListType() || ty.IsTupleType():
		return listKind
	case ty.IsSetType():
		return setKind
	}
	return plainKind
}

// leaves compares two primitive values. One of them may be NilVal.
func (d *Differ) leaves(before, after cty.Value) *Node {
	action := ActionOf(before, after, before != cty.NilVal && after != cty.NilVal && !before.RawEquals(after))
	if action == plans.Update {
		return &Node{Action: action, Before: LeafText(before), After: LeafText(after)}
	}
	if before == cty.NilVal {
		before = after
	}
	return Leaf(action, LeafText(before))
}

// LeafText formats a primitive value.
func LeafText(v cty.Value) string {
	switch ty := v.Type(); {
	case ty == cty.String:
		return strconv.Quote(v.AsString())
	case ty == cty.Number:
		return string(states.AppendNumber(nil, v.AsBigFloat()))
	case ty == cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return "(" + v.Type().FriendlyName() + ")"
}

// object compares objects of any types, attribute by attribute.
func (d *Differ) object(before, after cty.Value, r *replacePaths) *Node {
	if !d.static {
		return d.membersOf(ObjectForm, before, after, r, d.value)
	}
	return d.membersOf(ObjectForm, before, after, r, func(before, after cty.Value, r *replacePaths) *Node {
		before, after = AbsentIfNull(before), AbsentIfNull(after)
		if before == cty.NilVal && after == cty.NilVal {
			return nil
		}
		return d.value(before, after, r)
	})
}

// mapping compares maps, whose keys are always quoted.
func (d *Differ) mapping(form Form, before, after cty.Value, r *replacePaths, compare compareFunc) *Node {
	n := d.membersOf(form, before, after, r, compare)
	for _, m := range n.Members {
		m.Quote = true
		m.Node.ToNull = form == MapForm && n.Action == plans.Update && m.Node.Action == plans.Delete
	}
	return n
}

// compareFunc compares two parts. It returns nil if there is nothing to show.
type compareFunc func(before, after cty.Value, r *replacePaths) *Node

func (d *Differ) membersOf(form Form, before, after cty.Value, r *replacePaths, compare compareFunc) *Node {
	was, is := memberValues(before), memberValues(after)
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []*Member
	differs := false
	for _, name := range names { // NilVal if there is no such member
		n := compare(was[name], is[name], r.name(name))
		if n == nil {
			continue
		}
		differs = differs || n.Changed()
		list = append(list, &Member{Name: name, Node: n})
	}
	n := container(form, before, after, differs)
	n.Members = list
	return n
}

func memberValues(v cty.Value) map[string]cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueMap()
}

// set compares two sets. It shows removed, added and unchanged elements and, for review, updates of
// similar elements.
func (d *Differ) set(before, after cty.Value, compare compareFunc) *Node {
	was, is := elementsOf(before), elementsOf(after)
	old, kept := make(map[string]bool, len(was)), make(map[string]bool)
	for _, v := range was {
		old[Key(v)] = true
	}
	for _, v := range is {
		if key := Key(v); old[key] {
			kept[key] = true
		}
	}
	var same, changes []*Node
	var gone, added []cty.Value
	for _, v := range was {
		if kept[Key(v)] {
			same = append(same, compare(v, v, nil))
		} else {
			gone = append(gone, v)
		}
	}
	for _, v := range is {
		if !kept[Key(v)] {
			added = append(added, v)
		}
	}
	if d.Review {
		changes, _ = alike(gone, added, func(old, new int) *Node { return compare(at(gone, old), at(added, new), nil) })
	} else {
		for _, v := range gone {
			changes = append(changes, compare(v, cty.NilVal, nil))
		}
		for _, v := range added {
			changes = append(changes, compare(cty.NilVal, v, nil))
		}
	}
	n := container(SetForm, before, after, len(changes) > 0)
	n.Elements = append(changes, same...)
	return n
}

func elementsOf(v cty.Value) []cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueSlice()
}
