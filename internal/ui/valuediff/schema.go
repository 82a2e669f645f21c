package valuediff

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/diff"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// Resource compares two objects of a resource, either of which may be null. It omits attributes
// that are null in both objects, and blocks that neither object has. Changes at the paths in
// replace force a replacement. Values that the schema declares sensitive are hidden even if
// they are not marked.
func (d *Differ) Resource(
	action plans.Action, before, after cty.Value, sch *configschema.Block, replace []cty.Path,
) *Node {
	n := d.content(AbsentIfNull(before), AbsentIfNull(after), sch, newReplacePaths(replace), secretPart)
	if sch != nil {
		d.writeOnly(n, sch, action)
	}
	return n
}

// Only marks the attributes and blocks that are not in names as unchanged, and removes those that
// before doesn't have. It keeps write-only attributes. n is a result of Resource, and before is the
// object before the change.
func (d *Differ) Only(n *Node, before cty.Value, sch *configschema.Block, names map[string]bool) {
	for _, m := range n.Members {
		if attr := sch.Attributes[m.Name]; !names[m.Name] && !attr.WriteOnly {
			at := secretPart(before, m.Name, sch)
			m.Node = d.attribute(at, at, attr, nil)
		}
	}
	n.Members = slices.DeleteFunc(n.Members, func(m *Member) bool { return m.Node == nil })
	for _, b := range n.Blocks {
		if !names[b.Name] {
			at := secretPart(before, b.Name, sch)
			b.Items = d.nested(at, at, sch.BlockTypes[b.Name], nil)
		}
	}
}

// AbsentIfNull returns NilVal for null. It returns other values unchanged.
func AbsentIfNull(v cty.Value) cty.Value {
	if v == cty.NilVal || v.IsNull() {
		return cty.NilVal
	}
	return v
}

// block compares the contents of two blocks.
func (d *Differ) block(before, after cty.Value, sch *configschema.Block, r *replacePaths) *Node {
	return d.content(AbsentIfNull(before), AbsentIfNull(after), sch, r, plainPart)
}

// partFunc returns the value of an object's attribute, or of its nested blocks of one type. It
// returns NilVal if the object or the part doesn't exist.
type partFunc func(object cty.Value, name string, sch *configschema.Block) cty.Value

func plainPart(object cty.Value, name string, _ *configschema.Block) cty.Value {
	return part(object, name)
}

// secretPart returns the part with sensitive values marked as in the schema. This is much
// cheaper than marking the whole object.
func secretPart(object cty.Value, name string, sch *configschema.Block) cty.Value {
	v := part(object, name)
	if v == cty.NilVal {
		return v
	}
	return states.MarkSensitive(v, sch.SensitivePathsIn(name, v))
}

// content compares the contents of two blocks. The function part returns their parts.
func (d *Differ) content(
	before, after cty.Value, sch *configschema.Block, r *replacePaths, part partFunc,
) *Node {
	if d.secretBlock(before, after) {
		n := &Node{Action: ActionOf(before, after, differ(before, after)), Form: HiddenBlockForm}
		return n.noteMarks(before, after)
	}
	return d.shownContent(Unmarked(before), Unmarked(after), sch, r, part).noteMarks(before, after)
}

// shownContent compares the contents of two blocks without marks at their top level.
func (d *Differ) shownContent(
	before, after cty.Value, sch *configschema.Block, r *replacePaths, part partFunc,
) *Node {
	if after != cty.NilVal && !after.IsKnown() || before != cty.NilVal && !before.IsKnown() {
		return &Node{Action: ActionOf(before, after, true), Form: BlockForm, Warnings: []string{"# " + UnknownText}}
	}
	n := container(BlockForm, before, after, false)
	parts := func(name string) (cty.Value, cty.Value) { return part(before, name, sch), part(after, name, sch) }
	attrs, blocks := sch.Names()
	n.Members = d.attributes(attrs, sch.Attributes, r, ActionOf(before, after, false), parts)
	for _, name := range blocks {
		nested := sch.BlockTypes[name]
		was, is := parts(name)
		if items := d.nested(was, is, nested, r.name(name)); len(items) > 0 {
			n.Blocks = append(n.Blocks, &Blocks{name, nested.Nesting, items})
		}
	}
	return n.finish()
}

