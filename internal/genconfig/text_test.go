package genconfig

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
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
			b := &Block{Addr: instance("lab_host.h"), Provider: "lab.west", Schema: test.schema,
				Value: cty.ObjectVal(map[string]cty.Value{member: test.value}), ID: "h-1",
				Refs: map[string]Ref{"i-1": {instance("lab_net.a"), "id"}}}
			text, _ := Text([]*Block{b}, "")
			got := strings.Join(strings.Fields(text), " ")
			want := strings.Join(strings.Fields("resource \"lab_host\" \"h\" {\nprovider = lab.west\n"+test.want+
				"\n}"), " ")
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if h := Header([]*Block{b}); h != `# __generated__ by OpenTofu from "h-1"` {
				t.Errorf("header %s", h)
			}
		})
	}
}

// TestReferences checks which IDs become references. An object is written as "name=id other", where
// other is an argument, and "name=id other chosen", where chosen is one in a block. "-" in front means
// that the configuration has a block for the object, "+" that it is not imported.
func TestReferences(t *testing.T) {
	text := func(a configschema.Attribute) *configschema.Attribute {
		a.Type = cty.String
		return &a
	}
	schema := &configschema.Block{
		Attributes: map[string]*configschema.Attribute{"id": text(configschema.Attribute{Optional: true, Computed: true}),
			"arn": text(configschema.Attribute{Computed: true}), "other": text(configschema.Attribute{Optional: true})},
		BlockTypes: map[string]*configschema.NestedBlock{"meta": {Nesting: configschema.NestingList,
			Block: configschema.Block{Attributes: map[string]*configschema.Attribute{
				"chosen": text(configschema.Attribute{Required: true})}}}},
	}
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"reference":             {[]string{"a=1 2", "b=2"}, "a: 2 is lab_host.b.id"},
		"instance":              {[]string{"a=1 2", `b["k"]=2`}, `a: 2 is lab_host.b["k"].id`},
		"block of its own":      {[]string{"a=1 2", "-b=2"}, "a: 2 is lab_host.b.id"},
		"own ID":                {[]string{"a=1 1"}, ""},
		"unknown ID":            {[]string{"a=1 3", "b=2"}, ""},
		"not imported":          {[]string{"a=1 2", "+b=2"}, ""},
		"two with an ID":        {[]string{"a=1 2", "b=2", "c=2"}, ""},
		"one is not imported":   {[]string{"a=1 2", "b=2", "+c=2"}, ""},
		"one is in a module":    {[]string{"a=1 2", "b=2", "module.m.lab_host.c=2"}, ""},
		"in a module":           {[]string{"a=1 2", "module.m.lab_host.b=2"}, ""},
		"name":                  {[]string{"a=1 ours", "b=ours ours"}, ""},
		"name in a block":       {[]string{"a=1 ours", "b=ours none ours"}, ""},
		"ID has a name with it": {[]string{"a=1 n/ours", "b=n/ours ours"}, "a: n/ours is lab_host.b.id"},
		"own block":             {[]string{`a["x"]=1 2`, `a["y"]=2`}, ""},
		"same key":              {[]string{`a["x"]=1 2`, `b["x"]=2`}, `a["x"]: 2 is lab_host.b[each.key].id`},
		"other key":             {[]string{`a["x"]=1 2`, `b["y"]=2`}, `a["x"]: 2 is lab_host.b["y"].id`},
		"same index":            {[]string{"a[1]=1 2", "b[1]=2"}, "a[1]: 2 is lab_host.b[count.index].id"},
		"same module":           {[]string{"module.m.lab_host.a=1 2", "module.m.lab_host.b=2"}, "a: 2 is lab_host.b.id"},
		"other module":          {[]string{`module.m["x"].lab_host.a=1 2`, `module.m["y"].lab_host.b=2`}, ""},
		"cycle of blocks":       {[]string{`a["x"]=1 2`, `a["y"]=4 5`, `b["x"]=2`, `b["y"]=3 4`}, ""},
		"cycle":                 {[]string{"a=1 2", "b=2 1"}, ""},
		"beside a cycle":        {[]string{"a=1 2", "b=2 1", "c=3 1"}, "c: 1 is lab_host.a.id"},
		"no cycle of those":     {[]string{"a=1 2", "-b=2 1"}, "a: 2 is lab_host.b.id"},
	} {
		t.Run(name, func(t *testing.T) {
			var blocks []*Block
			var objects []Object
			for _, text := range test.objects {
				text, exists := strings.CutPrefix(text, "-")
				text, only := strings.CutPrefix(text, "+")
				label, values, _ := strings.Cut(text, "=")
				if !strings.Contains(label, "lab_host") {
					label = "lab_host." + label
				}
				addr := instance(label)
				fields := append(strings.Split(values, " "), "", "")
				v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(fields[0]), "arn": cty.StringVal(fields[0]),
					"other": cty.StringVal(fields[1]), "meta": cty.ListVal([]cty.Value{
						cty.ObjectVal(map[string]cty.Value{"chosen": cty.StringVal(fields[2])})})})
				objects = append(objects, Object{Addr: addr, Schema: schema, Value: v, Stays: !only})
				if !exists && !only {
					blocks = append(blocks, &Block{Addr: addr, Value: v})
				}
			}
			var got []string
			SetRefs(blocks, objects)
			for _, b := range blocks {
				for id := range b.Refs {
					got = append(got, b.Addr.Resource.Name+b.Addr.Key.String()+": "+id+" is "+b.reference(id, true))
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "; ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOmit checks which arguments are left out when the provider refuses a block.
func TestOmit(t *testing.T) {
	optional := func(ty cty.Type) *configschema.Attribute { return &configschema.Attribute{Type: ty, Optional: true} }
	numbers := cty.List(cty.Number)
	inner := map[string]*configschema.Attribute{"iops": optional(cty.Number), "rate": optional(cty.Number)}
	schema := &configschema.Block{
		Attributes: map[string]*configschema.Attribute{
			"count": optional(cty.Number), "list": optional(numbers), "flag": optional(cty.Bool),
			"text": optional(cty.String), "tags": optional(cty.Map(cty.String)), "must": {Type: cty.String, Required: true},
		},
		BlockTypes: map[string]*configschema.NestedBlock{
			"disk": {Nesting: configschema.NestingList, Block: configschema.Block{Attributes: inner}}},
	}
	disk := func(iops, rate int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"iops": cty.NumberIntVal(iops), "rate": cty.NumberIntVal(rate)})
	}
	value := cty.ObjectVal(map[string]cty.Value{
		"count": cty.Zero, "list": cty.ListValEmpty(cty.Number), "flag": cty.False, "text": cty.StringVal(""),
		"must": cty.StringVal(""), "tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("")}),
		"disk": cty.ListVal([]cty.Value{disk(0, 0), disk(5, 0)}),
	})
	at := func(path cty.Path, detail string) tfdiags.Diagnostic {
		d := tfdiags.Errorf("Conflicting configuration arguments", "%s", detail)
		d.Path = path
		return d
	}
	warning := tfdiags.Warningf("Unused", "flag is not used")
	for name, test := range map[string]struct {
		errs tfdiags.Diagnostics
		want string // the arguments that are left out
	}{
		"path":        {at(cty.GetAttrPath("count"), "").List(), "count"},
		"text":        {at(nil, `"flag": conflicts with text`).List(), "flag text"},
		"both":        {at(cty.GetAttrPath("list"), "conflicts with count").List(), "count list"},
		"two errors":  {append(at(cty.GetAttrPath("list"), "").List(), at(cty.GetAttrPath("text"), "")), "list text"},
		"required":    {at(cty.GetAttrPath("must"), "").List(), ""},
		"not empty":   {at(cty.GetAttrPath("tags"), "").List(), ""},
		"element":     {at(cty.GetAttrPath("tags").IndexString("a"), "").List(), ""},
		"part of it":  {at(nil, "account flags context").List(), ""},
		"in a block":  {at(cty.GetAttrPath("disk").IndexInt(0).GetAttr("iops"), "").List(), "iops"},
		"nothing bad": {nil, ""},
		"warning":     {warning.List(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Block{Addr: instance("lab_host.h"), Schema: schema, Value: value}
			before, _ := Text([]*Block{b}, "")
			if changed := b.Omit(test.errs); changed != (test.want != "") {
				t.Errorf("changed: %t", changed)
			}
			after, _ := Text([]*Block{b}, "")
			if left := slices.Sorted(maps.Keys(b.omitted)); strings.Join(left, " ") != test.want {
				t.Errorf("left out: %q, want %s", left, test.want)
			}
			if (len(after) < len(before)) != (test.want != "") {
				t.Errorf("text:\n%s", after)
			}
			for name := range b.omitted {
				if regexp.MustCompile(name + ` += (0|""|\[\]|false)\n`).MatchString(after) {
					t.Errorf("%s is in:\n%s", name, after)
				}
			}
			if b.Omit(test.errs) {
				t.Error("changed again")
			}
		})
	}
}

func instance(text string) addrs.AbsInstance {
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		panic(err)
	}
	return addr
}
