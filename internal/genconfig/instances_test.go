package genconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
)

// TestInstances checks the block that is generated for several instances.
func TestInstances(t *testing.T) {
	inner := map[string]*configschema.Attribute{
		"port": {Type: cty.Number, Optional: true}, "key": {Type: cty.String, Optional: true, Sensitive: true}}
	blocks := func(mode configschema.NestingMode) *configschema.Block {
		return &configschema.Block{BlockTypes: map[string]*configschema.NestedBlock{
			"x": {Nesting: mode, Block: configschema.Block{Attributes: inner}}}}
	}
	attr := func(a configschema.Attribute) *configschema.Block {
		a.Optional = true
		return &configschema.Block{Attributes: map[string]*configschema.Attribute{"x": &a}}
	}
	rule := func(port int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(port), "key": cty.NullVal(cty.String)})
	}
	secret := cty.ObjectVal(map[string]cty.Value{"port": cty.Zero, "key": cty.StringVal("hush")})
	none := cty.NullVal(rule(1).Type())
	text, list := cty.StringVal, func(v ...cty.Value) cty.Value { return cty.ListVal(v) }
	const key, content = "key = null # sensitive\n", "content {\nkey = null # sensitive\n"
	for name, test := range map[string]struct {
		schema *configschema.Block
		keys   string // "a b" unless set
		values []cty.Value
		want   string // expected text, without the first and the last line of the block
	}{
		"equal": {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("v"), text("v")}, `x = "v"`},
		"differ": {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("v"), text("w")},
			"x = {\n\"a\" = \"v\"\n\"b\" = \"w\"\n}[each.key]"},
		"null": {attr(configschema.Attribute{Type: cty.Number}), "", []cty.Value{cty.Zero, cty.NullVal(cty.Number)},
			"x = {\n\"a\" = 0\n\"b\" = null\n}[each.key]"},
		"key": {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("a"), text("b")}, `x = each.key`},
		"key within": {attr(configschema.Attribute{Type: cty.List(cty.String)}), "",
			[]cty.Value{list(text("a"), text("z")), list(text("b"), text("z"))}, `x = [each.key, "z"]`},
		"key of one":   {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("a"), text("a")}, `x = "a"`},
		"one instance": {attr(configschema.Attribute{Type: cty.String}), "a", []cty.Value{text("a")}, `x = "a"`},
		"references": {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("net-a"), text("net-b")},
			"x = lab_net.n[each.key].id"},
		"one reference": {attr(configschema.Attribute{Type: cty.String}), "", []cty.Value{text("net-a"), text("other")},
			"x = {\n\"a\" = lab_net.n[\"a\"].id\n\"b\" = \"other\"\n}[each.key]"},
		"odd keys": {attr(configschema.Attribute{Type: cty.String}), "for ${x}", []cty.Value{text("v"), text("w")},
			"x = {\n\"for\" = \"v\"\n\"$${x}\" = \"w\"\n}[each.key]"},
		"secret": {attr(configschema.Attribute{Type: cty.String, Sensitive: true}), "",
			[]cty.Value{cty.NullVal(cty.String), text("hush")}, "x = null # sensitive\nlifecycle {\n" +
				"ignore_changes = [x] # sensitive: not known here, so left as it is\n}"},
		"block": {blocks(configschema.NestingSingle), "", []cty.Value{rule(1), rule(2)},
			"x {\n" + key + "port = {\n\"a\" = 1\n\"b\" = 2\n}[each.key]\n}"},
		"block of one": {blocks(configschema.NestingSingle), "", []cty.Value{none, rule(2)},
			"dynamic \"x\" {\nfor_each = contains([\"b\"], each.key) ? [true] : []\n" + content + "port = 2\n}\n}"},
		"list": {blocks(configschema.NestingList), "a b c",
			[]cty.Value{list(rule(1)), list(rule(1), rule(2)), list(rule(1), rule(3))},
			"x {\n" + key + "port = 1\n}\ndynamic \"x\" {\nfor_each = contains([\"b\", \"c\"], each.key) ? [true] : []\n" +
				content + "port = {\n\"b\" = 2\n\"c\" = 3\n}[each.key]\n}\n}"},
		"set": {blocks(configschema.NestingSet), "",
			[]cty.Value{cty.SetVal([]cty.Value{rule(1), rule(5)}), cty.SetVal([]cty.Value{rule(5)})}, "x {\n" + key + "port = 5\n}\ndynamic \"x\" {\nfor_each = contains([\"a\"], each.key) ? [true] : []\n" +
				content + "port = 1\n}\n}"},
		"map": {blocks(configschema.NestingMap), "", []cty.Value{cty.MapVal(map[string]cty.Value{"l": rule(1)}),
			cty.MapVal(map[string]cty.Value{"l": rule(1), "m": rule(2)})}, "x \"l\" {\n" + key + "port = 1\n}\n" +
			"dynamic \"x\" {\nfor_each = contains([\"b\"], each.key) ? [true] : []\nlabels = [\"m\"]\n" +
			content + "port = 2\n}\n}"},
		"secret in a block": {blocks(configschema.NestingList), "", []cty.Value{list(secret), list(secret)},
			"x {\n" + key + "port = 0\n}\nlifecycle {\n" +
				"ignore_changes = [x[0].key] # sensitive: not known here, so left as it is\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.keys == "" {
				test.keys = "a b"
			}
			var all []*Block
			for i, k := range strings.Fields(test.keys) {
				b := &Block{Addr: instance("lab_host.h"), Schema: test.schema, Refs: map[string]Ref{},
					Value: cty.ObjectVal(map[string]cty.Value{"x": test.values[i]})}
				b.Addr.Key = addrs.StringKey(k)
				b.Refs["net-"+k] = Ref{addrs.AbsInstance{Resource: instance("lab_net.n").Resource, Key: b.Addr.Key}, "id"}
				all = append(all, b)
			}
			text, _ := Text(all, "local.all")
			got := strings.Join(strings.Fields(text), " ")
			want := strings.Join(strings.Fields("resource \"lab_host\" \"h\" {\nfor_each = local.all\n"+test.want+"\n}"), " ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRepetition checks the argument that gives the keys of the instances.
func TestRepetition(t *testing.T) {
	for keys, want := range map[string]string{
		"":           "",
		`["x"]`:      `for_each = toset(["x"])`,
		`["a"]["b"]`: `for_each = toset(["a", "b"])`,
		"[0][1]":     "count = 2",
	} {
		var all []*Block
		for k := range strings.SplitAfterSeq(keys, "]") {
			if k != "" || keys == "" {
				all = append(all, &Block{Addr: instance("lab_host.h" + k), Schema: &configschema.Block{},
					Value: cty.EmptyObjectVal})
			}
		}
		text, _ := Text(all, "")
		if got := strings.Join(strings.Fields(text), " "); got != strings.Join(strings.Fields(
			`resource "lab_host" "h" { `+want+" }"), " ") {
			t.Errorf("%s: %s", keys, got)
		}
	}
}