// finish sets the action of a block to an update if one of its parts changes.
func (n *Node) finish() *Node {
	if n.Action != plans.NoOp {
		return n
	}
	for _, m := range n.Members {
		if m.Node.Changed() {
			n.Action = plans.Update
		}
	}
	for _, b := range n.Blocks {
		for _, item := range b.Items {
			if item.Node.Changed() {
				n.Action = plans.Update
			}
		}
	}
	return n
}

func (d *Differ) secretBlock(before, after cty.Value) bool {
	if d.ShowSensitive {
		return false
	}
	for _, v := range []cty.Value{before, after} {
		if v != cty.NilVal && (marks.Has(v, marks.Sensitive) || marks.Has(v, marks.Ephemeral)) {
			return true
		}
	}
	return false
}

// part returns a member of an object, or NilVal if the object or the member doesn't exist.
func part(v cty.Value, name string) cty.Value {
	if v == cty.NilVal {
		return v
	}
	ty := v.Type()
	// HasAttribute alone is slower.
	if _, ok := ty.AttributeTypes()[name]; !ok && !ty.HasAttribute(name) {
		return cty.NilVal
	}
	return v.GetAttr(name)
}

// attributes compares the attributes of a block or nested object. parts returns their values
// before and after the change. Write-only attributes get the given action.
func (d *Differ) attributes(
	names []string, attrs map[string]*configschema.Attribute, r *replacePaths, action plans.Action,
	parts func(name string) (before, after cty.Value),
) []*Member {
	var out []*Member
	for _, name := range names {
		attr := attrs[name]
		if attr.WriteOnly {
			out = append(out, &Member{Name: name, Node: &Node{Action: action, Text: WriteOnlyText,
				ToNull: action == plans.Delete}})
			continue
		}
		before, after := parts(name)
		if n := d.attribute(before, after, attr, r.name(name)); n != nil {
			out = append(out, &Member{Name: name, Node: n})
		}
	}
	return out
}

// attribute compares an attribute. It returns nil if the attribute is null on both sides. It treats
// an empty string as null, because many providers don't distinguish the two.
func (d *Differ) attribute(before, after cty.Value, attr *configschema.Attribute, r *replacePaths) *Node {
	before, after = absentIfNothing(before), absentIfNothing(after)
	if before == cty.NilVal && after == cty.NilVal {
		return nil
	}
	if n := d.hidden(before, after); n != nil {
		n.Replace = r.forced() && n.Changed()
		n.ToNull = n.Action == plans.Delete
		return n
	}
	var n *Node
	known := (before == cty.NilVal || Unmarked(before).IsKnown()) && (after == cty.NilVal || Unmarked(after).IsKnown())
	switch {
	case attr.NestedType != nil && known:
		n = d.nestedAttribute(Unmarked(before), Unmarked(after), attr.NestedType, r).noteMarks(before, after)
		n.Replace = n.Replace || r.forced() && n.Changed()
	case attr.NestedType != nil && before != cty.NilVal && Unmarked(before).IsKnown():
		from := d.nestedAttribute(Unmarked(before), cty.NilVal, attr.NestedType, nil)
		n = &Node{Action: plans.Update, Form: TypeChangeForm, From: from, To: Leaf(plans.NoOp, UnknownText),
			Replace: r.forced()}
	default:
		typed := *d
		typed.static = attr.Type != cty.NilType && !attr.Type.HasDynamicTypes()
		n = typed.value(before, after, r)
	}
	n.ToNull = n.Action == plans.Delete
	return n
}

