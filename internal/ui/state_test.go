package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/ui/termtext"
	"tofu/internal/version"
)

var cloud = addrs.Provider{Host: addrs.DefaultHost, Namespace: "example", Type: "cloud"}

func provided() addrs.ProviderInstance {
	return addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: cloud}}
}

// testState returns a state with objects of each kind: current, tainted, deposed and so on.
func testState() *states.State {
	st := states.New()
	obj := func(text string, change func(*states.Object)) *states.Object {
		o := &states.Object{Attrs: []byte(text), SchemaVersion: 2,
			SensitivePaths: []cty.Path{cty.GetAttrPath("tags").IndexString("k")}}
		if change != nil {
			change(o)
		}
		return o
	}
	attrs := func(id string) string {
		return fmt.Sprintf(
			`{"id":%q,"name":"web","image":"a\nb","size":2,"spot":null,"password":"hush","token_wo":null,"tags":{"k":"hush"},"ports":[1],`+
				`"zones":["x"],"shape":null,"settings":{"level":1,"key":"hush","rules":null,"named":null},"disk":[{"size":1,"kind":"ssd","mount":null}],`+
				`"member":[],"timeouts":null,"label":{}}`, id)
	}
	st.SetCurrent(instance("cloud_server.web"), obj(attrs("i-1"), func(o *states.Object) {
		o.Identity = []byte(`{"id":"i-1"}`)
		o.Dependencies = states.NewDependencies([]addrs.ConfigResource{{Resource: addrs.Resource{Mode: addrs.Managed,
			Type: "cloud_note", Name: "n"}}})
	}), provided())
	st.SetDeposed(instance("cloud_server.web"), "0123abcd", obj(attrs("i-0"), nil), provided())
	st.SetCurrent(instance(`module.m["a"].module.n[0].cloud_server.bad[1]`),
		obj(attrs("i-2"), func(o *states.Object) { o.Status = states.Tainted }), provided())
	st.EnsureResource(instance("module.empty.cloud_server.none").Abs(), provided().Config)
	st.SetCurrent(instance("data.cloud_image.d"), obj(`{"id":"x","name":"base"}`, nil), provided())
	st.SetOutput("o",
		&states.Output{Value: cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.NullVal(cty.String)}),
			Deprecated: "use p"})
	st.SetOutput("s", &states.Output{Value: cty.StringVal("hush"), Sensitive: true})
	st.Checks = &checks.Results{}
	st.Checks.Declare(checks.KindResource,
		"module.m.cloud_server.bad").Set(`module.m["a"].cloud_server.bad["k.l"]`, checks.Fail, []string{"It is bad."})
	st.Checks.Declare(checks.KindOutput, "module.m.output.o").Set(`module.m["x.y"].output.o`, checks.Pass, nil)
	st.Checks.Declare(checks.KindCheck, "check.c").Set("check.c", checks.Error, nil)
	st.Checks.Declare(checks.KindVariable, "var.v").Set("var.v", checks.Unknown, nil)
	st.Checks.Declare(checks.KindResource, "data.cloud_image.none").Summarize()
	return st
}

func TestState(t *testing.T) {
	schemas := testSchemas(t)
	golden(t, "state", func(t *testing.T, _ map[string]string) map[string]string {
		human := func(v *StateView) string {
			var b bytes.Buffer
			if err := NewHuman(Options{Out: &b}).State(v); err != nil {
				t.Error(err)
			}
			if strings.Contains(b.String(), "hush") {
				t.Errorf("a secret is shown:\n%s", b.String())
			}
			return b.String()
		}
		only := instance(`module.m["a"].module.n[0].cloud_server.bad[1]`)
		all := &StateView{State: testState(), Schemas: schemas}
		one := &StateView{State: testState(), Schemas: schemas, Only: &only}
		var doc, docOne, empty bytes.Buffer
		for v, b := range map[*StateView]*bytes.Buffer{all: &doc, one: &docOne, {State: states.New()}: &empty} {
			if err := WriteState(b, v, "1.12.6"); err != nil {
				t.Fatal(err)
			}
		}
		return map[string]string{
			"human": human(all), "one": human(one), "empty": human(&StateView{State: states.New()}),
			"document": indented(t, doc.Bytes()), "document of one": indented(t, docOne.Bytes()),
			"empty document": empty.String(),
		}
	})
}

