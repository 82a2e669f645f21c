package objchange

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// NormalizeFromLegacy replaces null collections of blocks with empty ones, because the legacy SDK
// does not distinguish the two. A value without such nulls is returned unchanged.
func NormalizeFromLegacy(schema *configschema.Block, v cty.Value) cty.Value {
	out, _ := normalObject(schema, v)
	return out
}

// normalObject returns the normalized object and whether it differs from v. Most objects don't, so
// they need not be rebuilt.
func normalObject(schema *configschema.Block, v cty.Value) (cty.Value, bool) {
	if len(schema.BlockTypes) == 0 || v.IsNull() || !v.IsKnown() {
		return v, false
	}
	bare, marks := v.Unmark()
	var vals map[string]cty.Value // created when the first attribute changes
	for name, n := range schema.BlockTypes {
		after, changed := normalBlocks(n, bare.GetAttr(name))
		if !changed {
			continue
		}
		if vals == nil {
			vals = bare.AsValueMap()
		}
		vals[name] = after
	}
	if vals == nil {
		return v, false
	}
	return cty.ObjectVal(vals).WithMarks(marks), true
}

func normalBlocks(n *configschema.NestedBlock, v cty.Value) (cty.Value, bool) {
	bare, marks := v.Unmark()
	changed := false
	switch {
	case bare.IsNull():
		bare = n.Absent()
		changed = !bare.IsNull()
	case !bare.IsKnown() || len(n.BlockTypes) == 0:
	case singular(n.Nesting):
		bare, changed = normalObject(&n.Block, bare)
	case !bare.CanIterateElements():
	case n.Nesting == configschema.NestingMap:
		vals := bare.AsValueMap()
		for key, elem := range vals {
			after, one := normalObject(&n.Block, elem)
			vals[key], changed = after, changed || one
		}
		bare = keyed(vals, bare)
	default:
		vals := bare.AsValueSlice()
		for i, elem := range vals {
			after, one := normalObject(&n.Block, elem)
			vals[i], changed = after, changed || one
		}
		bare = sequence(vals, bare)
	}
	if !changed {
		return v, false
	}
	return bare.WithMarks(marks), true
}
