package genconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
)

// TestText checks the arguments and blocks that are generated for each kind of value. The
// attributes of a value become the arguments of the block.
func TestText(t *testing.T) {
	attributes := map[string]*configschema.Attribute{
		"port": {Type: cty.Number, Optional: true},
		"key":  {Type: cty.String, Optional: true, Sensitive: true},
	}
	rules := func(key cty.Value) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"port": cty.NumberIntVal(80), "key": key})
	}
	secret, none := cty.StringVal("hush"), cty.NullVal(cty.String)
	nested := func(mode configschema.NestingMode) *configschema.Block {
		return &configschema.Block{BlockTypes: map[string]*configschema.NestedBlock{
			"rule": {Nesting: mode, Block: configschema.Block{Attributes: attributes}}}}
	}
	attr := func(ty cty.Type) *configschema.Block {
		return &configschema.Block{Attributes: map[string]*configschema.Attribute{"x": {Type: ty, Optional: true}}}
	}
	for name, test := range map[string]struct {
		schema *configschema.Block
		value  cty.Value
		want   string // expected text, without the first and the last line of the block
	}{
		"text":   {attr(cty.String), cty.StringVal("a\"${b}\nc"), `x = "a\"$${b}\nc"`},
		"number": {attr(cty.Number), cty.MustParseNumberVal("1.50"), "x = 1.5"},
		"null":   {attr(cty.Bool), cty.NullVal(cty.Bool), "x = null"},
		"list":   {attr(cty.List(cty.String)), cty.ListVal([]cty.Value{cty.StringVal("a")}), `x = ["a"]`},
		"empty":  {attr(cty.List(cty.String)), cty.ListValEmpty(cty.String), "x = []"},
		"ID":     {attr(cty.String), cty.StringVal("i-1"), "x = lab_net.a.id"},
		"JSON":   {attr(cty.String), cty.StringVal(`{"a":[1]}`), "x = jsonencode({\n  a = [1]\n})"},
		"block": {nested(configschema.NestingSingle), rules(none),
			"rule {\n  key = null # sensitive\n  port = 80\n}"},
		"no block": {nested(configschema.NestingSingle), cty.NullVal(rules(none).Type()), ""},
		"blocks": {nested(configschema.NestingList), cty.ListVal([]cty.Value{rules(none), rules(none)}),
			strings.Repeat("rule {\n  key = null # sensitive\n  port = 80\n}\n", 2)},
		"blocks with a label": {nested(configschema.NestingMap), cty.MapVal(map[string]cty.Value{"a b": rules(none)}),
			"rule \"a b\" {\n  key = null # sensitive\n  port = 80\n}"},
		"secret in a list": {nested(configschema.NestingList), cty.ListVal([]cty.Value{rules(secret)}),
			"rule {\n  key = null # sensitive\n  port = 80\n}\nlifecycle {\n" +
				"  ignore_changes = [rule[0].key] # sensitive: not known here, so left as it is\n}"},
		"secret in a set": {nested(configschema.NestingSet), cty.SetVal([]cty.Value{rules(secret)}),
			"rule {\n  key = null # sensitive\n  port = 80\n}\nlifecycle {\n" +
				"  ignore_changes = [rule] # sensitive: not known here, so left as it is\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			member := "x"
			if len(test.schema.BlockTypes) > 0 {
				member = "rule"
			}
			b := &Block{Addr: addrs.Resource{Mode: addrs.Managed, Type: "lab_host", Name: "h"}, Provider: "lab.west",
				Schema: test.schema, Value: cty.ObjectVal(map[string]cty.Value{member: test.value}), ID: "h-1"}
			text, _ := b.Text(map[string]string{"i-1": "lab_net.a.id"})
			got := strings.Join(strings.Fields(text), " ")
			want := strings.Join(strings.Fields("resource \"lab_host\" \"h\" {\nprovider = lab.west\n"+test.want+
				"\n}"), " ")
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if h := b.Header(); h != `# __generated__ by OpenTofu from "h-1"` {
				t.Errorf("header %s", h)
			}
		})
	}
}

// TestReferences checks which IDs become references. An object is written as "name=id other", where
// other is another attribute.
func TestReferences(t *testing.T) {
	for name, test := range map[string]struct {
		objects []string // imported objects; "-" in front means that the configuration has a block for it
		want    string
	}{
		"reference":         {[]string{"a=1 2", "b=2"}, "a: 2 is lab_host.b.id"},
		"block of its own":  {[]string{"a=1 2", "-b=2"}, "a: 2 is lab_host.b.id"},
		"own ID":            {[]string{"a=1 1"}, ""},
		"unknown ID":        {[]string{"a=1 3", "b=2"}, ""},
		"two with an ID":    {[]string{"a=1 2", "b=2", "c=2"}, ""},
		"cycle":             {[]string{"a=1 2", "b=2 1"}, ""},
		"beside a cycle":    {[]string{"a=1 2", "b=2 1", "c=3 1"}, "c: 1 is lab_host.a.id"},
		"no cycle of those": {[]string{"a=1 2", "-b=2 1"}, "a: 2 is lab_host.b.id"},
	} {
		t.Run(name, func(t *testing.T) {
			blocks := map[addrs.AbsInstance]*Block{}
			var imported []Imported
			for _, text := range test.objects {
				text, exists := strings.CutPrefix(text, "-")
				label, values, _ := strings.Cut(text, "=")
				id, other, _ := strings.Cut(values, " ")
				addr, err := addrs.ParseInstanceText("lab_host." + label)
				if err != nil {
					t.Fatal(err)
				}
				v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id), "other": cty.StringVal(other)})
				imported = append(imported, Imported{Addr: addr, Value: v})
				if !exists {
					blocks[addr] = &Block{Value: v}
				}
			}
			var got []string
			for addr, refs := range References(blocks, imported) {
				for id, expr := range refs {
					got = append(got, addr.Resource.Name+": "+id+" is "+expr)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
