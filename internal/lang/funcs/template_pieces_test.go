package funcs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

var templateLines = []string{
	"text\n", "\n", "  indented\n", "a ${x} b\n", "${x}\n", "${~ x ~}\n", "a\n${~ x}\n", "${x ~}\n\n  b\n", "%{ for v in l }\n",
	"%{ for v in l ~}\n", "item ${v}\n", "%{ endfor }\n", "%{ endfor ~}\n", "%{ if x == \"1\" }\n", "%{ else }\n", "%{ endif }\n",
	"%{~ endif ~}\n", "$${x} and %%{ if }\n", "${\"nested ${x}\\n%{ if true }y%{ endif }\"}\n", "${join(\",\",\n  l)}\n", "$ % { }\n",
	"a \\n \"quoted\"\n", "crlf\r\n", "ä\u2028ö\n", "end", "${ /* } */ x }\n", "${x", "%{ for", "%{ unknown }\n",
}

// TestTemplatePieces checks that templates that are parsed in pieces have the same result, or errors
// too.
func TestTemplatePieces(t *testing.T) {
	ctx := &hcl.EvalContext{Functions: Table(Options{}), Variables: map[string]cty.Value{"x": cty.StringVal("1"),
		"v": cty.StringVal("outer"), "l": cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")})}}
	evaluate := func(expr hclsyntax.Expression, diags hcl.Diagnostics) string {
		if diags.HasErrors() {
			return "errors"
		}
		v, diags := expr.Value(ctx)
		return fmt.Sprintf("%#v %v", v, diags)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	cut := 0
	for range 5_000 {
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(templateLines[rng.IntN(len(templateLines)-rng.IntN(4))])
		}
		src := []byte(b.String())
		want := evaluate(hclsyntax.ParseTemplate(src, "t", hcl.InitialPos))
		for _, size := range []int{1, 12} {
			if ends, _ := pieceEnds(src, "t", size); len(ends) > 1 {
				cut++
			}
			if got := evaluate(parseTemplate(src, "t", size)); got != want {
				t.Fatalf("%q in pieces of %d bytes:\ngot  %s\nwant %s", src, size, got, want)
			}
		}
	}
	if cut < 800 {
		t.Errorf("only %d templates were cut", cut)
	}
}

// TestLargeTemplate would take minutes if the cost were quadratic.
func TestLargeTemplate(t *testing.T) {
	src := strings.Repeat("a line with %{ for v in l }${v},%{ endfor } and more\n", 100_000)
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"l": cty.TupleVal([]cty.Value{cty.StringVal("a")})}}
	start := time.Now()
	expr, diags := parseTemplate([]byte(src), "t", pieceSize)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	v, diags := expr.Value(ctx)
	if diags.HasErrors() || !strings.HasSuffix(v.AsString(), "with a, and more\n") {
		t.Fatal(diags)
	}
	if elapsed := time.Since(start); elapsed > 2*time.Minute {
		t.Errorf("it took %s", elapsed)
	}
}
