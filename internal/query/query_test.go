package query

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

func TestIdentityText(t *testing.T) {
	s := cty.StringVal
	for want, values := range map[string]map[string]cty.Value{
		"":              {},
		"a=x":           {"a": s("x"), "none": cty.NullVal(cty.String)},
		"a=1,b=true":    {"b": cty.True, "a": cty.NumberIntVal(1)},
		`a=["x","y"]`:   {"a": cty.ListVal([]cty.Value{s("x"), s("y")})},
		"a=with = sign": {"a": s("with = sign")},
	} {
		if got := IdentityText(cty.ObjectVal(values)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestResourceNames checks that no two list blocks of a type have the same names.
func TestResourceNames(t *testing.T) {
	var run Run
	for _, test := range []struct{ typ, list, want string }{
		{"a_b", "list.a_b.all", "all"},
		{"a_b", "list.a_b.all[0]", "all_0"},
		{"a_b", `list.a_b.all["x y.z"]`, "all_x_y_z"},
		{"a_b", `list.a_b.all["x_y_z"]`, "all_x_y_z_list2"},
		{"a_b", `list.a_b.all_x_y_z`, "all_x_y_z_list3"},
		{"a_b", `list.a_b.all["é"]`, "all_list2"},
		{"a_c", `list.a_c.all`, "all"},
	} {
		if got := run.resourceNames(List{Addr: test.list, Type: test.typ}); got != test.want {
			t.Errorf("%s: got %q, want %q", test.list, got, test.want)
		}
	}
}

// TestShown checks that sensitive values are null in what is shown, wherever they are.
func TestShown(t *testing.T) {
	s, null := cty.StringVal, cty.NullVal(cty.String)
	attrs := map[string]*configschema.Attribute{"open": {Type: cty.String, Optional: true},
		"secret": {Type: cty.String, Optional: true, Sensitive: true}}
	typ := &providers.ResourceSchema{Block: &configschema.Block{Attributes: attrs,
		BlockTypes: map[string]*configschema.NestedBlock{
			"list": {Nesting: configschema.NestingList, Block: configschema.Block{Attributes: attrs}},
			"map":  {Nesting: configschema.NestingMap, Block: configschema.Block{Attributes: attrs}},
			"set":  {Nesting: configschema.NestingSet, Block: configschema.Block{Attributes: attrs}},
		}}}
	set := func(inner, secret cty.Value) cty.Value {
		if secret.IsNull() {
			return cty.NullVal(cty.Set(inner.Type()))
		}
		return cty.SetVal([]cty.Value{inner})
	}
	// A set with a secret is wholly secret, because its elements have no places.
	object := func(secret cty.Value) cty.Value {
		inner := cty.ObjectVal(map[string]cty.Value{"open": s("o"), "secret": secret})
		return cty.ObjectVal(map[string]cty.Value{"open": s("o"), "secret": secret, "list": cty.ListVal([]cty.Value{inner, inner}),
			"map": cty.MapVal(map[string]cty.Value{"k": inner}), "set": set(inner, secret)})
	}
	if got := shown(object(s("s")), typ.Block.SensitivePaths(object(s("s")))); !got.RawEquals(object(null)) {
		t.Errorf("got %#v", got)
	}
	whole := cty.NullVal(object(null).Type())
	if got := shown(whole, typ.Block.SensitivePaths(whole)); !got.RawEquals(whole) {
		t.Errorf("of nothing: %#v", got)
	}
}

// TestSensitive checks that what other list blocks read of an object has its sensitive parts marked.
func TestSensitive(t *testing.T) {
	typ := &providers.ResourceSchema{Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"open": {Type: cty.String, Optional: true}, "secret": {Type: cty.String, Optional: true, Sensitive: true}}}}
	c := &collector{run: &Run{Found: func(*Object) {}}, list: List{Type: "t"}, limit: 2,
		schema: &providers.Schema{Resources: providers.Types{"t": typ}}}
	identity := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i")})
	c.add(t.Context(), providers.ListedObject{Identity: identity, Object: cty.NullVal(typ.Block.ImpliedType())})
	c.add(t.Context(), providers.ListedObject{Identity: identity, Object: cty.ObjectVal(map[string]cty.Value{
		"open": cty.StringVal("o"), "secret": cty.StringVal("s")})})
	data := states.MarkSensitive(cty.ObjectVal(map[string]cty.Value{"data": cty.TupleVal(c.values)}), c.sensitive)
	_, marked := data.UnmarkDeepWithPaths()
	want := cty.GetAttrPath("data").IndexInt(1).GetAttr("state").GetAttr("secret")
	if len(marked) != 1 || !marked[0].Path.Equals(want) {
		t.Errorf("marked: %v", marked)
	}
}

// TestTranslate checks that messages of the engine name list blocks.
func TestTranslate(t *testing.T) {
	for in, want := range map[string]string{
		`data.list-a_b.c`:                        `list.a_b.c`,
		`in data "list-a_b" "c"`:                 `in list "a_b" "c"`,
		`the data source "list-a_b"`:             `the list block "a_b"`,
		`The list-a_b data source is not there.`: `The a_b list block is not there.`,
		`data.other.c, a list of data`:           `data.other.c, a list of data`,
	} {
		d := tfdiags.Errorf(in, "%s", in)
		d.Address = in
		got := translate(d.List())[0]
		if got.Summary != want || got.Detail != want || got.Address != want {
			t.Errorf("got %q, %q, %q; want %q", got.Summary, got.Detail, got.Address, want)
		}
	}
	if Translate(nil) != nil {
		t.Error("an error without one")
	}
}

// TestListTable checks the data sources that stand for list blocks.
func TestListTable(t *testing.T) {
	block := func(required bool) *providers.ResourceSchema {
		return &providers.ResourceSchema{Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{
			"a": {Type: cty.String, Required: required, Optional: !required}}}}
	}
	schema := withLists(&providers.Schema{Lists: providers.Types{"a_must": block(true), "a_may": block(false)},
		DataSources: providers.Types{"a_data": block(true)}})
	for name, least := range map[string]int{"list-a_must": 1, "list-a_may": 0} {
		typ := schema.DataSources.Type(name)
		if typ == nil || typ.Block.BlockTypes["config"].MinItems != least {
			t.Errorf("%s: %+v", name, typ)
		}
	}
	if schema.DataSources.Type("a_data") == nil {
		t.Error("no other data sources")
	}
	for _, name := range []string{"list-a_data", "a_must", "list-other"} {
		if schema.DataSources.Type(name) != nil {
			t.Errorf("there is %s", name)
		}
	}
	if withLists(nil) != nil {
		t.Error("a schema of nothing")
	}
	none := withLists(&providers.Schema{})
	if none.DataSources.Type("list-a") != nil || none.DataSources.Type("a") != nil {
		t.Error("types of a provider without any")
	}
}
