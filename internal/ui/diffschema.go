package ui

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
)

// resource compares the objects of a resource, of which either may be null. It omits attributes
// that are null on both sides and blocks that are on neither.
func (d *differ) resource(
	action plans.Action, before, after cty.Value, sch *configschema.Block, r *replacePaths,
) *node {
	n := d.block(absentIfNull(before), absentIfNull(after), sch, r)
	if sch != nil {
		d.writeOnly(n, sch, action)
	}
	return n
}

func absentIfNull(v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() {
		return cty.NilVal
	}
	return v
}

// block compares the contents of two blocks.
func (d *differ) block(before, after cty.Value, sch *configschema.Block, r *replacePaths) *node {
	before, after = absentIfNull(before), absentIfNull(after)
	if d.secretBlock(before, after) {
		return &node{action: actionOf(before, after, true), form: hiddenBlockForm}
	}
	before, after = unmarked(before), unmarked(after)
	if after != cty.NilVal && !after.IsKnown() || before != cty.NilVal && !before.IsKnown() {
		return &node{action: actionOf(before, after, true), form: blockForm, warnings: []string{"# " + unknownText}}
	}
	n := container(blockForm, before, after, false)
	n.members = d.attributes(before, after, sch.Attributes, r)
	for _, name := range slices.Sorted(maps.Keys(sch.BlockTypes)) {
		nested := sch.BlockTypes[name]
		if items := d.nested(part(before, name), part(after, name), nested, r.name(name)); len(items) > 0 {
			n.blocks = append(n.blocks, &blocks{name, items})
		}
	}
	return n.settle()
}

// settle makes a block an update if one of its parts changes.
func (n *node) settle() *node {
	if n.action != plans.NoOp {
		return n
	}
	for _, m := range n.members {
		if changed(m.node) {
			n.action = plans.Update
		}
	}
	for _, b := range n.blocks {
		for _, item := range b.items {
			if changed(item.node) {
				n.action = plans.Update
			}
		}
	}
	return n
}

func (d *differ) secretBlock(before, after cty.Value) bool {
	if d.showSensitive {
		return false
	}
	for _, v := range []cty.Value{before, after} {
		if v != cty.NilVal && (marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral)) {
			return true
		}
	}
	return false
}

// part returns a member of an object, or NilVal if there is no object.
func part(v cty.Value, name string) cty.Value {
	if v == cty.NilVal || !v.Type().HasAttribute(name) {
		return cty.NilVal
	}
	return v.GetAttr(name)
}

// attributes compares the attributes of a block or a nested object.
func (d *differ) attributes(
	before, after cty.Value, attrs map[string]*configschema.Attribute, r *replacePaths,
) []*member {
	var out []*member
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		if attr.WriteOnly {
			action := actionOf(before, after, false)
			out = append(out, &member{name: name, node: &node{action: action, text: writeOnlyText,
				toNull: action == plans.Delete}})
			continue
		}
		if n := d.attribute(part(before, name), part(after, name), attr, r.name(name)); n != nil {
			out = append(out, &member{name: name, node: n})
		}
	}
	return out
}

// attribute compares an attribute. It returns nil if the attribute is null on both sides. Null
// counts as absent, and so does an empty string, because many providers can't tell them apart.
func (d *differ) attribute(before, after cty.Value, attr *configschema.Attribute, r *replacePaths) *node {
	before, after = absentIfNothing(before), absentIfNothing(after)
	if before == cty.NilVal && after == cty.NilVal {
		return nil
	}
	if n := d.hidden(before, after); n != nil {
		n.replace = r.forced() && changed(n)
		n.toNull = n.action == plans.Delete
		return n
	}
	var n *node
	known := (before == cty.NilVal || unmarked(before).IsKnown()) && (after == cty.NilVal || unmarked(after).IsKnown())
	switch {
	case attr.NestedType != nil && known:
		n = d.nestedAttribute(unmarked(before), unmarked(after), attr.NestedType, r)
		n.replace = n.replace || r.forced() && changed(n)
	case attr.NestedType != nil && before != cty.NilVal && unmarked(before).IsKnown():
		from := d.nestedAttribute(unmarked(before), cty.NilVal, attr.NestedType, nil)
		n = &node{action: plans.Update, form: becomesForm, from: from, to: leaf(plans.NoOp, unknownText),
			replace: r.forced()}
	default:
		typed := &differ{showSensitive: d.showSensitive, static: attr.Type != cty.NilType &&
			!attr.Type.HasDynamicTypes()}
		n = typed.value(before, after, r)
	}
	n.toNull = n.action == plans.Delete
	return n
}

func absentIfNothing(v cty.Value) cty.Value {
	if bare := unmarked(v); bare == cty.NilVal || bare.IsNull() || bare.IsKnown() &&
		bare.Type() == cty.String && bare.AsString() == "" {
		return cty.NilVal
	}
	return v
}

