package lastconfig

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

var schema = &configschema.Block{
	Attributes: map[string]*configschema.Attribute{
		"region": {Type: cty.String, Optional: true}, "token": {Type: cty.String, Optional: true},
		"token_url": {Type: cty.String, Optional: true}, "pin": {Type: cty.Number, Optional: true, Sensitive: true},
		"tags": {Type: cty.Map(cty.String), Optional: true}, "ids": {Type: cty.Set(cty.String), Optional: true},
		"skip_credentials_validation": {Type: cty.Bool, Optional: true},
	},
	BlockTypes: map[string]*configschema.NestedBlock{
		"auth": {Nesting: configschema.NestingList, Block: configschema.Block{Attributes: map[string]*configschema.Attribute{
			"user": {Type: cty.String, Optional: true}, "password": {Type: cty.String, Optional: true},
		}}},
	},
}

// config returns a configuration with the given arguments.
func config(t *testing.T, given map[string]cty.Value) cty.Value {
	t.Helper()
	out, err := schema.CoerceValue(cty.ObjectVal(given))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func auth(user, password cty.Value) cty.Value {
	return cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"user": user, "password": password})})
}

// TestKept checks what is kept of configurations, and that they are as before with their secrets.
func TestKept(t *testing.T) {
	names := NewNames(map[string]cty.Value{
		"db": cty.ObjectVal(map[string]cty.Value{"password": cty.StringVal("hunter2"), "port": cty.NumberIntVal(1)}),
		"a":  cty.StringVal("zzz"), "unknown": cty.UnknownVal(cty.String), "null": cty.NullVal(cty.String),
	})
	sources := map[string]Source{}
	for name := range schema.ImpliedType().AttributeTypes() {
		sources[name] = Source{Written: true, Names: names}
	}
	given := map[string]Source{"region": {Names: names}, "auth": {Names: names}}
	secret := cty.StringVal("sesame").Mark(marks.Sensitive)
	for name, c := range map[string]struct {
		given   map[string]cty.Value
		values  string
		secrets map[string]string
		outside bool
	}{
		"empty": {given: nil, values: `{}`},
		"from a variable": {map[string]cty.Value{"region": cty.StringVal("zzz"), "skip_credentials_validation": cty.True,
			"auth": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"user": cty.StringVal("")})})},
			`{"auth":[{"user":""}],"skip_credentials_validation":true}`, map[string]string{"/region": "a"}, true},
		"from elsewhere": {map[string]cty.Value{"region": cty.StringVal("eu"), "tags": cty.MapVal(map[string]cty.Value{"d": cty.StringVal("zzz")})},
			`{"tags":{}}`, map[string]string{"/region": "fake_region", "/tags/d": "fake_tags_d"}, true},
		"plain": {map[string]cty.Value{"region": cty.StringVal("eu"), "ids": cty.SetVal([]cty.Value{cty.StringVal("b"), cty.StringVal("a")}),
			"token_url": cty.StringVal("https://x"), "skip_credentials_validation": cty.True},
			`{"ids":["a","b"],"region":"eu","skip_credentials_validation":true,"token_url":"https://x"}`, nil, false},
		"by name":      {map[string]cty.Value{"token": cty.StringVal("t")}, `{}`, map[string]string{"/token": "fake_token"}, false},
		"by schema":    {map[string]cty.Value{"pin": cty.NumberIntVal(7)}, `{}`, map[string]string{"/pin": "fake_pin"}, false},
		"by mark":      {map[string]cty.Value{"region": secret}, `{}`, map[string]string{"/region": "fake_region"}, false},
		"ephemeral":    {map[string]cty.Value{"region": cty.StringVal("x").Mark(marks.Ephemeral)}, `{}`, map[string]string{"/region": "fake_region"}, false},
		"by value":     {map[string]cty.Value{"region": cty.StringVal("https://u:pw@x")}, `{}`, map[string]string{"/region": "fake_region"}, false},
		"variable":     {map[string]cty.Value{"token": cty.StringVal("hunter2")}, `{}`, map[string]string{"/token": "db.password"}, false},
		"map and path": {map[string]cty.Value{"tags": cty.MapVal(map[string]cty.Value{"a/b~c": secret, "d": cty.StringVal("e")})}, `{"tags":{"d":"e"}}`, map[string]string{"/tags/a~1b~0c": "fake_tags_a_1b_0c"}, false},
		"block": {map[string]cty.Value{"auth": auth(cty.StringVal("me"), cty.StringVal("zzz"))}, `{"auth":[{"user":"me"}]}`,
			map[string]string{"/auth/0/password": "a"}, false},
	} {
		in := config(t, c.given)
		from := sources
		if c.outside {
			from = given
		}
		kept, err := Encode("fake", schema, in, from)
		if err != nil || string(kept.Values) != c.values || !maps.Equal(kept.Secrets, c.secrets) {
			t.Errorf("%s: %s, %v, %v", name, kept.Values, kept.Secrets, err)
			continue
		}
		bare, _ := in.UnmarkDeep()
		var asked []string
		out, err := Decode(kept, schema, func(at, variable string) (*string, error) {
			asked = append(asked, at)
			v, err := pointer(bare, strings.Split(at, "/")[1:])
			text := textOf(v)
			return &text, err
		})
		if err != nil || !out.RawEquals(bare) || len(asked) != len(c.secrets) {
			t.Errorf("%s: %#v, %v, asked for %v", name, out, err, asked)
		}
		if Empty(kept) != (name == "empty") {
			t.Errorf("%s: Empty returns %v", name, Empty(kept))
		}
	}
	if kept, err := Encode("fake", schema, config(t, map[string]cty.Value{"region": cty.UnknownVal(cty.String)}), sources); kept != nil || err != nil {
		t.Errorf("a configuration that isn't wholly known: %v, %v", kept, err)
	}
}

