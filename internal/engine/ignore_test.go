package engine

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
)

// TestIgnoreInPlan: what a provider of the older kind planned is put right wherever changes are to be ignored, computed attributes
// included when all are.
func TestIgnoreInPlan(t *testing.T) {
	object := func(name, size cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": name, "size": size})
	}
	prior := object(cty.StringVal("old"), cty.NumberIntVal(1))
	planned := object(cty.StringVal("new"), cty.UnknownVal(cty.Number))
	for _, test := range []struct {
		name          string
		cfg           configs.Resource
		planned, want cty.Value
	}{
		{"nothing", configs.Resource{}, planned, planned},
		{"all", configs.Resource{IgnoreAll: true}, planned, prior},
		{"one", configs.Resource{IgnoreChanges: []hcl.Traversal{{hcl.TraverseAttr{Name: "name"}}}}, planned,
			object(cty.StringVal("old"), cty.UnknownVal(cty.Number))},
		{"nothing planned", configs.Resource{IgnoreAll: true}, cty.NullVal(prior.Type()), cty.NullVal(prior.Type())},
	} {
		if got := ignoreInPlan(&test.cfg, prior, test.planned); !got.RawEquals(test.want) {
			t.Errorf("%s: got %#v, want %#v", test.name, got, test.want)
		}
	}
}
