package lang

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// FuzzFinder holds what is found against HCL's own walk.
func FuzzFinder(f *testing.F) {
	for _, src := range []string{
		`a.b.c[0]`, `a[b.c]["d"]`, `"x${a.b}-${upper(var.x)}"`, `"${a}"`, `(a.b)`, `[a, b[*].c, d.*.e]`, `{ a = b, (c) = d, "${e}" = f, g.h = i }`,
		`f(a, provider::p::g(b, provider::p::x::h(c))...)`, `provider::p(a)`, `a ? b : provider::p::f(c)`, `!a && -b > 1 + c`,
		`[for k, v in a : provider::p::f(v, k, b) if v != c]`, `{ for v in a : v.x => [for w in v : { x = w, y = b }]... }`,
		`f([for v in a : "${v}${b}"])`, `<<E` + "\n${a}%{ if b }c%{ else }${provider::p::f(d)}%{ endif }%{ for x in e }${x}${g}%{ endfor }\nE\n", `a.b["${c}"].d`, `null`,
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			return
		}
		var got, calls finder
		got.inExpr(expr)
		calls.callsInNode(expr)
		if diff := cmp.Diff(places(expr.Variables()), places(got.variables)); diff != "" {
			t.Errorf("%s: names (-HCL +found):\n%s", src, diff)
		}
		if diff := cmp.Diff(calls.functions, got.functions); diff != "" {
			t.Errorf("%s: calls (-HCL +found):\n%s", src, diff)
		}
		if len(calls.diags) != len(got.diags) {
			t.Errorf("%s: problems %v, want %v", src, got.diags, calls.diags)
		}
	})
}

// TestCallsInJSON: provider functions are found in every string of a JSON expression, each at its own line.
func TestCallsInJSON(t *testing.T) {
	file, diags := json.Parse([]byte(`{"v": {
  "a": ["${provider::p::one()}", null, 1],
  "${provider::p::two()}": {"x": "%{ if provider::p::three() }y%{ endif }"},
  "b": "provider::p::none() $${provider::p::none()}",
  "c": "${provider::broken"
}}`), "t.tf.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attrs, diags := file.Body.JustAttributes()
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var f finder
	f.inExpr(attrs["v"].Expr)
	var got []string
	for _, call := range f.functions {
		got = append(got, fmt.Sprint(call.Func.Function, " ", call.Range.Start.Line))
	}
	if diff := cmp.Diff([]string{"one 2", "two 3", "three 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func places(traversals []hcl.Traversal) []hcl.Range {
	out := []hcl.Range{}
	for _, tr := range traversals {
		out = append(out, tr.SourceRange())
	}
	return out
}
