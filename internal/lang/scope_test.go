package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// values is a Data that has fixed values by address and logs the requests.
type values struct {
	objects map[string]cty.Value
	log     []string
}

func (d *values) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	d.log = append(d.log, subject.String())
	v, ok := d.objects[subject.String()]
	if !ok {
		return cty.DynamicVal, tfdiags.Errorf("Missing object", "There is no %s.", subject).At(rng)
	}
	return v, nil
}

func (d *values) Instances(subject addrs.Referenceable, of Instances) (cty.Value, bool) {
	r, ok := subject.(addrs.Resource)
	if !ok || r.Name == "whole" {
		return cty.NilVal, false
	}
	var keys []addrs.InstanceKey
	for _, one := range of {
		keys = append(keys, one.Key)
	}
	d.log = append(d.log, fmt.Sprint(r, " instances ", keys))
	out := map[string]cty.Value{}
	for _, key := range keys {
		if s, ok := key.IsString(); ok {
			out[s] = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("id-" + s)})
		}
	}
	return cty.ObjectVal(out), true
}

func (d *values) Module(call string, use CallUse) (cty.Value, error) {
	request := fmt.Sprint("module.", call, " outputs ", use.Outputs)
	if use.Keyless {
		request += " keyless"
	}
	d.log = append(d.log, request)
	return d.objects["module."+call], nil
}

func (d *values) Function(ref addrs.ProviderFunction, rng hcl.Range) (function.Function, error) {
	d.log = append(d.log, ref.String())
	if ref.Function != "upper" {
		return function.Function{}, tfdiags.Errorf("Missing function", "There is no %s.", ref).At(rng)
	}
	return stdlib.UpperFunc, nil
}

func newValues() *values {
	object := func(id string) cty.Value { return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)}) }
	return &values{objects: map[string]cty.Value{
		"var.name":             cty.StringVal("x"),
		"var.secret":           cty.StringVal("hidden").Mark(marks.Sensitive),
		"local.list":           cty.TupleVal([]cty.Value{cty.NumberIntVal(1), cty.NumberIntVal(2)}),
		"each.key":             cty.StringVal("k"),
		"self":                 object("me"),
		"path.module":          cty.StringVal("."),
		"lab_object.a":         object("a"),
		"lab_object.whole":     cty.ObjectVal(map[string]cty.Value{"k": object("whole-k")}),
		"data.lab_object.a":    object("data-a"),
		"ephemeral.lab_file.a": object("ephemeral-a"),
		"module.net":           object("net"),
	}}
}

