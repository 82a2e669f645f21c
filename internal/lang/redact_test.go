package lang

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// TestErrorsWithSecrets checks that no error about a sensitive value contains the value or parts of
// it.
func TestErrorsWithSecrets(t *testing.T) {
	secret := cty.StringVal("hunter2 secret").Mark(marks.Sensitive)
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{
			"s": secret,
			"o": cty.ObjectVal(map[string]cty.Value{"list": cty.ListVal([]cty.Value{secret})}),
			"n": cty.NumberIntVal(987654321).Mark(marks.Sensitive),
		},
		Functions: funcs.Table(funcs.Options{}),
	}
	for _, text := range []string{
		`{ for x in ["a", "b"] : s => x }`, `{ for x in concat(o.list, o.list) : x => 1 }`,
		`{ for x in ["a", "b"] : sensitive("hunter3") => x }`, `{ for x in o.list : x => 1 if length(x) > 0 }[sensitive("hunter3")]`,
		`{ for x in ["HUNTER", "HUNTER"] : sensitive(lower(x)) => 1 }`, `{ for x in ["a", "b"] : { k = sensitive("hunter3") }["k"] => x }`,
		`regex("(${s}", "x")`, `timeadd(s, "1h")`, `parseint(s, 10)`, `lookup({}, s)`, `textencodebase64("x", s)`,
		`parseint(sensitive("hunter3"), 10)`, `can(1) ? lookup({}, "${s}x") : 1`, `[for x in ["hunter"] : parseint(sensitive(x), 10)]`,
		`timeadd(jsondecode("[\"hunter\"]")[0] == "" ? "" : sensitive("hunter"), "1h")`, `element(o.list, parseint(upper(o.list[0]), 36))`,
		`tonumber(s)`, `s + 1`, `{}[s]`, `cidrhost("10.0.0.0/24", n)`, `element([], n)`,
	} {
		expr, hclDiags := hclsyntax.ParseExpression([]byte(text), "x.tf", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		_, err := evalIn(ctx, expr, cty.DynamicPseudoType)
		if err == nil {
			t.Errorf("%s: no error", text)
		}
		for _, d := range tfdiags.FromError(err) {
			if strings.Contains(d.Detail, "hunter") || strings.Contains(d.Detail, "98765") {
				t.Errorf("%s: %s", text, d.Detail)
			}
		}
	}
}
