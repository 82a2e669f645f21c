package addrs

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"
)

func TestParseTargetText(t *testing.T) {
	for _, test := range []struct {
		text string
		want string // the parsed address; "" for an error
		err  string
	}{
		{"lab_object.a", "lab_object.a", ""},
		{"resource.lab_object.a", "lab_object.a", ""},
		{"data.lab_object.a[0]", "data.lab_object.a[0]", ""},
		{"ephemeral.lab_object.a", "ephemeral.lab_object.a", ""},
		{`lab_object.a["x\ny"]`, `lab_object.a["x\ny"]`, ""},
		{"module.net", "module.net", ""},
		{`module.net["a.b"].module.sub[1]`, `module.net["a.b"].module.sub[1]`, ""},
		{"module.net[0].lab_object.a[1]", "module.net[0].lab_object.a[1]", ""},
		{"lab_object", "", "must consist of a resource type and a name"},
		{"data.lab_object", "", "must consist of a resource type and a name"},
		{"module", "", "must be followed by a module name"},
		{"module[0]", "", "must be followed by a module name"},
		{"module.net[1.5]", "", "non-negative integer"},
		{"lab_object.a[-1]", "", "Can't parse"},
		{"lab_object.a.id", "", "must end with its name or an instance key"},
		{"lab_object.a[0].id", "", "must end with its name or an instance key"},
		{"lab_object.a[*]", "", "Can't parse"},
		{"", "", "Can't parse"},
	} {
		got, err := ParseTargetText(test.text)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%q: got %v, %v; want the error %q", test.text, got, err, test.err)
			}
		case err != nil || got.String() != test.want:
			t.Errorf("%q: got %v, %v; want %s", test.text, got, err, test.want)
		}
	}
}

