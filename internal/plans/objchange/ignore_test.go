package objchange

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// TestIgnoreInPlan checks that the prior value replaces what a legacy provider has planned. For
// computed attributes, this happens only if all changes are ignored.
func TestIgnoreInPlan(t *testing.T) {
	object := func(name, size cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": name, "size": size})
	}
	prior := object(cty.StringVal("old"), cty.NumberIntVal(1))
	planned := object(cty.StringVal("new"), cty.UnknownVal(cty.Number))
	for _, test := range []struct {
		name          string
		ignore        Ignore
		planned, want cty.Value
	}{
		{"nothing", Ignore{}, planned, planned},
		{"all", Ignore{All: true}, planned, prior},
		{"one", Ignore{Paths: []hcl.Traversal{{hcl.TraverseAttr{Name: "name"}}}}, planned,
			object(cty.StringVal("old"), cty.UnknownVal(cty.Number))},
		{"nothing planned", Ignore{All: true}, cty.NullVal(prior.Type()), cty.NullVal(prior.Type())},
	} {
		if got := test.ignore.InPlan(prior, test.planned); !got.RawEquals(test.want) {
			t.Errorf("%s: got %#v, want %#v", test.name, got, test.want)
		}
	}
}

// TestIgnoreKeys checks that keys have the type of what they select, whatever the path says.
func TestIgnoreKeys(t *testing.T) {
	text := func(s string) cty.Value { return cty.StringVal(s) }
	object := func(list, tuple, object, in string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{
			"list":   cty.ListVal([]cty.Value{text("same"), text(list)}),
			"tuple":  cty.TupleVal([]cty.Value{text("same"), text(tuple)}),
			"map":    cty.MapVal(map[string]cty.Value{"1": text(object), "a": text("same")}),
			"object": cty.ObjectVal(map[string]cty.Value{"1": text(in)}),
		})
	}
	prior, config := object("old", "old", "old", "old"), object("new", "new", "new", "new")
	for _, key := range []cty.Value{cty.NumberIntVal(1), text("1")} {
		for name, want := range map[string]cty.Value{
			"list":   object("old", "new", "new", "new"),
			"tuple":  object("new", "old", "new", "new"),
			"map":    object("new", "new", "old", "new"),
			"object": object("new", "new", "new", "old"),
		} {
			ignore := Ignore{Paths: []hcl.Traversal{{hcl.TraverseAttr{Name: name}, hcl.TraverseIndex{Key: key}}}}
			if got := ignore.InConfig(nil, prior, config); !got.RawEquals(want) {
				t.Errorf("%s[%#v]: got %#v", name, key, got)
			}
		}
	}
	for _, key := range []cty.Value{text("x"), cty.NumberFloatVal(0.5), cty.NumberIntVal(7)} {
		ignore := Ignore{Paths: []hcl.Traversal{{hcl.TraverseAttr{Name: "list"}, hcl.TraverseIndex{Key: key}}}}
		if got := ignore.InConfig(nil, prior, config); !got.RawEquals(config) {
			t.Errorf("list[%#v]: got %#v", key, got)
		}
	}
}
