package lang

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/lazyblock"
)

// TestRelease evaluates released bodies again, those that are parsed when they are needed and others.
func TestRelease(t *testing.T) {
	const src = "resource \"a\" \"b\" {\n  name = \"x${local.n}\"\n}\n"
	schema := &configschema.Block{Attributes: map[string]*configschema.Attribute{"name": {Type: cty.String, Optional: true}}}
	blocks, ok := lazyblock.Blocks([]byte(src), "main.tf", hcl.InitialPos)
	if !ok {
		t.Fatal("the block is not plain")
	}
	file, diags := hclsyntax.ParseConfig([]byte(src), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"local": cty.ObjectVal(map[string]cty.Value{"n": cty.StringVal("y")})}}
	for name, body := range map[string]hcl.Body{"plain": blocks[0].Body, "parsed": file.Body.(*hclsyntax.Body).Blocks[0].Body} {
		b := AnalyzeBody(body, schema, addrs.ModuleScope)
		for range 3 {
			v, err := evalBodyIn(ctx, b)
			if err != nil || v.GetAttr("name").AsString() != "xy" {
				t.Errorf("%s: %#v, %v", name, v, err)
			}
			b.Release()
			if b.prepared.last.Load() != nil {
				t.Errorf("%s: the body was not released", name)
			}
		}
	}
	(*Body)(nil).Release()
}
