package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
)

// FuzzFinder compares the references found with those found by HCL's own walk.
func FuzzFinder(f *testing.F) {
	for _, src := range []string{
		`a.b.c[0]`, `a[b.c]["d"]`, `"x${a.b}-${upper(var.x)}"`, `"${a}"`, `(a.b)`, `[a, b[*].c, d.*.e]`,
		`{ a = b, (c) = d, "${e}" = f, g.h = i }`,
		`f(a, provider::p::g(b, provider::p::x::h(c))...)`, `provider::p(a)`, `a ? b : provider::p::f(c)`,
		`!a && -b > 1 + c`,
		`[for k, v in a : provider::p::f(v, k, b) if v != c]`,
		`{ for v in a : v.x => [for w in v : { x = w, y = b }]... }`,
		`f([for v in a : "${v}${b}"])`,
		`<<E` + "\n${a}%{ if b }c%{ else }${provider::p::f(d)}%{ endif }%{ for x in e }${x}${g}%{ endfor }\nE\n",
		`a.b["${c}"].d`, `null`,
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
		funcs.VisitCallsInNode(expr, calls.call)
		if diff := cmp.Diff(places(expr.Variables()), places(got.variables)); diff != "" {
			t.Errorf("%s: variables (-HCL +got):\n%s", src, diff)
		}
		if diff := cmp.Diff(calls.functions, got.functions); diff != "" {
			t.Errorf("%s: calls (-HCL +got):\n%s", src, diff)
		}
		if len(calls.errs) != len(got.errs) {
			t.Errorf("%s: errors %v, want %v", src, got.errs, calls.errs)
		}
	})
}

// TestCallsInJSON checks that provider functions are found in all strings of a JSON expression,
// with the correct line.
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