func TestStateNeedsSchemas(t *testing.T) {
	err := WriteState(&bytes.Buffer{}, &StateView{State: testState()}, "1.12.6")
	if err == nil || !strings.Contains(err.Error(), "example/cloud") {
		t.Errorf("got %v", err)
	}
}

func TestOutputDocuments(t *testing.T) {
	outputs := map[string]*states.Output{
		"a": {Value: cty.ListVal([]cty.Value{cty.StringVal("<x>")}), Deprecated: "d"},
		"s": {Value: cty.StringVal("secret"), Sensitive: true},
	}
	var all, one bytes.Buffer
	if err := WriteOutputs(&all, outputs); err != nil {
		t.Fatal(err)
	}
	if err := WriteOutput(&one, outputs["s"]); err != nil {
		t.Fatal(err)
	}
	want := `{"a":{"deprecated":"d","sensitive":false,"type":["list","string"],"value":["\u003cx\u003e"]},"s":{"sensitive":true,"type":"string","value":"secret"}}`
	if got := strings.TrimSpace(indented(t, all.Bytes())); strings.Join(strings.Fields(got), "") != want {
		t.Errorf("got %s", got)
	}
	if got := one.String(); got != "\"secret\"\n" {
		t.Errorf("got %q", got)
	}
	if got, want := OutputsText(outputs, false), "a = tolist([\n  \"<x>\",\n])\ns = <sensitive>\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := OutputsText(outputs, true); !strings.Contains(got, `s = "secret"`) {
		t.Errorf("got %q", got)
	}
}

func TestFormatValue(t *testing.T) {
	list := func(v ...cty.Value) cty.Value { return cty.ListVal(v) }
	str := cty.StringVal
	for want, v := range map[string]cty.Value{
		"null":                         cty.NullVal(cty.DynamicPseudoType),
		"tostring(null)":               cty.NullVal(cty.String),
		"tolist(null) /* of string */": cty.NullVal(cty.List(cty.String)),
		"tolist([])":                   cty.ListValEmpty(cty.String),
		"toset([\n  \"a\",\n])":        cty.SetVal([]cty.Value{str("a")}),
		"tomap({\n  \"a b\" = 1\n})":   cty.MapVal(map[string]cty.Value{"a b": cty.NumberIntVal(1)}),
		"{\n  \"a\" = {\n    \"b\" = 1.5\n  }\n}": cty.ObjectVal(
			map[string]cty.Value{"a": cty.ObjectVal(map[string]cty.Value{"b": cty.NumberFloatVal(1.5)})}),
		"{}": cty.EmptyObjectVal, "[]": cty.EmptyTupleVal, "true": cty.True,
		"(known after apply)":                      cty.UnknownVal(cty.String),
		"(sensitive value)":                        str("x").Mark(marks.Sensitive),
		"(ephemeral value)":                        str("x").Mark(marks.Ephemeral).Mark(marks.Sensitive),
		"[\n  (sensitive value),\n]":               cty.TupleVal([]cty.Value{str("x").Mark(marks.Sensitive)}),
		"<<EOT\na\nb\nEOT":                         str("a\nb"),
		"tolist([\n  <<-EOT\n  a\n  b\n  EOT,\n])": list(str("a\nb")),
		`"\"${x}\" \\ \t \x1b"`:                    str("\"${x}\" \\ \t \x1b"),
		"123456789012345678901234567890.125":       cty.MustParseNumberVal("123456789012345678901234567890.125"),
		"[\n  {\n    \"a\" = tobool(null)\n  },\n]": cty.TupleVal(
			[]cty.Value{cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.Bool)})}),
	} {
		if got := FormatValue(v); got != want {
			t.Errorf("%#v: got %q, want %q", v, got, want)
		}
	}
}

// secretValues generates values in which each string that starts with "hush" is secret: it is
// marked sensitive or ephemeral, or is inside a value that is.
func secretValues() *rapid.Generator[cty.Value] {
	return rapid.Custom(func(t *rapid.T) cty.Value { return drawValue(t, 3, false) })
}