func absentIfNothing(v cty.Value) cty.Value {
	if bare := Unmarked(v); bare == cty.NilVal || bare.IsNull() || bare.IsKnown() &&
		bare.Type() == cty.String && bare.AsString() == "" {
		return cty.NilVal
	}
	return v
}

// nestedAttribute compares two known values of an attribute with nested attributes. One of them may
// be NilVal.
func (d *Differ) nestedAttribute(before, after cty.Value, obj *configschema.Object, r *replacePaths) *Node {
	element := func(before, after cty.Value, r *replacePaths) *Node { return d.nestedObject(before, after, obj, r) }
	switch obj.Nesting {
	case configschema.NestingList:
		return d.positions(before, after, r, element)
	case configschema.NestingSet:
		return d.set(before, after, element)
	case configschema.NestingMap:
		return d.mapping(NestedMapForm, before, after, r, element)
	}
	return element(before, after, r)
}

func (d *Differ) nestedObject(before, after cty.Value, obj *configschema.Object, r *replacePaths) *Node {
	before, after = AbsentIfNull(before), AbsentIfNull(after)
	if n := d.hidden(before, after); n != nil {
		return n
	}
	return d.shownObject(Unmarked(before), Unmarked(after), obj, r).noteMarks(before, after)
}

// shownObject compares two objects without marks at their top level.
func (d *Differ) shownObject(before, after cty.Value, obj *configschema.Object, r *replacePaths) *Node {
	if after != cty.NilVal && !after.IsKnown() {
		if before == cty.NilVal {
			return Leaf(plans.Create, UnknownText)
		}
		return &Node{Action: plans.Update, Form: TypeChangeForm, From: d.nestedObject(before, cty.NilVal, obj,
			nil), To: Leaf(plans.NoOp, UnknownText)}
	}
	n := container(ObjectForm, before, after, false)
	n.Members = d.attributes(slices.Sorted(maps.Keys(obj.Attributes)), obj.Attributes, r,
		ActionOf(before, after, false),
		func(name string) (cty.Value, cty.Value) { return part(before, name), part(after, name) })
	return n.finish()
}

// positions compares lists element by element or, for review, pairs similar elements.
func (d *Differ) positions(before, after cty.Value, r *replacePaths, compare compareFunc) *Node {
	was, is := elementsOf(before), elementsOf(after)
	elements, differs := d.aligned(was, is, r, compare)
	n := container(NestedListForm, before, after, differs)
	n.Elements = elements
	return n
}

// aligned compares the elements of two lists. The index of a new element, or else of the
// removed one, selects the paths that force a replacement.
func (d *Differ) aligned(was, is []cty.Value, r *replacePaths, compare compareFunc) (out []*Node, differs bool) {
	add := func(old, new int) {
		index := new
		if new < 0 {
			index = old
		}
		n := compare(at(was, old), at(is, new), r.index(index))
		differs = differs || n.Changed()
		out = append(out, n)
	}
	if !d.Review {
		for i := range max(len(was), len(is)) {
			add(i, i)
		}
		return out, differs
	}
	pairs := diff.Align(elementKeys(was, "-"), elementKeys(is, "+"))
	for i := 0; i < len(pairs); {
		if p := pairs[i]; p.Old >= 0 && p.New >= 0 {
			add(p.Old, p.New)
			i++
			continue
		}
		var gone, added []int
		for ; i < len(pairs) && (pairs[i].Old < 0 || pairs[i].New < 0); i++ {
			if pairs[i].New < 0 {
				gone = append(gone, pairs[i].Old)
			} else {
				added = append(added, pairs[i].New)
			}
		}
		alike(pick(was, gone), pick(is, added), func(old, new int) *Node {
			add(position(gone, old), position(added, new))
			return nil
		})
	}
	return out, differs
}

