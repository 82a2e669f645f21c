package valuediff

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/diff"
	"tofu/internal/plans"
)

// list aligns and compares two lists. If objects are replaced by objects at the same position, they
// are compared in pairs: in their order or, for review, by similarity.
func (d *Differ) list(before, after cty.Value) *Node {
	was, is := elementsOf(before), elementsOf(after)
	pairs := diff.Align(elementKeys(was, "-"), elementKeys(is, "+"))
	var elements []*Node
	differs := false
	for i := 0; i < len(pairs); {
		if p := pairs[i]; p.Old >= 0 && p.New >= 0 {
			n := d.value(was[p.Old], is[p.New], nil)
			differs = differs || n.Changed()
			elements = append(elements, n)
			i++
			continue
		}
		differs = true
		j := i
		for j < len(pairs) && (pairs[j].Old < 0 || pairs[j].New < 0) {
			j++
		}
		elements = append(elements, d.hunk(was, is, pairs[i:j])...)
		i = j
	}
	n := container(ListForm, before, after, differs)
	n.Elements = elements
	return n
}

// hunk compares removed elements with the elements that were added in their place.
func (d *Differ) hunk(was, is []cty.Value, pairs []diff.Pair) []*Node {
	var gone, added []cty.Value
	for _, p := range pairs {
		if p.New < 0 {
			gone = append(gone, was[p.Old])
		} else {
			added = append(added, is[p.New])
		}
	}
	if d.Review {
		out, _ := alike(gone, added, func(old, new int) *Node {
			return d.value(at(gone, old), at(added, new), nil)
		})
		return out
	}
	var out []*Node
	for len(gone) > 0 && len(added) > 0 && isObject(gone[0]) && isObject(added[0]) {
		out = append(out, d.value(gone[0], added[0], nil))
		gone, added = gone[1:], added[1:]
	}
	for _, v := range gone {
		out = append(out, d.value(v, cty.NilVal, nil))
	}
	for _, v := range added {
		out = append(out, d.value(cty.NilVal, v, nil))
	}
	return out
}

// at returns an element of a list, or NilVal if none exists.
func at(list []cty.Value, i int) cty.Value {
	if i < 0 || i >= len(list) {
		return cty.NilVal
	}
	return list[i]
}

func isObject(v cty.Value) bool {
	v, _ = v.Unmark()
	return v.IsKnown() && !v.IsNull() && (v.Type().IsObjectType() || v.Type().IsMapType())
}

// elementKeys returns keys for matching elements. Unknown elements must not match, so their
// keys contain side. Elements that differ only in marks match: if a value becomes sensitive, the old
// element would show it.
func elementKeys(values []cty.Value, side string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(keyOf{unmarked: true}.append(nil, v))
		if !v.IsWhollyKnown() {
			out[i] = side + out[i]
		}
	}
	return out
}

// alignLines aligns the lines of two strings.
func alignLines(old, new []string) []Line {
	var out []Line
	for _, p := range diff.Align(old, new) {
		switch {
		case p.New < 0:
			out = append(out, Line{Action: plans.Delete, Text: old[p.Old]})
		case p.Old < 0:
			out = append(out, Line{Action: plans.Create, Text: new[p.New]})
		default:
			out = append(out, Line{Text: old[p.Old]})
		}
	}
	return out
}
