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
