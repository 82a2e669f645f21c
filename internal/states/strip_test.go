package states_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/states"
)

// TestRemovedAttributes checks that attributes that the schema no longer has are dropped from
// stored objects, also in nested values. A provider may remove attributes without a new schema
// version.
func TestRemovedAttributes(t *testing.T) {
	rule := cty.Object(map[string]cty.Type{"port": cty.Number})
	ty := cty.Object(map[string]cty.Type{
		"id": cty.String, "tags": cty.Map(cty.String), "rules": cty.List(rule), "set": cty.Set(cty.List(rule)),
		"by": cty.Map(rule), "one": rule, "any": cty.DynamicPseudoType,
	})
	for raw, want := range map[string]string{
		`{"id": "x",  "rules": [{"port": 1}]}`: `{"id": "x",  "rules": [{"port": 1}]}`,
		`{"id":"x","old":{"a":[1]}}`:           `{"id":"x"}`,
		`{"tags":{"old":"stays"},"rules":[{"port":1,"old":2},null]}`: `{"rules":[{"port":1},null],` +
			`"tags":{"old":"stays"}}`,
		`{"by":{"k":{"old":1}},"one":{"port":null,"old":2}}`: `{"by":{"k":{}},"one":{"port":null}}`,
		`{"set":[[{"old":1,"port":3}],[]],"one":null}`:       `{"one":null,"set":[[{"port":3}],[]]}`,
		`{"any":{"value":{"old":1},"type":["object",{"old":"number"}]}}`: `{"any":{"value":{"old":1},` +
			`"type":["object",{"old":"number"}]}}`,
		`{"rules":"no list","one":[1]}`: `{"rules":"no list","one":[1]}`,
		`no JSON`:                       `no JSON`,
	} {
		if got, _ := states.StripUnknownAttrs([]byte(raw), ty); string(got) != want {
			t.Errorf("%s\nbecomes %s\nnot     %s", raw, got, want)
		}
	}
}
