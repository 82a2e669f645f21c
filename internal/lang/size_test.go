package lang

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// TestDoubling checks that a value is rejected if it grows too large when an expression is applied
// to its own result thirty times, and that a value that stays small is accepted.
func TestDoubling(t *testing.T) {
	text := cty.StringVal(strings.Repeat("x", 1<<20))
	for _, test := range []struct {
		expr     string
		start    cty.Value
		tooLarge bool
	}{
		{"[x, x]", text, true},
		{"{ a = x, b = x }", text.Mark("secret"), true},
		{"[x, { a = x, b = null }]", cty.ListVal([]cty.Value{text, cty.UnknownVal(cty.String)}), true},
		{"[x, x]", cty.SetVal([]cty.Value{text}), true},
		{"[x]", text, false},
		{"[x, x][0]", text, false},
	} {
		t.Run(test.expr, func(t *testing.T) {
			expr, diags := hclsyntax.ParseExpression([]byte(test.expr), "x.tf", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			x := test.start
			for range 30 {
				v, err := evalIn(&hcl.EvalContext{Variables: map[string]cty.Value{"x": x}}, expr,
					cty.DynamicPseudoType)
				if err != nil {
					checkTooLarge(t, err, test.tooLarge)
					return
				}
				x = v
			}
			if test.tooLarge {
				t.Error("no error")
			}
		})
	}
}

func checkTooLarge(t *testing.T, err error, tooLarge bool) {
	t.Helper()
	if !tooLarge || !strings.HasPrefix(err.Error(), "x.tf:1: Value too large") {
		t.Error(err)
	}
}
