package funcs

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// manyElements holds expressions on collections with many elements.
var manyElements = []string{
	`sort(tuple)`,
	`join(",", tuple)`,
	`distinct(tuple)`,
	`distinct(mixed)`,
	`toset(tuple)`,
	`toset(mixed)`,
	`tolist(objects)`,
	`tomap({for s in tuple : s => length(s) > 3 ? s : 1})`,
	`compact(tuple)`,
	`concat(tuple, tuple)`,
	`flatten([for s in tuple : [s, [s]]])`,
	`setunion(tuple, ["x"])`,
	`setunion([for s in tuple : [s]]...)`,
	`setintersection(tuple, ["1"])`,
	`setsubtract(tuple, ["1"])`,
	`setproduct(tuple, [1, 2])`,
	`chunklist(tuple, 10)`,
	`zipmap(tuple, tuple)`,
	`transpose({a = tuple})`,
	`matchkeys(tuple, tuple, ["1"])`,
	`alltrue([for s in tuple : true])`,
	`convert(objects, list(object({ name = string, at = optional(number) })))`,
}

// collections returns variables with n elements each.
func collections(n int) map[string]cty.Value {
	texts, mixed, objects := make([]cty.Value, n), make([]cty.Value, n), make([]cty.Value, n)
	for i := range n {
		texts[i] = cty.StringVal(strconv.Itoa(i))
		mixed[i] = texts[i]
		objects[i] = cty.ObjectVal(map[string]cty.Value{"name": texts[i], "at": cty.NumberIntVal(int64(i))})
		if i%2 == 0 {
			mixed[i] = cty.NumberIntVal(int64(i))
			objects[i] = cty.ObjectVal(map[string]cty.Value{"name": texts[i], "at": texts[i]})
		}
	}
	return map[string]cty.Value{"tuple": cty.TupleVal(texts), "mixed": cty.TupleVal(mixed),
		"objects": cty.TupleVal(objects)}
}

// TestManyElements would take minutes if the cost were quadratic.
func TestManyElements(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	ctx := &hcl.EvalContext{Functions: Table(Options{}), Variables: collections(30_000)}
	for _, text := range manyElements {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		start := time.Now()
		v, diags := expr.Value(ctx)
		if elapsed := time.Since(start); diags.HasErrors() || !v.IsKnown() || elapsed > 30*time.Second {
			t.Errorf("%s took %s: %v", text, elapsed, diags)
			return
		}
	}
}

func BenchmarkManyElements(b *testing.B) {
	table := Table(Options{})
	for _, text := range manyElements {
		expr, diags := hclsyntax.ParseExpression([]byte(text), "x", hcl.InitialPos)
		if diags.HasErrors() {
			b.Fatal(diags)
		}
		for _, n := range []int{10_000, 50_000, 200_000} {
			ctx := &hcl.EvalContext{Functions: table, Variables: collections(n)}
			b.Run(fmt.Sprintf("%s/%d", text, n), func(b *testing.B) {
				for b.Loop() {
					expr.Value(ctx)
				}
			})
		}
	}
}
