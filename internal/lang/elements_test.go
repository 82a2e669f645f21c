package lang

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/funcs"
)

// TestElementOfLongList checks that expressions that read a long list only with "element" have the
// same results as with the whole list, and that their cost doesn't depend on its length.
func TestElementOfLongList(t *testing.T) {
	functions := funcs.Table(funcs.Options{BaseDir: ".", PureOnly: true})
	list := func(n int) cty.Value {
		all := make([]cty.Value, n)
		for i := range all {
			all[i] = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(fmt.Sprint("id-", i))})
		}
		return cty.TupleVal(all)
	}
	eval := func(t *testing.T, src string, n int) (analyzed *Expr, scope *Scope, result cty.Value) {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		analyzed = Analyze(expr, addrs.ModuleScope)
		scope = &Scope{Functions: functions, Data: &values{objects: map[string]cty.Value{
			"test.whole": list(n), "module.m": list(n), "local.list": list(n),
			"module.outputs": cty.ObjectVal(map[string]cty.Value{"list": list(n)}), "local.i": cty.NumberIntVal(7),
		}}}
		got, err := scope.Eval(analyzed, cty.DynamicPseudoType)
		if err != nil {
			t.Fatal(err)
		}
		return analyzed, scope, got
	}
	for _, src := range []string{
		`element(test.whole, 3).id`,
		`element(test.whole, local.i)`,
		`element(test.whole[*].id, 1000 + local.i)`,
		`[element(test.whole, local.i), element(test.whole, local.i + 1), element(test.whole, 16 + local.i)]`,
		`[for i in [1, 2] : element(test.whole, local.i).id]`,
		`local.i == 8 ? element(test.whole, 0).id : element(test.whole, 1).id`,
		`element(module.m, local.i).id`,
		`element(module.m[*].id, 99)`,
		`element(local.list, local.i + 50).id`,
		`element(module.outputs.list[*].id, local.i)`,
	} {
		t.Run(src, func(t *testing.T) {
			_, _, got := eval(t, src, 33)
			expr, diags := hclsyntax.ParseExpression([]byte(strings.NewReplacer("test.whole", "all", "module.m", "all",
				"local.list", "all", "module.outputs.list", "all").Replace(src)), "t.tf", hcl.InitialPos)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			want, diags := expr.Value(&hcl.EvalContext{Functions: functions, Variables: map[string]cty.Value{
				"all": list(33), "local": cty.ObjectVal(map[string]cty.Value{"i": cty.NumberIntVal(7)}),
			}})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if !got.RawEquals(want) {
				t.Errorf("got %#v; want %#v", got, want)
			}
			allocations := func(n int) float64 {
				analyzed, scope, _ := eval(t, src, n)
				return testing.AllocsPerRun(10, func() { _, _ = scope.Eval(analyzed, cty.DynamicPseudoType) })
			}
			if few, many := allocations(100), allocations(10_000); many > 2*few {
				t.Errorf("%v allocations for 10,000 elements, and %v for 100", many, few)
			}
		})
	}
}