func TestEvalExpr(t *testing.T) {
	for _, test := range []struct {
		expr string
		want cty.Value // expected value; cty.NilVal if there is an error
		log  string    // expected requests, or the summary of the error
	}{
		{`"a"`, cty.StringVal("a"), ""},
		{`var.name`, cty.StringVal("x"), "var.name"},
		{`"${var.name}-${var.name}"`, cty.StringVal("x-x"), "var.name"},
		{`upper(var.secret)`, cty.StringVal("HIDDEN").Mark(marks.Sensitive), "var.secret"},
		{`local.list[1]`, cty.StringVal("2"), "local.list"},
		{`[for i in local.list : i * 2][0]`, cty.StringVal("2"), "local.list"},
		{`each.key`, cty.StringVal("k"), "each.key"},
		{`self.id`, cty.StringVal("me"), "self"},
		{`lab_object.a.id`, cty.StringVal("a"), "lab_object.a"},
		{`resource.lab_object.a.id`, cty.StringVal("a"), "lab_object.a"},
		{`"${lab_object.a.id}${data.lab_object.a.id}"`, cty.StringVal("adata-a"), "lab_object.a, data.lab_object.a"},
		{`ephemeral.lab_file.a.id`, cty.StringVal("ephemeral-a"), "ephemeral.lab_file.a"},
		{`lab_object.many["k"].id`, cty.StringVal("id-k"), `lab_object.many instances [["k"]]`},
		{
			`"${lab_object.many["k"].id}${lab_object.many["l"].id}"`, cty.StringVal("id-kid-l"),
			`lab_object.many instances [["k"] ["l"]]`,
		},
		{`lab_object.whole["k"].id`, cty.StringVal("whole-k"), "lab_object.whole"},
		{`module.net.id`, cty.StringVal("net"), "module.net outputs [id] keyless"},
		{`[module.net.id, module.net][0]`, cty.StringVal("net"), "module.net outputs [] keyless"},
		{`provider::lab::upper(var.name)`, cty.StringVal("X"), "var.name, provider::lab::upper"},
		{`var.missing`, cty.NilVal, "Missing object"},
		{`provider::lab::lower(var.name)`, cty.NilVal, "Missing function"},
		{`provider::lab(var.name)`, cty.NilVal, "Invalid function format"},
		{`lab_object.a.missing`, cty.NilVal, "Unsupported attribute"},
		{`lab_object`, cty.NilVal, "Invalid reference"},
		{`local.list`, cty.NilVal, "Incorrect value type"},
	} {
		expr, hclDiags := hclsyntax.ParseExpression([]byte(test.expr), "t.tf", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		data := newValues()
		scope := &Scope{Data: data, Functions: funcs.Table(funcs.Options{})}
		got, err := scope.EvalExpr(expr, cty.String)
		if test.want == cty.NilVal {
			if err == nil || !strings.HasPrefix(err.Error(), "t.tf:1: "+test.log) {
				t.Errorf("%s: got %#v, %v; want the error %q", test.expr, got, err, test.log)
			}
			continue
		}
		if err != nil || !got.RawEquals(test.want) {
			t.Errorf("%s: got %#v, %v; want %#v", test.expr, got, err, test.want)
		}
		if log := strings.Join(data.log, ", "); log != test.log {
			t.Errorf("%s: requested %s, want %s", test.expr, log, test.log)
		}
	}
}

var dynamicSchema = &configschema.Block{
	Attributes: map[string]*configschema.Attribute{"v": {Type: cty.String, Optional: true}},
	BlockTypes: map[string]*configschema.NestedBlock{
		"b": {Nesting: configschema.NestingList, Block: configschema.Block{
			Attributes: map[string]*configschema.Attribute{"v": {Type: cty.String, Optional: true}},
		}},
	},
}

// TestExpanded checks that references in the content of dynamic blocks without iterations are
// dropped.
func TestExpanded(t *testing.T) {
	const source = `
v = var.name
dynamic "b" {
  for_each = local.list
  content { v = lab_object.used.id }
}
dynamic "b" {
  for_each = []
  content { v = lab_object.unused.id }
}
`
	file, hclDiags := hclsyntax.ParseConfig([]byte(source), "t.tf", hcl.InitialPos)
	if hclDiags.HasErrors() {
		t.Fatal(hclDiags)
	}
	body := AnalyzeBody(file.Body, dynamicSchema, addrs.ModuleScope)
	subjects := func(b *Body) []string {
		var out []string
		for _, ref := range b.Refs.Objects {
			out = append(out, ref.Subject.String())
		}
		slices.Sort(out)
		return out
	}
	all := []string{"lab_object.unused", "lab_object.used", "local.list", "var.name"}
	if diff := cmp.Diff(all, subjects(body)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
	inContent := body.InContent()
	unsure := func(ref *addrs.Reference) bool { return inContent[ref.Range.Start] }
	if n := len(inContent); n != 2 {
		t.Errorf("%d references in content, want 2", n)
	}
	scope := &Scope{Data: newValues()}
	expanded, err := scope.Expanded(body, unsure)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lab_object.used", "local.list", "var.name"}, subjects(expanded)); diff != "" {
		t.Errorf("expanded references (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(all, subjects(body)); diff != "" {
		t.Errorf("the original body changed (-want +got):\n%s", diff)
	}
}

func TestEvalBody(t *testing.T) {
	for _, test := range []struct {
		source string
		want   string // expected value as text, or the summary of the error
	}{
		{`v = var.name`, `v=x b=[]`},
		{"v = local.list[0]\nb {\n v = var.name\n}\nb {}", `v=1 b=[x null]`},
		{"dynamic \"b\" {\n for_each = local.list\n content {\n v = b.value\n }\n}", `v=null b=[1 2]`},
		{`v = []`, "Incorrect attribute value type"},
		{`v = var.missing`, "Missing object"},
		{`w = 1`, "Unsupported argument"},
	} {
		file, hclDiags := hclsyntax.ParseConfig([]byte(test.source), "t.tf", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		scope := &Scope{Data: newValues()}
		v, err := scope.EvalBody(AnalyzeBody(file.Body, dynamicSchema, addrs.ModuleScope))
		got := bodyText(v)
		if err != nil {
			got = tfdiags.FromError(err)[0].Summary
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.source, got, test.want)
		}
	}
}

// bodyText formats a known value of dynamicSchema.
func bodyText(v cty.Value) string {
	text := func(v cty.Value) string {
		v = v.GetAttr("v")
		if v.IsNull() {
			return "null"
		}
		return v.AsString()
	}
	if !v.IsWhollyKnown() {
		return "unknown"
	}
	blocks := []string{}
	for _, b := range v.GetAttr("b").AsValueSlice() {
		blocks = append(blocks, text(b))
	}
	return fmt.Sprintf("v=%s b=%s", text(v), blocks)
}

// TestSuggestions checks that errors in a body suggest the names of meta-arguments, although these
// are no longer in the body.
func TestSuggestions(t *testing.T) {
	file, hclDiags := hclsyntax.ParseConfig([]byte(`for_eech = 1`), "t.tf", hcl.InitialPos)
	if hclDiags.HasErrors() {
		t.Fatal(hclDiags)
	}
	body := AnalyzeBody(file.Body, dynamicSchema, addrs.ModuleScope)
	scope := &Scope{Data: newValues()}
	if _, err := scope.EvalBody(body); err == nil || strings.Contains(err.Error(), "for_each") {
		t.Errorf("without meta-arguments: %v", err)
	}
	body.Meta = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "for_each"}}}
	_, err := scope.EvalBody(body)
	if len(tfdiags.FromError(err)) != 1 || !strings.Contains(err.Error(), `Did you mean "for_each"?`) {
		t.Errorf("with meta-arguments: %v", err)
	}
}

