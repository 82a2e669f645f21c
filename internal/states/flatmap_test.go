package states_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/states"
)

// TestFlatmap checks how objects of states older than version 4 are decoded.
func TestFlatmap(t *testing.T) {
	disk := cty.Object(map[string]cty.Type{"size": cty.Number, "tags": cty.Map(cty.String)})
	ty := cty.Object(map[string]cty.Type{
		"id": cty.String, "count": cty.Number, "on": cty.Bool, "any": cty.DynamicPseudoType,
		"tags": cty.Map(cty.String), "zones": cty.List(cty.String), "ports": cty.Set(cty.Number),
		"disk": cty.List(disk), "rule": cty.Set(disk), "pair": cty.Tuple([]cty.Type{cty.String, cty.Bool}),
	})
	null := func(ty cty.Type) cty.Value { return cty.NullVal(ty) }
	nulls := map[string]cty.Value{}
	for name, ty := range ty.AttributeTypes() {
		nulls[name] = null(ty)
	}
	str := cty.StringVal
	for _, c := range []struct {
		flat  map[string]string
		want  map[string]cty.Value // expected attributes; all others are null
		error string
	}{
		{flat: map[string]string{}},
		{flat: map[string]string{"id": "i-1", "count": "2", "on": "1", "any": "x", "gone": "y"},
			want: map[string]cty.Value{
				"id": str("i-1"), "count": cty.NumberIntVal(2), "on": cty.True, "any": str("x")}},
		{flat: map[string]string{"id": "", "count": "", "on": "", "zones.#": "74D93920-ED26-11E3-AC10-0800200C9A66"},
			want: map[string]cty.Value{"id": str("")}},
		{flat: map[string]string{"tags.%": "2", "tags.a.b": "x", "tags.a": "y", "zones.#": "3", "zones.0": "p",
			"zones.2": "q"}, want: map[string]cty.Value{
			"tags":  cty.MapVal(map[string]cty.Value{"a.b": str("x"), "a": str("y")}),
			"zones": cty.ListVal([]cty.Value{str("p"), null(cty.String), str("q")})}},
		{flat: map[string]string{"tags.%": "0", "zones.#": "0", "ports.#": "0", "disk.#": "0"},
			want: map[string]cty.Value{
				"tags": cty.MapValEmpty(cty.String), "zones": cty.ListValEmpty(cty.String),
				"ports": cty.SetValEmpty(cty.Number), "disk": cty.ListValEmpty(disk)}},
		{flat: map[string]string{"ports.#": "2", "ports.123": "80", "ports.45": "443", "ports2": "x"},
			want: map[string]cty.Value{
				"ports": cty.SetVal([]cty.Value{cty.NumberIntVal(80), cty.NumberIntVal(443)})}},
		{flat: map[string]string{"disk.#": "1", "disk.0.size": "8", "disk.0.tags.%": "1", "disk.0.tags.a": "b",
			"rule.#": "1", "rule.99.size": "9", "rule.99.tags.%": "0"},
			want: map[string]cty.Value{
				"disk": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
					"size": cty.NumberIntVal(8), "tags": cty.MapVal(map[string]cty.Value{"a": str("b")})})}),
				"rule": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"size": cty.NumberIntVal(9),
					"tags": cty.MapValEmpty(cty.String)})}),
			}},
		// The attribute was a list when it was stored, but is a tuple in the schema.
		{flat: map[string]string{"pair.#": "2", "pair.0": "x", "pair.1": "true"}},
		{flat: map[string]string{"count": "many"}, error: "count: a number is required"},
		{flat: map[string]string{"disk.#": "1", "disk.0.size": "big"}, error: "disk.0.size: a number is required"},
		{flat: map[string]string{"zones.#": "1000000000"},
			error: `zones.#: "1000000000" is not a valid number of elements`},
		{flat: map[string]string{"tags.%": "-1"}, error: `tags.%: "-1" is not a valid number of elements`},
	} {
		got, err := (&states.Object{Flatmap: c.flat}).Decode(ty)
		if c.error != "" {
			if err == nil || !strings.Contains(err.Error(), c.error) {
				t.Errorf("%v: error %v, want %s", c.flat, err, c.error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.flat, err)
			continue
		}
		attrs := map[string]cty.Value{}
		maps.Copy(attrs, nulls)
		maps.Copy(attrs, c.want)
		if want := cty.ObjectVal(attrs); !got.RawEquals(want) {
			t.Errorf("%v: got %#v, want %#v", c.flat, got, want)
		}
	}
}
