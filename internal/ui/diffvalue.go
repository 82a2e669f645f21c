package ui

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// differ builds trees.
type differ struct {
	showSensitive bool
	// static says that a schema determines the types of the values, so that null attributes count
	// as absent.
	static bool
}

// value compares two values of any types. NilVal is a value that does not exist.
func (d *differ) value(before, after cty.Value, r *replacePaths) *node {
	n := d.bare(before, after, r)
	n.replace = n.replace || r.forced() && changed(n)
	return n
}

func (d *differ) bare(before, after cty.Value, r *replacePaths) *node {
	if n := d.hidden(before, after); n != nil {
		return n
	}
	before, after = unmarked(before), unmarked(after)
	switch {
	case after != cty.NilVal && !after.IsKnown():
		return d.becomesUnknown(before)
	case before != cty.NilVal && !before.IsKnown():
		return leaf(actionOf(before, after, false), unknownText)
	case before == cty.NilVal || after == cty.NilVal || before.IsNull() && after.IsNull():
		return d.oneSided(before, after, r)
	case before.IsNull() || after.IsNull():
		return d.becomes(before, after)
	}
	return d.known(before, after, r)
}

func unmarked(v cty.Value) cty.Value {
	if v == cty.NilVal {
		return v
	}
	v, _ = v.Unmark()
	return v
}