// TestTypeConstraints checks that the words of type constraints are not found as references
// anywhere in a body.
func TestTypeConstraints(t *testing.T) {
	native, diags := hclsyntax.ParseConfig([]byte(`
v = [for x in var.a : convert(x, list(string))]
dynamic "b" {
  for_each = convert(var.b, set(string))
  content {
    v = core::convert(b.value, object({ n = optional(number, 1), o = any }))
  }
}
b {
  v = "${convert(number.c, number)}"
}`), "t.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	inJSON, diags := json.Parse([]byte(`{
  "v": "${[for x in var.a : convert(x, list(string))]}",
  "dynamic": {"b": {"for_each": "${convert(var.b, set(string))}", "content": {"v": "${convert(b.value, number)}"}}},
  "b": {"v": "${convert(number.c, number)}"}
}`), "t.tf.json")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	attr := map[string]*configschema.Attribute{"v": {Type: cty.DynamicPseudoType, Optional: true}}
	schema := &configschema.Block{
		Attributes: attr,
		BlockTypes: map[string]*configschema.NestedBlock{
			"b": {Nesting: configschema.NestingList, Block: configschema.Block{Attributes: attr}},
		},
	}
	for name, body := range map[string]hcl.Body{"native": native.Body, "JSON": inJSON.Body} {
		refs := AnalyzeBody(body, schema, addrs.ModuleScope).Refs
		if refs.Problems.HasErrors() {
			t.Errorf("%s: %v", name, refs.Problems)
		}
		got := []string{}
		for _, ref := range refs.Objects {
			got = append(got, ref.Subject.String())
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"number.c", "var.a", "var.b"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestComputedIndexes checks which references select instances by a computed index.
func TestComputedIndexes(t *testing.T) {
	for src, want := range map[string]string{
		`v = a.b[count.index].id`:                           "a.b count.index",
		`v = "${a.b[each.value.x]}-${a.b[0].id}"`:           "a.b each.value.x 0",
		`v = try(resource.a.b[local.k[each.key]].id, null)`: "a.b local.k[each.key]",
		`v = var.x ? a.b[var.y].id : -data.c.d[1 + count.index].id`: "a.b (var.x = true) var.y, " +
			"data.c.d (var.x = false) 1 + count.index",
		`v = a.b[a.b[count.index].next].id`:                    "a.b a.b[count.index].next count.index",
		`v = a.b[count.index].id == a.b.id`:                    "", // also refers to the whole resource
		`v = length(a.b) + a.b[count.index].n`:                 "",
		`v = a.b[*].id[count.index]`:                           "",
		`v = [for i in range(3) : a.b[i].id]`:                  "a.b (in range(3)) i",
		`v = { for k, v in var.x : k => a.b[v].id if v != k }`: "a.b (in var.x) (v != k = true) v",
		`v = [for x in var.x : [for y in x.z : y == "" ? 1 : a.b["${x.p}-${y}"].id]]`: "a.b (in var.x) (in x.z) " +
			`(y == "" = false) "${x.p}-${y}"`,
		`v = var.n ? [] : [for k in var.x : a.b[k].id]`:                                              "a.b (var.n = false) (in var.x) k",
		"v = \"%{for k in var.x}${a.b[k].id},%{endfor}\"":                                            "a.b (in var.x) k",
		`v = [for k in var.x : a.b[each.key].id if k]`:                                               "a.b each.key", // doesn't use k
		`v = [for k in var.x : k ? a.b[0].id : 1]`:                                                   "a.b 0",
		`v = [for k in a.b[0].x : a.b[k].id]`:                                                        "a.b 0 (in a.b[0].x) k",
		`v = [for k, v in a.b : a.b[k].id]`:                                                          "", // also refers to the whole resource
		`v = [for k in a.b : k.id]`:                                                                  "",
		`v = [for k in self.x : a.b[k].id]`:                                                          "",
		`v = [for a in var.x : a.b[0].id]`:                                                           "", // a is not a resource type
		`v = element(a.b, count.index).id`:                                                           "a.b count.index",
		`v = element(a.b[*].id, count.index + 1)`:                                                    "a.b count.index + 1",
		`v = core::element(a.b.*.id, count.index)`:                                                   "a.b count.index",
		`v = a.b.*.id[count.index]`:                                                                  "a.b count.index",
		`v = "${a.b.*.c.d[0]}-${a.b.*.id[var.i]}"`:                                                   "a.b [0] var.i",
		`v = a.b.*.id[0] == a.b[0].id`:                                                               "", // needs a list and an object
		`v = a.b.*.id[0] == element(a.b, 0).id`:                                                      "", // needs two lists
		`v = [for i in var.x : a.b.*.id[i]]`:                                                         "",
		`v = lookup(a.b, each.key, null).id`:                                                         "a.b each.key",
		`v = lookup(a.b[*].id, each.key)`:                                                            "",
		`v = values(a.b)[count.index].id`:                                                            "a.b count.index",
		`v = (values(a.b).*.id)[1]`:                                                                  "a.b [1]",
		`v = (a.b)["x"].id == (a.b)[count.index].id`:                                                 "a.b [\"x\"] count.index",
		`v = values(a.b)[0].id == a.b.*.id[0]`:                                                       "",
		`v = values(a.b)[0].id == element(values(a.b), 1).id`:                                        "",
		`v = [for i in var.x : element(a.b, i).id]`:                                                  "",
		`v = element(a.b, 1).id == a.b[count.index].id`:                                              "", // "element" needs the whole list
		`v = element(a.b, 1).id == element(a.b[*].id, count.index)`:                                  "a.b 1 count.index",
		`v = element([a.b[0].id, a.b[1].id], count.index)`:                                           "a.b 0 1",
		`v = a.b[self.x].id`:                                                                         "",
		`v = a.b[x].id`:                                                                              "", // x is not a reference
		`v = [for i in a.b[count.index].list : i.id]`:                                                "a.b count.index",
		`v = a.b[each.key].list[*].id`:                                                               "a.b each.key",
		`v = var.x ? a.b[0].id : 1`:                                                                  "a.b (var.x = true) 0",
		`v = var.x ? 1 : "${var.y ? a.b[var.z].id : ""}"`:                                            "a.b (var.x = false) (var.y = true) var.z",
		`v = self.x ? a.b[0].id : 1`:                                                                 "a.b 0",
		`v = a.b[0].x ? 1 : 2`:                                                                       "a.b 0",
		`v = a.b.c[count.index].id`:                                                                  "",
		"dynamic \"b\" {\n for_each = var.x\n content {\n v = a.b[each.key].id\n }\n}":               "a.b each.key",
		"dynamic \"b\" {\n for_each = var.x\n content {\n v = a.b[b.value].id\n }\n}":                "a.b (in var.x) b.value",
		"dynamic \"b\" {\n for_each = var.x\n iterator = it\n content {\n v = a.b[it.key].id\n }\n}": "a.b (in var.x) it.key",
		"dynamic \"b\" {\n for_each = var.x\n content {\n v = [for k in [1] : a.b[k.v].id]\n }\n}":   "a.b (in var.x) (in [1]) k.v",
		"v = a.b[var.x].id\ndynamic \"b\" {\n for_each = a.b\n content {\n v = 1\n }\n}":             "",
	} {
		file, diags := hclsyntax.ParseConfig([]byte(src+"\n"), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(src, diags)
		}
		attr := map[string]*configschema.Attribute{"v": {Type: cty.DynamicPseudoType, Optional: true}}
		refs := AnalyzeBody(file.Body, &configschema.Block{Attributes: attr,
			BlockTypes: map[string]*configschema.NestedBlock{
				"b": {Nesting: configschema.NestingList, Block: configschema.Block{Attributes: attr}},
			}}, addrs.ModuleScope).Refs
		var got []string
		seen := map[addrs.Resource]bool{}
		for _, ref := range refs.Objects {
			r, ok := ref.Whole().(addrs.Resource)
			of, only := refs.ByInstance(r)
			if !ok || !only || seen[r] {
				continue
			}
			seen[r] = true
			text := r.String()
			for _, one := range of {
				text += surroundings(src, one)
				text += " " + indexText(src, one)
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: got %q; want %q", src, got, want)
		}
	}
}

// TestModuleInstances checks which references select instances of module calls, and which outputs
// they use.
func TestModuleInstances(t *testing.T) {
	for src, want := range map[string]string{
		`module.m[each.key].x`:                           "m each.key.x",
		`"${module.m[local.k].x.y}-${module.m["a"].z}"`:  `m local.k.x "a".z`,
		`module.m[each.key]`:                             "m each.key.",
		`var.x ? module.m[each.key].x : module.m["b"].y`: `m (var.x = true) each.key.x (var.x = false) "b".y`,
		`[module.m[0].x, module.n[count.index][0].y]`:    "m 0.x, n count.index.",
		`[module.m[each.key].x, module.m]`:               "", // also refers to the whole module call
		`module.m.x`:                                     "",
		`module.m[*].x`:                                  "",
		`[for k in ["a"] : module.m[k].x]`:               `m (in ["a"]) k.x`,
		`values(module.m)[count.index].x`:                "m count.index.x",
		`(values(module.m))[1].x.y`:                      "m [1].x",
		`element(module.m[*].x, 1)`:                      "m 1.x",
		`element(module.m, count.index).x`:               "m count.index.x",
		`module.m.*.x[count.index]`:                      "m count.index.x",
		`module.m.*.x.y[0]`:                              "m [0].x",
		`lookup(module.m, "a", null)`:                    `m "a".`,
		`module.m[self.x].x`:                             "",
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(src, diags)
		}
		refs := Analyze(expr, addrs.ModuleScope).Refs
		var got []string
		for call, of := range refs.InstanceCalls() {
			text := call
			for _, one := range of {
				text += surroundings(src, one)
				text += " " + indexText(src, one) + "." + one.Output
			}
			got = append(got, text)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: got %q; want %q", src, got, want)
		}
	}
}

// TestRest checks what follows the object or the instances of the first reference in an expression, and what
// follows its element if it is a value.
func TestRest(t *testing.T) {
	for src, want := range map[string]string{
		`a.b.id.x`:                    ".id.x .x",
		`a.b["k"].id`:                 ".id ",
		`a.b[each.key].id.x`:          ".id .id",
		`a.b[*].id`:                   ".id .id",
		`element(a.b[*].id, 1)`:       ".id .id",
		`values(a.b)[*].id`:           ".id .id",
		`a.b.list[*].id`:              ".list ",
		`module.m[local.k].out`:       ".out .out",
		`module.m.*.out[0]`:           ".out .out",
		`local.x["k"].id`:             `["k"].id .id`,
		`local.x[local.k].id`:         ".id .id",
		`lookup(local.x, each.key).y`: ".y .y",
		`[for o in a.b : o.id]`:       " ",
	} {
		expr, diags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(src, diags)
		}
		refs := Analyze(expr, addrs.ModuleScope).Refs
		rest, _ := addrs.StepsText(refs.Rest(refs.Objects[0]))
		after, _ := addrs.StepsText(refs.AfterElement(refs.Objects[0]))
		if got := rest + " " + after; got != want {
			t.Errorf("%s: got %q; want %q", src, got, want)
		}
	}
}

// indexText returns the index of a reference as the source has it, or its key.
func indexText(src string, ref InstanceRef) string {
	if ref.Index == nil {
		return strings.Trim(ref.Key.String(), "[]")
	}
	rng := ref.Index.Range()
	return src[rng.Start.Byte:rng.End.Byte]
}

// surroundings returns the conditions and loops around a reference, from the outside in.
func surroundings(src string, ref InstanceRef) string {
	text := func(e *Expr) string { return src[e.Range().Start.Byte:e.Range().End.Byte] }
	out := ""
	for depth := range len(ref.Loops) + 1 {
		for _, guard := range ref.Guards {
			if guard.depth == depth {
				out += fmt.Sprintf(" (%s = %t)", text(guard.Condition), guard.Holds)
			}
		}
		if depth < len(ref.Loops) {
			out += fmt.Sprintf(" (in %s)", text(ref.Loops[depth].Collection))
		}
	}
	return out
}

func places(traversals []hcl.Traversal) []hcl.Range {
	out := []hcl.Range{}
	for _, tr := range traversals {
		out = append(out, tr.SourceRange())
	}
	return out
}
