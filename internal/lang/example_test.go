package lang_test

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// variables provides the values of input variables. Other methods of Data are not called here.
type variables struct {
	lang.Data
	values map[string]cty.Value
}

func (v variables) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	value, ok := v.values[subject.(addrs.InputVariable).Name]
	if !ok {
		return cty.DynamicVal, tfdiags.Errorf("Undeclared variable", "%s is not declared.", subject).At(rng)
	}
	return value, nil
}

// An expression is analyzed once and evaluated any number of times.
func Example() {
	parsed, _ := hclsyntax.ParseExpression([]byte(`upper("${var.name}-a")`), "example", hcl.InitialPos)
	expr := lang.Analyze(parsed, addrs.ModuleScope)
	for _, name := range []string{"web", "db"} {
		scope := &lang.Scope{
			Data:      variables{values: map[string]cty.Value{"name": cty.StringVal(name)}},
			Functions: funcs.Table(funcs.Options{}),
		}
		v, err := scope.Eval(expr, cty.String)
		fmt.Println(v.AsString(), err != nil)
	}
	// Output:
	// WEB-A false
	// DB-A false
}