func TestAdd(t *testing.T) {
	parse := func(src string) Refs {
		expr, hclDiags := hclsyntax.ParseExpression([]byte(src), "t.tf", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		return Analyze(expr, addrs.ModuleScope).Refs
	}
	refs := parse(`lab_object.many["k"]`)
	refs.Add(parse(`[resource.lab_object.many["l"], lab_object.other["k"], provider::lab::upper("")]`))
	many := addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: "many"}
	of, only := refs.ByInstance(many)
	if !refs.longForm || !only || len(of) != 2 || of.Computed() || len(refs.Functions) != 1 || len(refs.Objects) != 3 {
		t.Errorf("got %+v", refs)
	}
	refs.Add(parse(`lab_object.many[count.index]`))
	if of, only := refs.ByInstance(many); !only || len(of) != 3 || !of.Computed() {
		t.Errorf("with a computed index: %+v", of)
	}
	refs.Add(parse(`[local.v[each.key], local.v["a"]]`))
	refs.Add(parse(`local.v[count.index]`))
	value := addrs.LocalValue{Name: "v"}
	if of, only := refs.ValueInstances(value); !only || len(of) != 3 || of[2].Index == nil {
		t.Errorf("elements of a value: %+v", of)
	}
	last := refs.Objects[slices.IndexFunc(refs.Objects, func(ref *addrs.Reference) bool {
		one, ok := refs.Element(ref)
		return ok && ref.Subject == value && one.Index != nil
	})]
	alone := refs.Only(last)
	if of, only := alone.ValueInstances(value); !only || len(of) != 1 || of[0].Index == nil {
		t.Errorf("elements of a value, one reference: %+v", of)
	}
	refs.Add(parse(`lab_object.many`))
	if of, only := refs.ByInstance(many); only {
		t.Errorf("instances of a whole resource: %+v", of)
	}
	if Analyze(nil, addrs.ModuleScope) != nil {
		t.Error("Analyze(nil) is not nil")
	}
	if refs := DependsOn([]hcl.Traversal{{hcl.TraverseRoot{Name: "lab_object"},
		hcl.TraverseAttr{Name: "a"}}}); len(refs.Objects) != 1 {
		t.Errorf("depends_on: %+v", refs)
	}
}
