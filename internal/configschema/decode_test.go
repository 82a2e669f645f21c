package configschema

import (
	"sort"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"
)

func parse(t *testing.T, src string) hcl.Body {
	t.Helper()
	body, err := parseBody(src)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func parseBody(src string) (hcl.Body, error) {
	if strings.HasPrefix(src, "{") {
		f, diags := json.Parse([]byte(src), "t.tf.json")
		if diags.HasErrors() {
			return nil, diags
		}
		return f.Body, nil
	}
	f, diags := hclsyntax.ParseConfig([]byte(src), "t.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	return f.Body, nil
}

var evalCtx = &hcl.EvalContext{Variables: map[string]cty.Value{
	"two":     cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b")}),
	"none":    cty.ListValEmpty(cty.String),
	"unknown": cty.UnknownVal(cty.List(cty.String)),
	"v":       cty.StringVal("val"),
}}

func TestDecodeConforms(t *testing.T) {
	b := sample()
	b.BlockTypes["deep"] = &NestedBlock{Nesting: NestingList, Block: Block{Attributes: map[string]*Attribute{
		"settings": {Optional: true, NestedType: b.Attributes["settings"].NestedType},
	}}}
	for _, src := range []string{
		`name = "n"`,
		"name = 1\nlist {\n port = 1\n}\nmap \"k\" {\n port = 2\n}\ngroup {\n any = 1\n}",
		"name = v\ntuple {\n any = 1\n}\ntuple {\n any = \"x\"\n}\nobject \"k\" {\n any = []\n}",
		"name = v\nsettings = [{ key = \"a\" }]\ndeep {\n}",
		"name = v\ndynamic \"set\" {\n for_each = two\n content {\n  port = set.key\n }\n}",
		"name = v\ndynamic \"list\" {\n for_each = unknown\n content {\n  port = 1\n }\n}",
	} {
		v, diags := b.Decode(parse(t, src), evalCtx)
		if diags.HasErrors() {
			t.Errorf("%s\n%s", src, diags.Error())
		}
		if errs := v.Type().TestConformance(b.ImpliedType()); len(errs) > 0 {
			t.Errorf("%s\ndoesn't conform: %v", src, errs)
		}
		prepared := b.Prepare(parse(t, src))
		if again, diags := b.Decode(prepared, evalCtx); diags.HasErrors() || !again.RawEquals(v) {
			t.Errorf("%s\nprepared: %#v %v", src, again, diags)
		}
		if _, taken := prepared.(preparedBody); taken == strings.Contains(src, "{\n") {
			t.Errorf("%s\nprepared as %v", src, taken)
		}
	}
	// These sources have errors in the body or in values.
	for _, src := range []string{"", "name = v\nunheard = 1", `{"name": "x", "dynamic": {}}`, "name = []",
		"name = nothing", "name = v\nsettings = 1"} {
		_, want := b.Decode(parse(t, src), evalCtx)
		if _, got := b.Decode(b.Prepare(parse(t, src)), evalCtx); !want.HasErrors() || got.Error() != want.Error() {
			t.Errorf("%s\ngot diagnostics %[3]v\nwant %[2]v", src, want, got)
		}
	}
	_, diags := b.Decode(parse(t, "name = v\nlist {\n port = 1\n}\nlist {\n port = 1\n}\nlist {\n port = 1\n}"),
		evalCtx)
	if !strings.Contains(diags.Error(), "Too many list blocks") {
		t.Errorf("wrong diagnostics for the number of blocks: %v", diags)
	}
}

// legacySample is a schema with attributes that may be written as blocks.
func legacySample() *Block {
	return &Block{
		Attributes: map[string]*Attribute{
			"example": {Type: cty.List(cty.Object(map[string]cty.Type{
				"foo": cty.String,
				"sub": cty.Set(cty.Object(map[string]cty.Type{"bar": cty.String})),
			})), Optional: true, Computed: true},
		},
		BlockTypes: map[string]*NestedBlock{
			"outer": {Nesting: NestingList, Block: Block{Attributes: map[string]*Attribute{
				"example": {Type: cty.Set(cty.Object(map[string]cty.Type{"foo": cty.String})), Optional: true},
			}}},
		},
	}
}

func TestAttributesAsBlocks(t *testing.T) {
	sub := cty.Object(map[string]cty.Type{"bar": cty.String})
	item := func(foo cty.Value, bars ...string) cty.Value {
		subs := cty.NullVal(cty.Set(sub))
		if len(bars) > 0 {
			var vals []cty.Value
			for _, bar := range bars {
				vals = append(vals, cty.ObjectVal(map[string]cty.Value{"bar": cty.StringVal(bar)}))
			}
			subs = cty.SetVal(vals)
		}
		return cty.ObjectVal(map[string]cty.Value{"foo": foo, "sub": subs})
	}
	listType := legacySample().Attributes["example"].Type
	a, b := cty.StringVal("a"), cty.StringVal("b")
	tests := []struct {
		name, src string
		want      cty.Value
		wantErr   string
	}{
		{"left out", "", cty.NullVal(listType), ""},
		{"blocks", "example {\n foo = \"a\"\n}\nexample {\n foo = \"b\"\n}", cty.ListVal([]cty.Value{item(a), item(b)}),
			""},
		{"nested blocks", "example {\n sub {\n bar = \"x\"\n }\n}",
			cty.ListVal([]cty.Value{item(cty.NullVal(cty.String), "x")}), ""},
		{"nested attribute", "example {\n sub = [{bar = \"x\"}]\n}",
			cty.ListVal([]cty.Value{item(cty.NullVal(cty.String), "x")}), ""},
		{"none", "example = []", cty.ListValEmpty(listType.ElementType()), ""},
		{"expression", "example = [for x in two : {foo = x, sub = null}]", cty.ListVal([]cty.Value{item(a), item(b)}),
			""},
		{"dynamic", "dynamic \"example\" {\n for_each = two\n content {\n foo = example.value\n }\n}",
			cty.ListVal([]cty.Value{item(a), item(b)}), ""},
		{"dynamic over nothing", "dynamic \"example\" {\n for_each = none\n content {\n foo = example.value\n }\n}",
			cty.NullVal(listType), ""},
		{"dynamic over unknown", "dynamic \"example\" {\n for_each = unknown\n content {\n foo = example.value\n }\n}",
			cty.ListVal([]cty.Value{item(cty.UnknownVal(cty.String))}), ""},
		{"json", `{"example": [{"foo": "a", "sub": null}]}`, cty.ListVal([]cty.Value{item(a)}), ""},
		{"both", "example = []\nexample {\n}", cty.NilVal, "Unsupported block type"},
		{"label", "example \"x\" {\n}", cty.NilVal, "Extraneous label"},
		{"bad argument", "example {\n fo = 1\n}", cty.NilVal, "Unsupported argument"},
		{"all needed in an expression", `example = [{foo = "a"}]`, cty.NilVal, `attribute "sub" is required`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			v, diags := legacySample().Decode(parse(t, tc.src), evalCtx)
			if tc.wantErr != "" {
				if !strings.Contains(diags.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", diags, tc.wantErr)
				}
				return
			}
			if diags.HasErrors() {
				t.Fatal(diags.Error())
			}
			if got := v.GetAttr("example"); !got.RawEquals(tc.want) {
				t.Errorf("\n got %#v\nwant %#v", got, tc.want)
			}
		})
	}

	required := legacySample()
	required.Attributes["example"].Required = true
	if _, diags := required.Decode(parse(t, ""), evalCtx); !strings.Contains(diags.Error(), `"example" is required`) {
		t.Errorf("no error for a missing required attribute: %v", diags)
	}
	v, diags := legacySample().Decode(parse(t, "outer {\n example {\n foo = v\n }\n}"), evalCtx)
	if diags.HasErrors() || v.GetAttr("outer").Index(cty.Zero).GetAttr("example").LengthInt() != 1 {
		t.Errorf("in a nested block: %#v %v", v, diags)
	}
	body := parse(t, "")
	if plain := sample(); plain.FixUpBody(body) != body {
		t.Error("body wrapped for a schema without such attributes")
	}
}

func TestVariables(t *testing.T) {
	src := `
example {
  foo = one.x
  dynamic "sub" {
    for_each = two.y
    content {
      bar = "${sub.value}${three}"
    }
  }
}
dynamic "outer" {
  for_each = four
  iterator = it
  content {
    example {
      foo = "${it.key}${five}"
    }
  }
}
`
	var got []string
	for _, v := range legacySample().Variables(parse(t, src)) {
		got = append(got, v.RootName())
	}
	sort.Strings(got)
	if text := strings.Join(got, " "); text != "five four one three two" {
		t.Errorf("got %s", text)
	}
}

func TestStaticValidateTraversal(t *testing.T) {
	b := sample()
	tests := []struct{ traversal, want string }{
		{"x.name", ""},
		{"x.id.foo", "Can't access attributes on a primitive-typed value"},
		{"x.nam", `no argument, nested block or exported attribute "nam". Did you mean "name"?`},
		{"x.list.port", "such as list[0]."},
		{"x.list[0].prt", `attribute "prt". Did you mean "port"?`},
		{"x.list[0].port", ""},
		{`x.list["a"]`, "a number is required"},
		{"x.set.port", "whose elements have no keys"},
		{"x.set[0]", "whose elements have no keys"},
		{"x.map.k.port", ""},
		{`x.map["k"].prt`, `attribute "prt".`},
		{"x.single.prt", `attribute "prt".`},
		{"x.single[0]", "with a string index"},
		{"x.tuple[0].whatever", `attribute "whatever".`},
		{"x.settings[0].key", ""},
		{"x.settings.key", "Can't access attributes on a list of objects"},
		{"x", ""},
	}
	for _, tc := range tests {
		abs, diags := hclsyntax.ParseTraversalAbs([]byte(tc.traversal), "t", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		got := b.StaticValidateTraversal(abs[1:])
		switch {
		case tc.want == "" && got.HasErrors():
			t.Errorf("%s: %v", tc.traversal, got)
		case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0].Detail, tc.want)):
			t.Errorf("%s: %v, want %q", tc.traversal, got, tc.want)
		}
	}
}