// nestedAttribute compares known values of an attribute with a nested type.
func (d *differ) nestedAttribute(before, after cty.Value, obj *configschema.Object, r *replacePaths) *node {
	element := func(before, after cty.Value, r *replacePaths) *node { return d.nestedObject(before, after, obj, r) }
	switch obj.Nesting {
	case configschema.NestingList:
		return d.positions(before, after, r, element)
	case configschema.NestingSet:
		return d.set(before, after, element)
	case configschema.NestingMap:
		return d.mapping(nestedMapForm, before, after, r, element)
	}
	return element(before, after, r)
}

func (d *differ) nestedObject(before, after cty.Value, obj *configschema.Object, r *replacePaths) *node {
	before, after = absentIfNull(before), absentIfNull(after)
	if n := d.hidden(before, after); n != nil {
		return n
	}
	before, after = unmarked(before), unmarked(after)
	if after != cty.NilVal && !after.IsKnown() {
		if before == cty.NilVal {
			return leaf(plans.Create, unknownText)
		}
		return &node{action: plans.Update, form: becomesForm, from: d.nestedObject(before, cty.NilVal, obj,
			nil), to: leaf(plans.NoOp, unknownText)}
	}
	n := container(objectForm, before, after, false)
	n.members = d.attributes(before, after, obj.Attributes, r)
	return n.settle()
}

// positions compares lists element by element.
func (d *differ) positions(before, after cty.Value, r *replacePaths, compare compareFunc) *node {
	was, is := elementsOf(before), elementsOf(after)
	at := func(list []cty.Value, i int) cty.Value {
		if i < len(list) {
			return list[i]
		}
		return cty.NilVal
	}
	var elements []*node
	differs := false
	for i := range max(len(was), len(is)) {
		n := compare(at(was, i), at(is, i), r.index(i))
		differs = differs || changed(n)
		elements = append(elements, n)
	}
	n := container(nestedListForm, before, after, differs)
	n.elements = elements
	return n
}

// nested compares the blocks of one type.
func (d *differ) nested(before, after cty.Value, sch *configschema.NestedBlock, r *replacePaths) []*member {
	element := func(before, after cty.Value, r *replacePaths) *node { return d.block(before, after, &sch.Block, r) }
	if sch.Nesting == configschema.NestingSingle || sch.Nesting == configschema.NestingGroup {
		before, after = absentIfNull(before), absentIfNull(after)
		if before == cty.NilVal && after == cty.NilVal {
			return nil
		}
		return []*member{{node: element(before, after, r)}}
	}
	if d.secretBlock(before, after) {
		return d.secretBlocks(before, after)
	}
	before, after = unmarked(before), unmarked(after)
	if after != cty.NilVal && !after.IsKnown() {
		items := d.nested(before, cty.NilVal, sch, nil)
		return append(items, &member{node: element(cty.NilVal, cty.UnknownVal(sch.Block.ImpliedType()), nil)})
	}
	switch {
	case sch.Nesting == configschema.NestingSet:
		return unnamed(d.set(absentIfNull(before), absentIfNull(after), element).elements)
	case sch.Nesting == configschema.NestingMap:
		return d.membersOf(mapForm, absentIfNull(before), absentIfNull(after), r, element).members
	}
	return unnamed(d.positions(absentIfNull(before), absentIfNull(after), r, element).elements)
}

func unnamed(nodes []*node) []*member {
	out := make([]*member, len(nodes))
	for i, n := range nodes {
		out[i] = &member{node: n}
	}
	return out
}

// secretBlocks returns a placeholder for blocks of which none may be shown.
func (d *differ) secretBlocks(before, after cty.Value) []*member {
	was, is := absentIfNull(unmarked(before)), absentIfNull(unmarked(after))
	if was != cty.NilVal && is != cty.NilVal && sameValue(was, is) {
		return []*member{{node: &node{action: plans.NoOp, form: hiddenBlockForm}}}
	}
	var out []*member
	if len(elementsOf(was)) > 0 {
		out = append(out, &member{node: &node{action: plans.Delete, form: hiddenBlockForm}})
	}
	if is != cty.NilVal && (!is.IsKnown() || len(elementsOf(is)) > 0) {
		out = append(out, &member{node: &node{action: plans.Create, form: hiddenBlockForm}})
	}
	return out
}

// writeOnly gives write-only attributes the action of the resource, because whether their values
// change is not known.
func (d *differ) writeOnly(n *node, sch *configschema.Block, action plans.Action) {
	shown := map[plans.Action]plans.Action{plans.Create: plans.Create, plans.Read: plans.Create,
		plans.Delete: plans.Delete}[action]
	if action == plans.Update || action.IsReplace() {
		shown = plans.Update
	}
	for _, m := range n.members {
		if attr := sch.Attributes[m.name]; attr != nil && attr.WriteOnly {
			m.node.action, m.node.toNull = shown, shown == plans.Delete
		}
	}
}