// pointer returns the part of a value at a JSON pointer.
func pointer(v cty.Value, path []string) (cty.Value, error) {
	if len(path) == 0 {
		return v, nil
	}
	for it := v.ElementIterator(); it.Next(); {
		if key, elem := it.Element(); textOf(key) == unescape.Replace(path[0]) {
			return pointer(elem, path[1:])
		}
	}
	return cty.NilVal, errors.New("not found")
}

// TestDecode decodes what another version of a provider, or an editor, may have left.
func TestDecode(t *testing.T) {
	none := func(string, string) (*string, error) { return nil, nil }
	text := "s"
	some := func(string, string) (*string, error) { return &text, nil }
	for values, want := range map[string]string{
		`{"gone":1,"region":"eu"}`: "", `[]`: "not an object", `{`: "unexpected end", `{"region":["eu"]}`: "string",
	} {
		out, err := Decode(&states.ProviderConfig{Values: []byte(values)}, schema, none)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", values, err)
		case want == "" && (err != nil || textOf(out.GetAttr("region")) != "eu"):
			t.Errorf("%s: %#v, %v", values, out, err)
		}
	}
	for _, at := range []string{"/auth/0/password", "/region/x", "/ids/7"} {
		c := &states.ProviderConfig{Values: []byte(`{"region":"eu","ids":[]}`), Secrets: map[string]string{at: "x"}}
		if _, err := Decode(c, schema, some); err == nil {
			t.Errorf("%s: no error", at)
		}
	}
	c := &states.ProviderConfig{Values: []byte(`{"region":"eu"}`), Secrets: map[string]string{"/token": "x"}}
	out, err := Decode(c, schema, none)
	if err != nil || !out.GetAttr("token").IsNull() {
		t.Errorf("a secret that is left out: %#v, %v", out, err)
	}
}

func TestFind(t *testing.T) {
	v := cty.ObjectVal(map[string]cty.Value{"list": cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.NumberIntVal(3)})})
	for path, want := range map[string]string{"list.0": "x", "list.1": "3", "list.2": "", "other": "", "list": ""} {
		got, ok := Find(v.Mark(marks.Sensitive), strings.Split(path, "."))
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
	if !slices.Equal(slices.Sorted(maps.Keys(NewNames(map[string]cty.Value{"v": v}))), []string{"x"}) {
		t.Error("names of numbers")
	}
}
