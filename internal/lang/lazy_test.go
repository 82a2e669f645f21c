package lang

import (
	"cmp"
	"reflect"
	"slices"
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
		for _, refs := range []*Refs{&got.Refs, &want.Refs} { // without a schema that fits, in no order
			slices.SortFunc(refs.Objects, func(a, b *addrs.Reference) int {
				return cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte)
			})
		}
		if !reflect.DeepEqual(got.Refs, want.Refs) {
			t.Errorf("%s: references %v, want %v", name, got.Refs, want.Refs)
		}
		ctx := &hcl.EvalContext{}
		value, diags := schema.Decode(got.prepare(), ctx)
		other, wanted := schema.Decode(want.prepare(), ctx)
		if !value.RawEquals(other) || !reflect.DeepEqual(sorted(diags), sorted(wanted)) {
			t.Errorf("%s: decoded to %#v with %v, want %#v with %v", name, value, diags, other, wanted)
		}
	}
}

// sorted sorts diagnostics by their text: arguments are decoded in no order.
func sorted(diags hcl.Diagnostics) hcl.Diagnostics {
	slices.SortFunc(diags, func(a, b *hcl.Diagnostic) int { return cmp.Compare(a.Error(), b.Error()) })
	return diags
}
