package lang

import (
	"reflect"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/lazyblock"
)

// TestAnalyzeLazyBody checks that a body that isn't parsed yet has the references of the parsed one,
// and the same value, also if the schema doesn't allow what is in it.
func TestAnalyzeLazyBody(t *testing.T) {
	const src = `resource "a" "b" {
  x = { k = local.a, "${var.v}" = [data.d.e["k"].f, path.module] }
  y = "${each.key}-${module.m[0].o} ${wrong.x}"
}
`
	schemaOf := func(names ...string) *configschema.Block {
		out := configschema.Empty()
		out.Attributes = map[string]*configschema.Attribute{}
		for _, name := range names {
			out.Attributes[name] = &configschema.Attribute{Type: cty.DynamicPseudoType, Optional: true}
		}
		return out
	}
	required := schemaOf("x", "y")
	required.Attributes["z"] = &configschema.Attribute{Type: cty.String, Required: true}
	for name, schema := range map[string]*configschema.Block{
		"allowed": schemaOf("x", "y", "z"), "unsupported argument": schemaOf("x"), "missing argument": required,
	} {
		blocks, ok := lazyblock.Blocks([]byte(src), "main.tf", hcl.InitialPos)
		if !ok {
			t.Fatal("the block is not accepted")
		}
		got := AnalyzeBody(blocks[0].Body, schema, addrs.ModuleScope)
		blocks, _ = lazyblock.Blocks([]byte(src), "main.tf", hcl.InitialPos)
		native, _ := lazyblock.Native(blocks[0].Body)
		want := AnalyzeBody(native, schema, addrs.ModuleScope)
		if !reflect.DeepEqual(got.Refs, want.Refs) {
			t.Errorf("%s: references %v, want %v", name, got.Refs, want.Refs)
		}
		ctx := &hcl.EvalContext{}
		value, diags := schema.Decode(got.prepared(), ctx)
		other, wanted := schema.Decode(want.prepared(), ctx)
		if !value.RawEquals(other) || !reflect.DeepEqual(diags, wanted) {
			t.Errorf("%s: decoded to %#v with %v, want %#v with %v", name, value, diags, other, wanted)
		}
	}
}
