package adopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
)

var (
	source = addrs.DefaultProvider("lab")
	schema = &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"id":    {Type: cty.String, Computed: true},
		"name":  {Type: cty.String, Required: true},
		"size":  {Type: cty.Number, Optional: true},
		"made":  {Type: cty.String, Computed: true},
		"tags":  {Type: cty.Map(cty.String), Optional: true},
		"token": {Type: cty.String, Optional: true, Sensitive: true},
	}}
)

// lab returns an object from a text such as "i-1 web-1 4 Name=front": its ID, name and size, and a tag.
func lab(text string) *Object {
	fields := append(strings.Fields(text), "", "", "")
	size, tags := cty.NullVal(cty.Number), cty.NullVal(cty.Map(cty.String))
	if fields[2] != "" {
		size = cty.MustParseNumberVal(fields[2])
	}
	if name, value, found := strings.Cut(fields[3], "="); found {
		tags = cty.MapVal(map[string]cty.Value{name: cty.StringVal(value)})
	}
	o := &Object{Type: "lab_host", Source: source, Provider: "lab", ID: fields[0], Value: Unknown}
	if fields[1] != "" {
		o.Name = fields[1]
		o.Value = cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(fields[0]), "name": cty.StringVal(fields[1]),
			"size": size, "made": cty.StringVal("at " + fields[0]), "tags": tags, "token": cty.NullVal(cty.String)})
	}
	return o
}