func drawValue(t *rapid.T, depth int, covered bool) cty.Value {
	if !covered && rapid.IntRange(0, 4).Draw(t, "mark") == 0 {
		mark := rapid.SampledFrom([]any{marks.Sensitive, marks.Ephemeral}).Draw(t, "kind of mark")
		return drawValue(t, depth, true).Mark(mark)
	}
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		texts := []string{"a", "b\nc", `{"a":1}`, ""}
		if covered {
			texts = []string{"hush", "hush\nhush", `{"a":"hush"}`}
		}
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return cty.NumberIntVal(int64(rapid.IntRange(0, 3).Draw(t, "n")))
		case 1:
			return cty.UnknownVal(cty.String)
		}
		return cty.StringVal(rapid.SampledFrom(texts).Draw(t, "text"))
	}
	elems := make([]cty.Value, rapid.IntRange(0, 3).Draw(t, "size"))
	attrs := make(map[string]cty.Value)
	for i := range elems {
		elems[i] = drawValue(t, depth-1, covered)
		attrs[rapid.SampledFrom([]string{"a", "b", "id", "odd key"}).Draw(t, "name")] = elems[i]
	}
	switch rapid.IntRange(0, 2).Draw(t, "container") {
	case 0:
		return cty.TupleVal(elems)
	case 1:
		set, err := setOf(elems)
		if err == nil {
			return set
		}
	}
	return cty.ObjectVal(attrs)
}

// setOf returns a set of the strings among the values. It has the marks of all values.
func setOf(values []cty.Value) (cty.Value, error) {
	var texts []cty.Value
	for _, v := range values {
		if v.Type() == cty.String {
			texts = append(texts, v)
		}
	}
	if len(texts) == 0 {
		return cty.NilVal, fmt.Errorf("no strings")
	}
	return cty.SetVal(texts), nil
}

func TestSecretsAreNeverShown(t *testing.T) {
	schemas := testSchemas(t)
	rapid.Check(t, func(t *rapid.T) {
		before, after := secretValues().Draw(t, "before"), secretValues().Draw(t, "after")
		object := func(v cty.Value) cty.Value {
			return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("x"), "any": v})
		}
		changes := &plans.Changes{Outputs: []*plans.OutputChange{{Name: "o", Action: plans.Update,
			Before: before, After: after}}}
		for name, c := range map[string]*plans.InstanceChange{
			"cloud_note.u": {Action: plans.Update, Before: object(before), After: object(after)},
			"cloud_note.c": {Action: plans.Create, Before: cty.NullVal(cty.DynamicPseudoType), After: object(after)},
			"cloud_note.d": {Action: plans.Delete, Before: object(before), After: cty.NullVal(cty.DynamicPseudoType)},
			"cloud_note.f": {Action: plans.Forget, Before: object(before), After: cty.NullVal(cty.DynamicPseudoType)},
			"cloud_note.n": {Action: plans.NoOp, Before: object(before), After: object(before),
				Importing: &plans.Importing{ID: "x"}},
		} {
			c.Addr, c.Provider = instance(name), provided()
			changes.Instances = append(changes.Instances, c)
		}
		view := &PlanView{Plan: &plans.Plan{Changes: changes, Drift: changes.Instances}, Schemas: schemas,
			Config: &configs.Config{Module: &configs.Module{}}}
		var human bytes.Buffer
		p := NewHuman(Options{Out: &human})
		p.Plan(view)
		p.Message(Text{valueDiff(before, after, termtext.Style{}) + FormatValue(before)})
		if strings.Contains(human.String(), "hush") {
			t.Fatalf("a secret is shown:\n%s", human.String())
		}
		var lines, doc bytes.Buffer
		NewJSON(Options{Out: &lines}).Plan(view)
		if strings.Contains(lines.String(), "hush") {
			t.Fatalf("a secret is in the events:\n%s", lines.String())
		}
		if err := WritePlan(&doc, view, "1", version.Info{Name: "tofu", Version: "1"}); err != nil {
			t.Fatal(err)
		}
	})
}
