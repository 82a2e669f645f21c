package addrs

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func TestStepsText(t *testing.T) {
	name, index := hcl.TraverseAttr{Name: "a"}, func(v cty.Value) hcl.Traverser { return hcl.TraverseIndex{Key: v} }
	for _, test := range []struct {
		steps hcl.Traversal
		want  string
		ok    bool
	}{
		{nil, "", true},
		{hcl.Traversal{name, index(cty.Zero), name}, ".a[0].a", true},
		{hcl.Traversal{index(cty.StringVal(`x"y`))}, `["x\"y"]`, true},
		{hcl.Traversal{index(cty.NumberFloatVal(1.5)), index(cty.NullVal(cty.String)),
			index(cty.UnknownVal(cty.Number))}, "[1.5][...][...]", true},
		{hcl.Traversal{name, hcl.TraverseSplat{}}, "", false},
	} {
		if got, ok := StepsText(test.steps); got != test.want || ok != test.ok {
			t.Errorf("%#v: got %q, %v; want %q, %v", test.steps, got, ok, test.want, test.ok)
		}
	}
}