func TestParseInstanceAndModuleText(t *testing.T) {
	if got, err := ParseInstanceText("module.m.lab_object.a"); err != nil || got.Key != NoKey ||
		got.Module != "module.m" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseInstanceText("module.m"); err == nil {
		t.Errorf("got the instance %v of a module", got)
	}
	if got, err := ParseModuleInstanceText("module.m[0]"); err != nil || got != "module.m[0]" {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseModuleInstanceText(""); err != nil || got != RootInstance {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := ParseModuleInstanceText("lab_object.a"); err == nil {
		t.Errorf("got the module %v of a resource", got)
	}
}

func TestParseConfigResourceText(t *testing.T) {
	for text, want := range map[string]string{
		"lab_object.a":                          "lab_object.a",
		"data.lab_object.a":                     "data.lab_object.a",
		"module.m.ephemeral.lab_object.a":       "module.m.ephemeral.lab_object.a",
		"module.m.module.n.lab_object.a":        "module.m.module.n.lab_object.a",
		"module.module.module.module.m.module":  "module.module.module.module.m.module",
		"module.m.lab_object":                   "",
		"lab_object":                            "",
		"lab_object.":                           "",
		`lab_object.a["x"]`:                     "",
		"module.m[0].lab_object.a":              "",
		"module.m.data.lab_object.a.unexpected": "",
	} {
		got, ok := ParseConfigResourceText(text)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: got %v, %v; want %q", text, got, ok, want)
		}
	}
}

func TestParseProviderInstanceText(t *testing.T) {
	for text, want := range map[string]string{
		`provider["registry.opentofu.org/hashicorp/lab"]`:         `provider["registry.opentofu.org/hashicorp/lab"]`,
		`module.m.provider["example.com/a/b"].west`:               `module.m.provider["example.com/a/b"].west`,
		`module.m.module.n.provider["example.com/a/b"].west["k"]`: `module.m.module.n.provider["example.com/a/b"].west["k"]`,
		`provider["-/lab"]`:                     `provider["registry.opentofu.org/-/lab"]`,
		`provider["example.com/a/b"].west[1.5]`: "",
		`provider["a/b/c/d"]`:                   "",
		`provider.lab`:                          "",
		`provider[0]`:                           "",
		`resource["registry.opentofu.org/hashicorp/lab"]`: "",
		`provider["registry.opentofu.org/hashicorp/lab"`:  "",
	} {
		got, err := ParseProviderInstanceText(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%s: got %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestParseRef(t *testing.T) {
	for _, test := range []struct {
		text      string
		subject   string // expected subject; "" if an error is expected
		remaining string
		scope     Scope
	}{
		{"var.a.b[0]", "var.a", ".b[0]", ModuleScope},
		{"local.a", "local.a", "", ModuleScope},
		{"each.value.x", "each.value", ".x", ModuleScope},
		{"count.index", "count.index", "", ModuleScope},
		{"path.module", "path.module", "", ModuleScope},
		{"tofu.workspace", "tofu.workspace", "", ModuleScope},
		{"self.id", "self", ".id", ModuleScope},
		{"lab_object.a.id", "lab_object.a", ".id", ModuleScope},
		{"lab_object.a[0].id", "lab_object.a[0]", ".id", ModuleScope},
		{`resource.lab_object.a["k"]`, `lab_object.a["k"]`, "", ModuleScope},
		{"data.lab_object.a", "data.lab_object.a", "", ModuleScope},
		{"ephemeral.lab_object.a", "ephemeral.lab_object.a", "", ModuleScope},
		{"module.m", "module.m", "", ModuleScope},
		{"module.m.out.x", "module.m.out", ".x", ModuleScope},
		{"module.m[0]", "module.m[0]", "", ModuleScope},
		{"module.m[0].out", "module.m[0].out", "", ModuleScope},
		{"run.a.x", "run.a", ".x", TestScope},
		{"run.a", "run.a", "", ModuleScope}, // a resource of type "run"
		{"run.a.x", "run.a", ".x", ModuleScope},
		{"output.a", "output.a", "", TestScope},
		{"var", "", "", ModuleScope},
		{"var[0]", "", "", ModuleScope},
		{"lab_object", "", "", ModuleScope},
		{"data.lab_object", "", "", ModuleScope},
		{"lab_object[0].a", "", "", ModuleScope},
		{"lab_object.a[1.5]", "", "", ModuleScope},
		{"module", "", "", ModuleScope},
		{"module[0]", "", "", ModuleScope},
		{"template.a", "", "", ModuleScope},
	} {
		tr, hclDiags := hclsyntax.ParseTraversalAbs([]byte(test.text), "t.tf", hcl.InitialPos)
		if hclDiags.HasErrors() {
			t.Fatal(hclDiags)
		}
		ref, err := ParseRef(tr, test.scope)
		if test.subject == "" {
			if err == nil || !strings.HasPrefix(err.Error(), "t.tf:1: ") {
				t.Errorf("%s: got %v, %v; want an error with a range", test.text, ref, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		remaining, _ := StepsText(ref.Remaining)
		if got := ref.Subject.String(); got != test.subject || remaining != test.remaining {
			t.Errorf("%s: got %s and %s, want %s and %s", test.text, got, remaining, test.subject, test.remaining)
		}
		if want := len(test.text) - len(test.remaining); ref.Range.End.Byte-ref.Range.Start.Byte != want {
			t.Errorf("%s: the range has %d bytes, want %d", test.text, ref.Range.End.Byte-ref.Range.Start.Byte, want)
		}
	}
}

// TestAddressRoundTrip checks that the text of every instance address is parsed to the same
// address.
func TestAddressRoundTrip(t *testing.T) {
	key := rapid.Custom(func(t *rapid.T) InstanceKey {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return IntKey(rapid.IntRange(0, 1<<40).Draw(t, "int"))
		case 1:
			return StringKey(rapid.StringOf(rapid.SampledFrom([]rune("a\"\\$%{}[].\n\t\r\x01é\u200b𝄞"))).Draw(t,
				"string"))
		}
		return NoKey
	})
	name := rapid.StringMatching(`[a-z_][a-z0-9_-]{0,5}`)
	rapid.Check(t, func(t *rapid.T) {
		var module ModuleInstance
		var path Module
		var steps []Step
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			step := Step{name.Draw(t, "call"), key.Draw(t, "call key")}
			steps = append(steps, step)
			parent := module
			module, path = module.Child(step.Name, step.Key), path.Child(step.Name)
			if got, last := module.Parent(); got != parent || last != step {
				t.Fatalf("Parent of %s: %s, %v", module, got, last)
			}
			if !parent.Contains(module) || module.Contains(parent) {
				t.Fatalf("Contains of %s and %s", parent, module)
			}
		}
		if got := module.Steps(); len(got) != len(steps) {
			t.Fatalf("Steps of %s: %v", module, got)
		}
		if module.Module() != path || path.UnkeyedInstance().Module() != path {
			t.Fatalf("Module of %s: %s, want %s", module, module.Module(), path)
		}
		mode := rapid.SampledFrom([]ResourceMode{Managed, Data, Ephemeral}).Draw(t, "mode")
		in := AbsInstance{module, Resource{mode, "lab_object", name.Draw(t, "name")}, key.Draw(t, "key")}
		out, err := ParseInstanceText(in.String())
		if err != nil || out != in || out.Compare(in) != 0 {
			t.Fatalf("%s: got %#v, want %#v: %v", in, out, in, err)
		}
		if config, ok := ParseConfigResourceText(in.Config().String()); !ok || config != in.Config() {
			t.Fatalf("%s: got %v, want %v", in, config, in.Config())
		}
	})
}

func TestTargetContainsInstance(t *testing.T) {
	for _, test := range []struct {
		target, instance string
		want             bool
	}{
		{"lab_object.a", "lab_object.a", true},
		{"lab_object.a", "lab_object.a[0]", true},
		{"lab_object.a[0]", "lab_object.a[0]", true},
		{"lab_object.a[0]", "lab_object.a[1]", false},
		{"lab_object.a", "data.lab_object.a", false},
		{"lab_object.a", "module.m.lab_object.a", false},
		{"module.m", "module.m.lab_object.a", true},
		{"module.m", "module.m[0].module.n.lab_object.a", true},
		{"module.m[0]", "module.m[1].lab_object.a", false},
		{"module.m.lab_object.a", "module.m[0].lab_object.a[1]", true},
		{"module.m.lab_object.a", "module.m.module.n.lab_object.a", false},
		{"module.m.module.n", "module.m.lab_object.a", false},
		{"module.m", "module.mm.lab_object.a", false},
	} {
		target, err := ParseTargetText(test.target)
		instance, instanceErr := ParseInstanceText(test.instance)
		if err != nil || instanceErr != nil {
			t.Fatal(err, instanceErr)
		}
		if got := target.ContainsInstance(instance); got != test.want {
			t.Errorf("%s contains %s: %v, want %v", test.target, test.instance, got, test.want)
		}
	}
}
