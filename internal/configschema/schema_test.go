package configschema

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// sample has at least one item of each kind.
func sample() *Block {
	inner := func(nesting NestingMode, max int) *NestedBlock {
		return &NestedBlock{Nesting: nesting, MaxItems: max, Block: Block{Attributes: map[string]*Attribute{
			"port":   {Type: cty.Number, Required: true},
			"secret": {Type: cty.String, Optional: true, Sensitive: true},
		}}}
	}
	loose := func(nesting NestingMode) *NestedBlock {
		return &NestedBlock{Nesting: nesting, Block: Block{Attributes: map[string]*Attribute{
			"any": {Type: cty.DynamicPseudoType, Optional: true},
		}}}
	}
	return &Block{
		Attributes: map[string]*Attribute{
			"id":       {Type: cty.String, Computed: true},
			"name":     {Type: cty.String, Required: true},
			"password": {Type: cty.String, Optional: true, Sensitive: true},
			"wo":       {Type: cty.String, Optional: true, WriteOnly: true},
			"settings": {Optional: true, NestedType: &Object{Nesting: NestingList, Attributes: map[string]*Attribute{
				"key":   {Type: cty.String, Required: true},
				"token": {Type: cty.String, Optional: true, Sensitive: true, WriteOnly: true},
			}}},
		},
		BlockTypes: map[string]*NestedBlock{
			"single": inner(NestingSingle, 0),
			"group":  loose(NestingGroup),
			"list":   inner(NestingList, 2),
			"set":    inner(NestingSet, 0),
			"map":    inner(NestingMap, 0),
			"tuple":  loose(NestingList),
			"object": loose(NestingMap),
		},
	}
}

func TestImpliedType(t *testing.T) {
	b := sample()
	inner := cty.Object(map[string]cty.Type{"port": cty.Number, "secret": cty.String})
	loose := cty.Object(map[string]cty.Type{"any": cty.DynamicPseudoType})
	want := cty.Object(map[string]cty.Type{
		"id": cty.String, "name": cty.String, "password": cty.String, "wo": cty.String,
		"settings": cty.List(cty.Object(map[string]cty.Type{"key": cty.String, "token": cty.String})),
		"single":   inner, "group": loose, "list": cty.List(inner), "set": cty.Set(inner), "map": cty.Map(inner),
		"tuple": cty.DynamicPseudoType, "object": cty.DynamicPseudoType,
	})
	if got := b.ImpliedType(); !got.Equals(want) {
		t.Fatalf("got %s\nwant %s", got.FriendlyName(), want.FriendlyName())
	}
	if errs := b.EmptyValue().Type().TestConformance(want); len(errs) > 0 {
		t.Errorf("the empty value doesn't conform: %v", errs)
	}
}

func TestPathLookups(t *testing.T) {
	b := sample()
	zero := cty.NumberIntVal(0)
	attrs := []struct {
		path cty.Path
		want *Attribute
	}{
		{cty.GetAttrPath("name"), b.Attributes["name"]},
		{cty.GetAttrPath("settings").Index(zero).GetAttr("token"),
			b.Attributes["settings"].NestedType.Attributes["token"]},
		{cty.GetAttrPath("settings").Index(zero), b.Attributes["settings"]},
		{cty.GetAttrPath("list").Index(zero).GetAttr("port"), b.BlockTypes["list"].Attributes["port"]},
		{cty.GetAttrPath("single").GetAttr("port"), b.BlockTypes["single"].Attributes["port"]},
		{cty.GetAttrPath("list").Index(zero), nil},
		{cty.GetAttrPath("nothing"), nil},
		{nil, nil},
	}
	for _, tc := range attrs {
		if got := b.AttributeByPath(tc.path); got != tc.want {
			t.Errorf("AttributeByPath(%#v) = %v, want %v", tc.path, got, tc.want)
		}
	}
	if got := b.BlockByPath(cty.GetAttrPath("list").Index(zero)); got != &b.BlockTypes["list"].Block {
		t.Errorf("BlockByPath = %v", got)
	}
}

