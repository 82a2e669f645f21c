package plugin

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/configschema"
	"tofu/internal/plugin/tfplugin"
)

// TestWriteOnlyValues checks that no value of a write-only attribute gets past an answer, whatever its depth.
func TestWriteOnlyValues(t *testing.T) {
	secret := &configschema.Attribute{Type: cty.Map(cty.String), Optional: true, WriteOnly: true}
	name := &configschema.Attribute{Type: cty.String, Optional: true}
	schema := &configschema.Block{
		Attributes: map[string]*configschema.Attribute{"name": name, "secret": secret},
		BlockTypes: map[string]*configschema.NestedBlock{"rule": {Nesting: configschema.NestingList,
			Block: configschema.Block{Attributes: map[string]*configschema.Attribute{"name": name, "secret": secret}}}},
	}
	object := func(secret, inner cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a"), "secret": secret,
			"rule": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("b"), "secret": inner})})})
	}
	none, some := cty.NullVal(secret.Type), cty.MapVal(map[string]cty.Value{"k": cty.StringVal("v")})
	for text, given := range map[string]cty.Value{
		"":                object(none, none),
		".secret":         object(some, none),
		".rule[0].secret": object(none, some),
	} {
		raw, err := msgpack.Marshal(given, schema.ImpliedType())
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{client: &client{}, method: readResource}
		got := x.decodeObject(&tfplugin.DynamicValue{Msgpack: raw}, schema)
		if want := object(none, none); !got.RawEquals(want) {
			t.Errorf("%q: got %#v", text, got)
		}
		if (text != "") != x.failed() || len(x.diags) > 1 || text != "" && !strings.Contains(x.diags.Err().Error(), text+",") {
			t.Errorf("%q: %v", text, x.diags.Err())
		}
	}
}