// actionOf returns the change of a value, given whether it differs.
func actionOf(before, after cty.Value, differs bool) plans.Action {
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

// hidden returns the node of a value that may not be shown, and nil for all others.
func (d *differ) hidden(before, after cty.Value) *node {
	has := func(v cty.Value, mark any) bool { return v != cty.NilVal && marks.Has(v, mark) }
	text := ""
	was, is := has(before, marks.Sensitive), has(after, marks.Sensitive)
	switch {
	case has(before, marks.Ephemeral) || has(after, marks.Ephemeral):
		text = ephemeralText
	case (was || is) && !d.showSensitive:
		text = sensitiveText
	default:
		return nil
	}
	same := before != cty.NilVal && after != cty.NilVal && sameValue(before, after)
	n := leaf(actionOf(before, after, !same), text)
	if text == sensitiveText && was != is && before != cty.NilVal && after != cty.NilVal &&
		!unmarked(before).IsNull() && !unmarked(after).IsNull() {
		n.action = plans.Update
		n.warnings = markWarning(is, same)
	}
	return n
}

// markWarning returns warnings about changes of a value's sensitivity.
func markWarning(becomes, same bool) []string {
	text := "# Warning: the value will no longer be sensitive, and will be shown after apply"
	if becomes {
		text = "# Warning: the value will be sensitive, and will be hidden after apply"
	}
	if same {
		return []string{text, "# The value itself does not change."}
	}
	return []string{text}
}

func sameValue(a, b cty.Value) bool {
	a, _ = a.UnmarkDeep()
	b, _ = b.UnmarkDeep()
	return a.RawEquals(b)
}

// becomesUnknown returns the node of a value that becomes unknown.
func (d *differ) becomesUnknown(before cty.Value) *node {
	if before == cty.NilVal || before.IsNull() {
		return leaf(plans.Create, unknownText)
	}
	return &node{action: plans.Update, form: becomesForm, from: d.value(before, cty.NilVal, nil),
		to: leaf(plans.NoOp, unknownText)}
}

// becomes returns the node of a value that becomes one of another kind.
func (d *differ) becomes(before, after cty.Value) *node {
	return &node{action: plans.Update, form: becomesForm, from: d.value(before, cty.NilVal, nil),
		to: d.value(cty.NilVal, after, nil)}
}

// oneSided returns the node of a value that is added, removed or still null.
func (d *differ) oneSided(before, after cty.Value, r *replacePaths) *node {
	v := before
	if v == cty.NilVal {
		v = after
	}
	if v == cty.NilVal || v.IsNull() {
		return leaf(actionOf(before, after, false), "null")
	}
	return d.known(before, after, r)
}

// known compares known, unmarked values that are not null. One of them may be NilVal.
func (d *differ) known(before, after cty.Value, r *replacePaths) *node {
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
		return d.mapping(mapForm, before, after, r, d.value)
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

// leaves compares primitive values.
func (d *differ) leaves(before, after cty.Value) *node {
	action := actionOf(before, after, before != cty.NilVal && after != cty.NilVal && !before.RawEquals(after))
	if action == plans.Update {
		return &node{action: action, before: leafText(before), after: leafText(after)}
	}
	if before == cty.NilVal {
		before = after
	}
	return leaf(action, leafText(before))
}

// leafText formats a primitive value.
func leafText(v cty.Value) string {
	switch ty := v.Type(); {
	case ty == cty.String:
		return quoted(v.AsString())
	case ty == cty.Number:
		return string(states.AppendNumber(nil, v.AsBigFloat()))
	case ty == cty.Bool:
		return string(valueJSON(v))
	}
	return "(" + v.Type().FriendlyName() + ")"
}

// object compares objects of any types by their attributes.
func (d *differ) object(before, after cty.Value, r *replacePaths) *node {
	if !d.static {
		return d.membersOf(objectForm, before, after, r, d.value)
	}
	return d.membersOf(objectForm, before, after, r, func(before, after cty.Value, r *replacePaths) *node {
		before, after = absentIfNull(before), absentIfNull(after)
		if before == cty.NilVal && after == cty.NilVal {
			return nil
		}
		return d.value(before, after, r)
	})
}

// mapping compares maps, whose keys are always quoted.
func (d *differ) mapping(form nodeForm, before, after cty.Value, r *replacePaths, compare compareFunc) *node {
	n := d.membersOf(form, before, after, r, compare)
	for _, m := range n.members {
		m.quote = true
		m.node.toNull = form == mapForm && n.action == plans.Update && m.node.action == plans.Delete
	}
	return n
}

// compareFunc compares two parts. It returns nil if there is nothing to show.
type compareFunc func(before, after cty.Value, r *replacePaths) *node

func (d *differ) membersOf(form nodeForm, before, after cty.Value, r *replacePaths, compare compareFunc) *node {
	was, is := memberValues(before), memberValues(after)
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var list []*member
	differs := false
	for _, name := range names { // a missing name yields NilVal
		n := compare(was[name], is[name], r.name(name))
		if n == nil {
			continue
		}
		differs = differs || changed(n)
		list = append(list, &member{name: name, node: n})
	}
	n := container(form, before, after, differs)
	n.members = list
	return n
}

func memberValues(v cty.Value) map[string]cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueMap()
}

// set compares sets: removed, added and kept elements.
func (d *differ) set(before, after cty.Value, compare compareFunc) *node {
	was, is := elementsOf(before), elementsOf(after)
	old, kept := make(map[string]bool, len(was)), make(map[string]bool)
	for _, v := range was {
		old[valueKey(v)] = true
	}
	for _, v := range is {
		if key := valueKey(v); old[key] {
			kept[key] = true
		}
	}
	var same, gone, added []*node
	for _, v := range was {
		if kept[valueKey(v)] {
			same = append(same, compare(v, v, nil))
		} else {
			gone = append(gone, compare(v, cty.NilVal, nil))
		}
	}
	for _, v := range is {
		if !kept[valueKey(v)] {
			added = append(added, compare(cty.NilVal, v, nil))
		}
	}
	n := container(setForm, before, after, len(gone)+len(added) > 0)
	n.elements = slices.Concat(gone, added, same)
	return n
}

func elementsOf(v cty.Value) []cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return nil
	}
	return v.AsValueSlice()
}

// valueKey returns a text that is equal for two values if the values are equal apart from marks.
// Unknown values have their own text.
func valueKey(v cty.Value) string { return string(appendKey(nil, v)) }

func appendKey(b []byte, v cty.Value) []byte {
	v, own := v.Unmark()
	if _, secret := own[marks.Sensitive]; secret {
		b = append(b, 's')
	}
	switch {
	case !v.IsKnown():
		return append(b, '?')
	case v.IsNull():
		return append(b, "null"...)
	}
	switch kindOf(v) {
	case objectKind, mapKind:
		return appendMembers(b, v, func(b []byte, elem cty.Value) ([]byte, bool) { return appendKey(b, elem), true })
	case listKind, setKind:
		return appendElements(b, v, appendKey)
	}
	return appendValue(b, v)
}