func TestArrange(t *testing.T) {
	for name, test := range map[string]struct {
		objects string // separated by commas
		want    string
	}{
		"one":             {"i-1 web 4", "i-1=lab_host.web"},
		"two that differ": {"i-1 web 4,i-2 db 5", "i-1=lab_host.web i-2=lab_host.db"},
		"equal but for the name": {"i-1 web-1 4,i-2 web-2 4",
			`i-1=lab_host.web["web-1"] i-2=lab_host.web["web-2"]`},
		"nothing in common": {"i-1 alpha 4,i-2 beta 4", `i-1=lab_host.host["alpha"] i-2=lab_host.host["beta"]`},
		"two groups": {"i-1 web-1 4,i-2 web-2 4,i-3 db-1 8,i-4 db-2 8",
			`i-1=lab_host.web["web-1"] i-2=lab_host.web["web-2"] i-3=lab_host.host["db-1"] i-4=lab_host.host["db-2"]`},
		"a group and one":   {"i-1 web-1 4,i-2 web-2 4,i-3 db 8", `i-1=lab_host.web["web-1"] i-2=lab_host.web["web-2"] i-3=lab_host.db`},
		"same name":         {"i-1 web 4,i-2 web 4", "i-1=lab_host.web i-2=lab_host.web_2"},
		"name is taken":     {"i-1 old 4", "i-1=lab_host.old_2"},
		"tag":               {"i-1 web 4 Name=front,i-2 x 5", "i-1=lab_host.front i-2=lab_host.x"},
		"odd name":          {"i-1 Web/Server.(1) 4", "i-1=lab_host.web_server_1"},
		"no letters":        {"i-1 *** 4", "i-1=lab_host.host"},
		"digit first":       {"i-1 1st 4", "i-1=lab_host.host_1st"},
		"unknown values":    {"i-1,i-2", "i-1=lab_host.i_1 i-2=lab_host.i_2"},
		"unknown and known": {"i-1 web-1 4,i-2 web-2 4,i-3", `i-1=lab_host.web["web-1"] i-2=lab_host.web["web-2"] i-3=lab_host.i_3`},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []*Object
			for text := range strings.SplitSeq(test.objects, ",") {
				objects = append(objects, lab(text))
			}
			Arrange(objects, func(string) *configschema.Block { return schema },
				func(r addrs.Resource) bool { return r.Name == "old" })
			var got []string
			for _, o := range objects {
				got = append(got, o.ID+"="+o.Addr.String())
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestManaged(t *testing.T) {
	identity := func(attrs ...string) cty.Value {
		v := map[string]cty.Value{"region": cty.NullVal(cty.String)}
		for i := 0; i < len(attrs); i += 2 {
			v[attrs[i]] = cty.StringVal(attrs[i+1])
		}
		return cty.ObjectVal(v)
	}
	state := func(name, attrs, identity string) *states.State {
		st := states.New()
		addr := addrs.Resource{Mode: addrs.Managed, Type: "lab_host", Name: name}.InInstance("").Instance(addrs.NoKey)
		object := &states.Object{Attrs: []byte(attrs)}
		if identity != "" {
			object.Identity = []byte(identity)
		}
		st.SetCurrent(addr, object, addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: source}})
		return st
	}
	var m Managed
	m.AddState("", state("own", `{"id":"i-1"}`, ""))
	m.AddState("net", state("theirs", `{"id":"i-2","name":"x"}`, `{"zone":"a", "name":"two", "region":null}`))
	m.AddState("dns", state("again", `{"id":"i-2"}`, ""))
	m.AddImport(&Object{Type: "lab_host", Source: source, ID: "i-4"}, Owner{Addr: "lab_host.four"})
	m.AddImport(&Object{Type: "lab_host", Source: source, ID: "i-1"}, Owner{Addr: "lab_host.again"})
	for name, test := range map[string]struct {
		object *Object
		want   string
	}{
		"ID":             {&Object{ID: "i-1"}, "[lab_host.own]"},
		"two states":     {&Object{ID: "i-2"}, "[lab_host.again of dns lab_host.theirs of net]"},
		"identity":       {&Object{Identity: identity("name", "two", "zone", "a")}, "[lab_host.theirs of net]"},
		"other identity": {&Object{Identity: identity("name", "two", "zone", "b")}, "[]"},
		"ID in the value": {&Object{Identity: identity("name", "x"),
			Value: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i-1")})}, "[lab_host.own]"},
		"import":       {&Object{ID: "i-4"}, "[lab_host.four]"},
		"none":         {&Object{ID: "i-3"}, "[]"},
		"another type": {&Object{Type: "lab_net", ID: "i-1"}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.object.Type == "" {
				test.object.Type = "lab_host"
			}
			test.object.Source = source
			if diff := cmp.Diff(test.want, fmt.Sprint(m.Owners(test.object))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	objects := []*Object{lab("i-1 web-1 4 Team=One"), lab("i-2 web-2 4 Team=Two"), lab("i-3 db 8"), lab("i-4 imports-x 9")}
	Arrange(objects, func(string) *configschema.Block { return schema }, func(addrs.Resource) bool { return false })
	objects[2].Provider = "lab.west"
	block := func(r addrs.AbsResource) string { return "# " + r.String() }
	for by, want := range map[string]string{
		"":         "x.tf x_imports.tf",
		"type":     "x_imports.tf x_lab_host.tf",
		"name":     "x_db.tf x_imports.tf x_web.tf",
		"tag:Team": "x.tf x_imports.tf x_one.tf x_two.tf",
	} {
		var grouping Grouping
		if by != "" {
			var err error
			if grouping, err = ParseGrouping(by); err != nil {
				t.Fatal(err)
			}
		}
		files := Files(objects, block, "x", grouping)
		var names []string
		for name := range files {
			names = append(names, name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s: %s", by, diff)
		}
		if text := files["x_imports.tf"]; !strings.Contains(text, `"i-3"`) || !strings.Contains(text, "lab.west") {
			t.Errorf("%s: the imports are:\n%s", by, text)
		}
	}
	for _, bad := range []string{"", "tag", "tag:", "type:x", "size"} {
		if _, err := ParseGrouping(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// What a block needs of other modules is a variable, in each form that references have.
func TestModules(t *testing.T) {
	for _, test := range []struct {
		refers                  string // to app, which is in another module; b is in the same one, other in the root module
		argument, variable, out string
	}{
		{"lab_host.a.id", "var.lab_host_a_id", "string = module.app.lab_host_a_id", "lab_host.a.id"},
		{`lab_host.a["x"].id`, `var.lab_host_a_id["x"]`, "map(string) = module.app.lab_host_a_id",
			"{ for key, object in lab_host.a : key => object.id }"},
		{`lab_host.a[each.key].id`, `var.lab_host_a_id[each.key]`, "map(string) = module.app.lab_host_a_id",
			"{ for key, object in lab_host.a : key => object.id }"},
		{`lab_host.a[0].id`, `var.lab_host_a_id[0]`, "list(string) = module.app.lab_host_a_id", "lab_host.a[*].id"},
		{`lab_host.other[count.index].arn`, `var.lab_host_other_arn[count.index]`,
			"list(string) = lab_host.other[*].arn", ""},
		{"data.lab_state.net.outputs.vpc", "var.net_outputs_vpc", "string = data.lab_state.net.outputs.vpc", ""},
		{`"${lab_host.a.id}/x"`, `"${var.lab_host_a_id}/x"`, "string = module.app.lab_host_a_id", "lab_host.a.id"},
		{"lab_host.b.id", "lab_host.b.id", "", ""},
		{`{ "x" = each.value }[each.key]`, `{ "x" = each.value }[each.key]`, "", ""},
	} {
		var objects []*Object
		for _, o := range []string{"i-1 a 4 team=app", "i-2 b 4 team=b"} {
			o := lab(o)
			o.Addr = addrs.Resource{Mode: addrs.Managed, Type: o.Type, Name: o.Name}.InInstance("").Instance(addrs.NoKey)
			objects = append(objects, o)
		}
		block := func(r addrs.AbsResource) string {
			text := "resource \"lab_host\" \"" + r.Resource.Name + "\" {\n"
			if r.Resource.Name == "b" {
				text += "  name = " + test.refers + "\n  lifecycle {\n    ignore_changes = [lab_host.a.id]\n  }\n"
			}
			return text + "}\n"
		}
		none := func(string) bool { return false }
		files := Modules(objects, block, "adopted", Grouping{"tag", "team"}, none)
		value, _, _ := strings.Cut(files["adopted_b/main.tf"][strings.Index(files["adopted_b/main.tf"], "  name = "):], "\n")
		if got := strings.TrimPrefix(value, "  name = "); got != test.argument {
			t.Errorf("%s became %s, want %s", test.refers, got, test.argument)
		}
		typ, expr, passed := strings.Cut(test.variable, " = ")
		variables, calls := files["adopted_b/variables.tf"], files["adopted.tf"]
		if passed != (variables != "") || passed && !(strings.Contains(variables, typ) &&
			strings.Contains(calls, " = "+expr+"\n") && strings.Contains(files["adopted_app/outputs.tf"], test.out)) {
			t.Errorf("%s: the files are %v, want %s and %s", test.refers, files, test.variable, test.out)
		}
		if got := objects[1].Addr.String(); got != "module.b.lab_host.b" {
			t.Errorf("the object moved to %s", got)
		}
	}
}

func TestSettle(t *testing.T) {
	addr := func(key int) addrs.AbsInstance {
		return addrs.Resource{Mode: addrs.Managed, Type: "lab_host", Name: "h"}.InInstance("").Instance(addrs.IntKey(key))
	}
	planned := func(name string, size int64) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String), "name": cty.StringVal(name),
			"size": cty.NumberIntVal(size), "token": cty.StringVal("hush").Mark(marks.Sensitive)})
	}
	pending := []Pending{
		{Addr: addr(0), Planned: planned("web", 4)},
		{Addr: addr(1), Planned: planned("gone", 4)},
		{Addr: addr(2), Planned: planned("twice", 4)},
		{Addr: addr(3), Planned: cty.NullVal(cty.DynamicPseudoType)},
		{Addr: addr(4), Problem: "no list"},
	}
	objects := []*Object{lab("i-1 web 4"), lab("i-2 web 5"), lab("i-3 twice 4"), lab("i-4 twice 4"), lab("i-5")}
	found, unsettled := Settle(pending, objects)
	var got []string
	for _, o := range found {
		got = append(got, o.ID+"="+o.Addr.String())
	}
	for _, p := range pending {
		if why := unsettled[p.Addr]; why != "" {
			got = append(got, p.Addr.String()+": "+why)
		}
	}
	want := []string{
		"i-1=lab_host.h[0]",
		"lab_host.h[1]: no object has the planned values. If it doesn't exist, run \"tofu state rm -in-doubt 'lab_host.h[1]'\"",
		"lab_host.h[2]: several objects have the planned values: lab_host i-3, lab_host i-4",
		"lab_host.h[3]: no object has the planned values. If it doesn't exist, run \"tofu state rm -in-doubt 'lab_host.h[3]'\"",
		"lab_host.h[4]: no list",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseIDs(t *testing.T) {
	got, err := ParseIDs("list", []byte("\ufeff# comment\n\nlab_host i-1\nlab_net\ta b \n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("[lab_host i-1 lab_net a b]", fmt.Sprint(got)); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseIDs("list", []byte("lab_host\n")); err == nil || !strings.Contains(err.Error(), "Line 1 of list") {
		t.Errorf("error: %v", err)
	}
}

// TestRefer checks which strings of a block become references, and which outputs they may refer to.
func TestRefer(t *testing.T) {
	st := states.New()
	addr, err := addrs.ParseInstanceText("aws_vpc.main")
	if err != nil {
		t.Fatal(err)
	}
	st.SetCurrent(addr, &states.Object{Attrs: []byte(`{"id": "vpc-1", "arn": "chosen", "name": "chosen"}`)}, addrs.ProviderInstance{})
	for name, v := range map[string]cty.Value{"vpc": cty.StringVal("vpc-1"), "again": cty.StringVal("vpc-1"), "chosen": cty.StringVal("chosen"),
		"other": cty.StringVal("eu"), "list": cty.ListVal([]cty.Value{cty.StringVal("vpc-1")})} {
		st.SetOutput(name, &states.Output{Value: v})
	}
	refs := map[string]string{}
	AddOutputs(refs, st, "data.terraform_remote_state.net")
	if len(refs) != 1 || refs["vpc-1"] != "data.terraform_remote_state.net.outputs.again" {
		t.Error(refs)
	}
	refs["vpc-1"] = "REF"
	got := Refer("resource \"t\" \"vpc-1\" {\n  z = \"vpc-1\"\n  for_each = toset([\"vpc-1\"])\n  a = { \"vpc-1\" = [\"vpc-1\", \"x-vpc-1\"] }\n"+
		"  b {\n    c = { \"vpc-1\" = \"vpc-1\" }[each.key]\n  }\n}\n", refs)
	want := "resource \"t\" \"vpc-1\" {\n  z = REF\n  for_each = toset([\"vpc-1\"])\n  a = { \"vpc-1\" = [REF, \"x-vpc-1\"] }\n" +
		"  b {\n    c = { \"vpc-1\" = REF }[each.key]\n  }\n}\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// TestPlain checks the names of objects with letters that identifiers don't have.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{"Müller & Söhne": "muller_sohne", "Éclair-1": "eclair_1", "名前": "", "ﬁle": "file"} {
		if got := plain(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
