package planview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
)

// textLines returns the lines about a change of an object with the attributes a, b and id.
// Changed words are in brackets.
func textLines(t *testing.T, action plans.Action, before, after map[string]cty.Value, forces ...cty.Path) string {
	t.Helper()
	attrs := make(map[string]*configschema.Attribute)
	for _, values := range []map[string]cty.Value{before, after} {
		for name, v := range values {
			attrs[name] = &configschema.Attribute{Type: v.Type(), Optional: true, Computed: true}
		}
	}
	sch := &providers.ResourceSchema{Block: &configschema.Block{Attributes: attrs}}
	object := func(values map[string]cty.Value) cty.Value {
		if values == nil {
			return cty.NullVal(sch.Block.ImpliedType())
		}
		return cty.ObjectVal(values)
	}
	c := &plans.InstanceChange{Action: action, Before: object(before), After: object(after), RequiredReplace: forces}
	c.Addr.Resource = addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "web"}
	plan := &plans.Plan{Changes: &plans.Changes{Instances: []*plans.InstanceChange{c}}, Prior: states.New()}
	p := New(&Source{Plan: plan, Schema: func(addrs.Provider, addrs.Resource) *providers.ResourceSchema { return sch }},
		Options{Spread: 20})
	fields, _ := p.Changes[0].Fields()
	var out []string
	for _, l := range Text(fields) {
		text, end := "", 0
		for _, w := range l.Changed {
			text += l.Text[end:w.Start] + "[" + l.Text[w.Start:w.End] + "]"
			end = w.End
		}
		text += l.Text[end:]
		if l.Nested {
			text = "  " + text
		}
		out = append(out, strings.TrimSpace(Symbol(l.Action))+" "+text)
	}
	return strings.Join(out, "\n")
}

func TestText(t *testing.T) {
	text := func(lines ...string) cty.Value { return cty.StringVal(strings.Join(lines, "\n") + "\n") }
	var long []string
	for i := range 30 {
		long = append(long, fmt.Sprintf("line %d", i))
	}
	changed := append([]string{}, long...)
	changed[15] = "line fifteen"
	object := func(a, b cty.Value) map[string]cty.Value { return map[string]cty.Value{"a": a, "b": b} }
	one := func(a cty.Value) map[string]cty.Value { return map[string]cty.Value{"a": a} }
	for name, test := range map[string]struct {
		action        plans.Action
		before, after map[string]cty.Value
		forces        []cty.Path
		want          string
	}{
		"columns, not bytes": {plans.Create, nil,
			one(cty.ListVal([]cty.Value{cty.StringVal("東京都"), cty.StringVal("大阪")})), nil,
			`+ a = ["東京都", "大阪"]`},
		"more columns than fit": {plans.Create, nil,
			one(cty.ListVal([]cty.Value{cty.StringVal("東京都"), cty.StringVal("大阪府庁")})), nil,
			"+ a[0] = \"東京都\"\n+ a[1] = \"大阪府庁\""},
		"forcing first, unknown last": {plans.DeleteThenCreate,
			map[string]cty.Value{"a": cty.StringVal("x"), "b": cty.StringVal("x"), "id": cty.StringVal("i-1")},
			map[string]cty.Value{"a": cty.StringVal("y"), "b": cty.StringVal("y"), "id": cty.UnknownVal(cty.String)},
			[]cty.Path{cty.GetAttrPath("b")},
			"~ b = \"x\" -> \"y\" # forces replacement\n~ a = \"x\" -> \"y\"\n~ known after apply: id (was \"i-1\")"},
		"JSON by structure": {plans.Update,
			one(cty.StringVal(`{"keep": [1, 2], "deep": {"x": 1}}`)), one(cty.StringVal(`{"keep": [1, 2], "deep": {"x": 2}}`)), nil,
			"~ a.deep.x = 1 -> 2"},
		"a long text as a unified difference": {plans.Update, one(text(long...)), one(text(changed...)), nil,
			"~ a\n   (12 unchanged lines)\n   line 12\n   line 13\n   line 14\n-   line [15]\n+   line [fifteen]\n" +
				"   line 16\n   line 17\n   line 18\n   (11 unchanged lines)"},
		"long values under one another": {plans.Update,
			one(cty.StringVal("the quick brown fox jumps over the lazy dog")),
			one(cty.StringVal("the quick brown fox jumps over the lively dog")), nil,
			"~ a\n-   \"the quick brown fox jumps over the [lazy] dog\"\n+   \"the quick brown fox jumps over the [lively] dog\""},
		"a long new value in its parts": {plans.Create, nil,
			object(cty.MapVal(map[string]cty.Value{"first": cty.StringVal("value"), "second": cty.StringVal("value")}),
				text("one", "two")), nil,
			"+ a[\"first\"] = \"value\"\n+ a[\"second\"] = \"value\"\n+ b\n+   one\n+   two"},
		"a short new value on one line": {plans.Create, nil, one(cty.ListVal([]cty.Value{cty.True})), nil, "+ a = [true]"},
		"everything of a deleted object": {plans.Delete, object(cty.StringVal("x"), cty.NumberIntVal(3)), nil, nil,
			"- a = \"x\"\n- b = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := textLines(t, test.action, test.before, test.after, test.forces...); got != test.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, test.want)
			}
		})
	}
}