func TestMarks(t *testing.T) {
	b := sample()
	elem := func(port int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port), "secret": cty.NullVal(cty.String)})
	}
	setting := cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k"), "token": cty.StringVal("t")})
	v, err := b.CoerceValue(cty.ObjectVal(map[string]cty.Value{
		"name":     cty.StringVal("n"),
		"settings": cty.ListVal([]cty.Value{setting}),
		"list":     cty.ListVal([]cty.Value{elem(1), elem(2)}),
		"set":      cty.SetVal([]cty.Value{elem(1), elem(2)}),
		"map":      cty.MapVal(map[string]cty.Value{"k": elem(3)}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := `.list[0].secret .list[1].secret .map["k"].secret .password .set .settings[0].token`
	if got := pathsText(b.SensitivePaths(v)); got != want {
		t.Errorf("sensitive paths\n got %s\nwant %s", got, want)
	}

	marked := b.MarkSensitive(v, "hidden")
	if !marked.GetAttr("set").HasMark("hidden") || !marked.GetAttr("password").HasMark("hidden") ||
		marked.GetAttr("name").IsMarked() {
		t.Errorf("wrong marks: %#v", marked)
	}
	if plain := (&Block{Attributes: map[string]*Attribute{"a": {Type: cty.String,
		Optional: true}}}); plain.ContainsSensitive() {
		t.Error("ContainsSensitive = true for a schema without sensitive attributes")
	}
}

func pathsText(paths []cty.Path) string {
	var out []string
	for _, p := range paths {
		var b strings.Builder
		for _, step := range p {
			switch step := step.(type) {
			case cty.GetAttrStep:
				b.WriteString("." + step.Name)
			case cty.IndexStep:
				if step.Key.Type() == cty.String {
					b.WriteString(`["` + step.Key.AsString() + `"]`)
				} else {
					b.WriteString("[" + step.Key.AsBigFloat().String() + "]")
				}
			}
		}
		out = append(out, b.String())
	}
	return strings.Join(out, " ")
}

func TestCoerceValue(t *testing.T) {
	obj := func(kv ...any) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1].(cty.Value)
		}
		return cty.ObjectVal(m)
	}
	name := cty.StringVal("n")
	tests := []struct {
		in      cty.Value
		wantErr string
	}{
		{obj("name", name), ""},
		{obj("name", cty.NumberIntVal(3)), ""},
		{obj("name", name, "id", cty.StringVal("x")), ""},
		{obj(), `attribute "name" is required`},
		{obj("name", name, "nome", name), `unexpected attribute "nome"`},
		{obj("name", cty.EmptyObjectVal), `string required`},
		{cty.StringVal("x"), "an object is required"},
		{obj("name", name, "list", name), "must be a list"},
		{obj("name", name, "list", cty.TupleVal([]cty.Value{obj()})), `attribute "port" is required`},
		{obj("name", name, "list", cty.TupleVal([]cty.Value{obj("port", cty.StringVal("8"))})), ""},
		{obj("name", name, "tuple", cty.TupleVal([]cty.Value{obj("any", name), obj("any", cty.True)})), ""},
		{obj("name", name, "map", cty.TupleVal([]cty.Value{obj()})), "must be a map"},
		{obj("name", name, "object", obj("a", obj("any", name), "b", obj("any", cty.True))), ""},
		{obj("name", name, "settings", cty.TupleVal([]cty.Value{obj("key", name)})), ""},
	}
	b := sample()
	for _, tc := range tests {
		got, err := b.CoerceValue(tc.in)
		if tc.wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("%#v: error %v, want %q", tc.in, err, tc.wantErr)
			}
			continue
		}
		if err != nil {
			t.Errorf("%#v: %v", tc.in, err)
		} else if errs := got.Type().TestConformance(b.ImpliedType()); len(errs) > 0 {
			t.Errorf("%#v: result doesn't conform: %v", tc.in, errs)
		}
	}
}

func TestInternalValidate(t *testing.T) {
	if err := sample().InternalValidate(); err != nil {
		t.Errorf("error for a valid schema: %v", err)
	}
	bad := &Block{
		Attributes: map[string]*Attribute{
			"Upper": {Type: cty.String, Optional: true},
			"none":  {Type: cty.String},
			"both":  {Type: cty.String, Required: true, Computed: true},
			"empty": {Optional: true},
			"clash": {Type: cty.String, Optional: true},
		},
		BlockTypes: map[string]*NestedBlock{
			"clash": {Nesting: NestingList},
			"mode":  {},
			"many":  {Nesting: NestingSingle, MaxItems: 2},
			"set": {Nesting: NestingSet, Block: Block{Attributes: map[string]*Attribute{
				"any": {Type: cty.DynamicPseudoType, Optional: true}}}},
		},
	}
	err := bad.InternalValidate()
	if err == nil {
		t.Fatal("no error for an invalid schema")
	}
	for _, want := range []string{"Upper: the name", "none: one of", "both: Required can", "empty: exactly one",
		"clash: there is both",
		"mode: the nesting mode", "many: this nesting mode allows at most one", "set: blocks in a set"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}