// pick returns the elements at the given positions.
func pick(list []cty.Value, positions []int) []cty.Value {
	out := make([]cty.Value, len(positions))
	for i, p := range positions {
		out[i] = list[p]
	}
	return out
}

func position(positions []int, i int) int {
	if i < 0 {
		return -1
	}
	return positions[i]
}

// nested compares the nested blocks of one type.
func (d *Differ) nested(before, after cty.Value, sch *configschema.NestedBlock, r *replacePaths) []*Member {
	if sch.Nesting == configschema.NestingSingle || sch.Nesting == configschema.NestingGroup {
		before, after = AbsentIfNull(before), AbsentIfNull(after)
		if before == cty.NilVal && after == cty.NilVal {
			return nil
		}
		return []*Member{{Node: d.block(before, after, &sch.Block, r)}}
	}
	if d.secretBlock(before, after) {
		return d.secretBlocks(before, after)
	}
	items := d.shownBlocks(Unmarked(before), Unmarked(after), sch, r)
	for _, item := range items { // the list or set of blocks itself is not shown
		item.Node.noteMarks(before, after)
	}
	return items
}

// shownBlocks compares lists, sets or maps of blocks without marks at their top level.
func (d *Differ) shownBlocks(before, after cty.Value, sch *configschema.NestedBlock, r *replacePaths) []*Member {
	element := func(before, after cty.Value, r *replacePaths) *Node { return d.block(before, after, &sch.Block, r) }
	if after != cty.NilVal && !after.IsKnown() {
		items := d.nested(before, cty.NilVal, sch, nil)
		return append(items, &Member{Node: element(cty.NilVal, cty.UnknownVal(sch.Block.ImpliedType()), nil)})
	}
	switch {
	case sch.Nesting == configschema.NestingSet:
		return unnamed(d.set(AbsentIfNull(before), AbsentIfNull(after), element).Elements)
	case sch.Nesting == configschema.NestingMap:
		return d.membersOf(MapForm, AbsentIfNull(before), AbsentIfNull(after), r, element).Members
	}
	return unnamed(d.positions(AbsentIfNull(before), AbsentIfNull(after), r, element).Elements)
}

func unnamed(nodes []*Node) []*Member {
	out := make([]*Member, len(nodes))
	for i, n := range nodes {
		out[i] = &Member{Node: n}
	}
	return out
}

// secretBlocks returns placeholders for nested blocks that must not be shown: one if they don't
// change, and otherwise one for the old and one for the new blocks, if there are any.
func (d *Differ) secretBlocks(before, after cty.Value) []*Member {
	was, is := AbsentIfNull(Unmarked(before)), AbsentIfNull(Unmarked(after))
	if was != cty.NilVal && is != cty.NilVal && SameValue(was, is) {
		n := &Node{Action: plans.NoOp, Form: HiddenBlockForm}
		return []*Member{{Node: n.noteMarks(before, after)}}
	}
	var out []*Member
	if len(elementsOf(was)) > 0 {
		out = append(out, &Member{Node: &Node{Action: plans.Delete, Form: HiddenBlockForm}})
	}
	if is != cty.NilVal && (!is.IsKnown() || len(elementsOf(is)) > 0) {
		out = append(out, &Member{Node: &Node{Action: plans.Create, Form: HiddenBlockForm}})
	}
	return out
}

// writeOnly sets the action of write-only attributes to that of the resource, because it is
// unknown whether their values change.
func (d *Differ) writeOnly(n *Node, sch *configschema.Block, action plans.Action) {
	shown := map[plans.Action]plans.Action{plans.Create: plans.Create, plans.Read: plans.Create,
		plans.Delete: plans.Delete}[action]
	if action == plans.Update || action.IsReplace() {
		shown = plans.Update
	}
	for _, m := range n.Members {
		if attr := sch.Attributes[m.Name]; attr != nil && attr.WriteOnly {
			m.Node.Action, m.Node.ToNull = shown, shown == plans.Delete
		}
	}
}
