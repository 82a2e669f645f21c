package valuediff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
)

// TestSensitivity compares objects whose values are equal, but not equally sensitive. All of these
// are updates, also if sensitive values are shown.
func TestSensitivity(t *testing.T) {
	text := &configschema.Attribute{Type: cty.String, Optional: true}
	nested := &configschema.Attribute{Optional: true, NestedType: &configschema.Object{
		Nesting: configschema.NestingList, Attributes: map[string]*configschema.Attribute{"a": text}}}
	block := func(nesting configschema.NestingMode) *configschema.NestedBlock {
		return &configschema.NestedBlock{Nesting: nesting,
			Block: configschema.Block{Attributes: map[string]*configschema.Attribute{"a": text}}}
	}
	sch := &configschema.Block{
		Attributes: map[string]*configschema.Attribute{
			"text": text, "map": {Type: cty.Map(cty.String), Optional: true}, "nested": nested,
			"lines": text, "json": text,
		},
		BlockTypes: map[string]*configschema.NestedBlock{
			"one": block(configschema.NestingSingle), "list": block(configschema.NestingList),
			"set": block(configschema.NestingSet), "keyed": block(configschema.NestingMap),
		},
	}
	item := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")})
	values := map[string]cty.Value{
		"text": cty.StringVal("v"), "map": cty.MapVal(map[string]cty.Value{"k": cty.StringVal("v")}),
		"nested": cty.ListVal([]cty.Value{item}), "lines": cty.StringVal("a\nb\nc\n"),
		"json": cty.StringVal(`{"a":1}`), "one": item, "list": cty.ListVal([]cty.Value{item, item}),
		"set": cty.SetVal([]cty.Value{item}), "keyed": cty.MapVal(map[string]cty.Value{"k": item}),
	}
	plain := cty.ObjectVal(values)
	for name, v := range values {
		values[name] = v.Mark(marks.Sensitive)
		secret := cty.ObjectVal(values)
		values[name] = v
		for _, d := range []*Differ{{}, {Review: true}, {ShowSensitive: true}, {ShowSensitive: true, Review: true}} {
			for _, sides := range [][2]cty.Value{{plain, secret}, {secret, plain}} {
				if n := d.Resource(plans.Update, sides[0], sides[1], sch, nil); !n.Changed() {
					t.Errorf("%s with %+v: got no change", name, d)
				}
			}
			if n := d.Resource(plans.NoOp, secret, secret, sch, nil); n.Changed() {
				t.Errorf("%s with %+v: got a change of an object that stays the same", name, d)
			}
		}
	}
}

// TestSensitiveElements checks that a value that is sensitive before or after is not shown, also
// where it is an element of a list.
func TestSensitiveElements(t *testing.T) {
	plain := cty.StringVal("hunter2")
	secret := plain.Mark(marks.Sensitive)
	other := cty.StringVal("x")
	for name, with := range map[string]func(v cty.Value) cty.Value{
		"list":  func(v cty.Value) cty.Value { return cty.ListVal([]cty.Value{other, v}) },
		"tuple": func(v cty.Value) cty.Value { return cty.TupleVal([]cty.Value{v, cty.True, v}) },
		"lists": func(v cty.Value) cty.Value {
			return cty.ListVal([]cty.Value{cty.ListVal([]cty.Value{v}), cty.ListVal([]cty.Value{other})})
		},
		"in a map": func(v cty.Value) cty.Value { return cty.MapVal(map[string]cty.Value{"k": cty.ListVal([]cty.Value{v})}) },
	} {
		for _, d := range []*Differ{{}, {Review: true}} {
			for _, sides := range [][2]cty.Value{{with(plain), with(secret)}, {with(secret), with(plain)}} {
				n := d.value(sides[0], sides[1], nil)
				if text, err := json.Marshal(n); err != nil || !n.Changed() || strings.Contains(string(text), "hunter2") {
					t.Errorf("%s with %+v: got %s (%v)", name, d, text, err)
				}
			}
		}
	}
}
