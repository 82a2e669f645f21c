package objchange

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// testSchema returns a schema with at least one attribute or block for every rule. The names of
// attributes say what they are: required, optional, optional and computed, computed, sensitive, or
// write-only.
func testSchema() *configschema.Block {
	str := func(a configschema.Attribute) *configschema.Attribute { a.Type = cty.String; return &a }
	content := func() map[string]*configschema.Attribute {
		return map[string]*configschema.Attribute{
			"req":  str(configschema.Attribute{Required: true}),
			"opt":  str(configschema.Attribute{Optional: true}),
			"oc":   str(configschema.Attribute{Optional: true, Computed: true}),
			"comp": str(configschema.Attribute{Computed: true}),
		}
	}
	nested := func(m configschema.NestingMode, computed bool) *configschema.Attribute {
		return &configschema.Attribute{Optional: true, Computed: computed,
			NestedType: &configschema.Object{Nesting: m, Attributes: content()}}
	}
	block := func(m configschema.NestingMode) *configschema.NestedBlock {
		return &configschema.NestedBlock{Nesting: m, Block: configschema.Block{Attributes: content()}}
	}
	attrs := content()
	attrs["secret"] = str(configschema.Attribute{Optional: true, Sensitive: true})
	attrs["wo"] = str(configschema.Attribute{Optional: true, WriteOnly: true})
	attrs["tags"] = &configschema.Attribute{Type: cty.Map(cty.String), Optional: true}
	attrs["names"] = &configschema.Attribute{Type: cty.Set(cty.String), Optional: true}
	attrs["seq"] = &configschema.Attribute{Type: cty.List(cty.String), Optional: true, Computed: true}
	attrs["num"] = &configschema.Attribute{Type: cty.Number, Computed: true}
	attrs["nsingle"] = nested(configschema.NestingSingle, false)
	attrs["nlist"] = nested(configschema.NestingList, false)
	attrs["nmap"] = nested(configschema.NestingMap, false)
	attrs["nset"] = nested(configschema.NestingSet, false)
	attrs["noc"] = nested(configschema.NestingSingle, true)
	deep := block(configschema.NestingList)
	deep.BlockTypes = map[string]*configschema.NestedBlock{"in": block(configschema.NestingList)}
	return &configschema.Block{
		Attributes: attrs,
		BlockTypes: map[string]*configschema.NestedBlock{
			"bsingle": block(configschema.NestingSingle),
			"bgroup":  block(configschema.NestingGroup),
			"blist":   deep,
			"bset":    block(configschema.NestingSet),
			"bmap":    block(configschema.NestingMap),
		},
	}
}

// value returns the object of the test schema that an object expression describes. The expression
// "null" means that there is no object. Omitted attributes are null, and omitted blocks are empty.
// In expressions, `unknown` is an unknown value, `prefixed` is an unknown string that starts with
// "p-", and `hidden` is a marked value.
func value(t testing.TB, schema *configschema.Block, text string) cty.Value {
	t.Helper()
	if text == "null" {
		return cty.NullVal(schema.ImpliedType())
	}
	expr, diags := hclsyntax.ParseExpression([]byte("{"+text+"}"), "", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%s: %s", text, diags)
	}
	v, diags := expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"unknown":  cty.DynamicVal,
		"prefixed": cty.UnknownVal(cty.String).Refine().StringPrefixFull("p-").NotNull().NewValue(),
		"hidden":   cty.StringVal("HIDDEN").Mark("sensitive"),
	}})
	if diags.HasErrors() {
		t.Fatalf("%s: %s", text, diags)
	}
	if _, ok := v.AsValueMap()["req"]; !ok && len(v.AsValueMap()) > 0 {
		vals := v.AsValueMap()
		vals["req"] = cty.StringVal("r")
		v = cty.ObjectVal(vals)
	} else if !ok {
		v = cty.ObjectVal(map[string]cty.Value{"req": cty.StringVal("r")})
	}
	v, err := schema.CoerceValue(v)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// text is the inverse of value. It omits null attributes, empty blocks and the attribute "req",
// which value adds.
func text(v cty.Value) string {
	return strings.TrimSuffix(strings.TrimPrefix(render(v, true), "{"), "}")
}

func render(v cty.Value, top bool) string {
	switch {
	case !v.IsKnown():
		if v.Type() == cty.String && v.Range().StringPrefix() != "" {
			return "prefixed"
		}
		return "unknown"
	case v.IsNull():
		return "null"
	case v.Type() == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case v.Type().IsPrimitiveType():
		return v.GoString()
	}
	var parts []string
	for it := v.ElementIterator(); it.Next(); {
		key, elem := it.Element()
		rendered := render(elem, false)
		if v.Type().IsListType() || v.Type().IsSetType() || v.Type().IsTupleType() {
			parts = append(parts, rendered)
			continue
		}
		name := key.AsString()
		if v.Type().IsObjectType() && (rendered == "null" || rendered == "[]" || rendered == "{}" || top &&
			name == "req" && rendered == `"r"`) {
			continue
		}
		parts = append(parts, name+"="+rendered)
	}
	if v.Type().IsSetType() {
		sort.Strings(parts)
	}
	if v.Type().IsObjectType() || v.Type().IsMapType() {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
