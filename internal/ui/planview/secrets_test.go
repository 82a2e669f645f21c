package planview

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
)

// secretPaths returns the paths of the sensitive parts of a value.
func secretPaths(v cty.Value) cty.PathSet {
	out := cty.NewPathSet()
	_, pvms := v.UnmarkDeepWithPaths()
	for _, pvm := range pvms {
		if _, ok := pvm.Marks[marks.Sensitive]; ok {
			out.Add(pvm.Path)
		}
	}
	return out
}

// TestMarkOutput checks that the output of a terraform_data resource is sensitive where its
// input is.
func TestMarkOutput(t *testing.T) {
	text, secret := cty.StringVal("x"), cty.StringVal("x").Mark(marks.Sensitive)
	object := func(a cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"a": a, "b": text}) }
	whole := cty.GetAttrPath("output")
	part := whole.GetAttr("a")
	data := addrs.Resource{Mode: addrs.Managed, Type: "terraform_data", Name: "d"}
	for name, test := range map[string]struct {
		in, out  cty.Value // input and output of the resource
		provider addrs.Provider
		want     []cty.Path // sensitive paths of the output
	}{
		"nothing is secret":   {object(text), object(text), addrs.BuiltinTerraform, nil},
		"a part":              {object(secret), object(text), addrs.BuiltinTerraform, []cty.Path{part}},
		"the whole":           {secret, text, addrs.BuiltinTerraform, []cty.Path{whole}},
		"of another input":    {object(secret), text, addrs.BuiltinTerraform, []cty.Path{whole}},
		"nothing known":       {object(secret), cty.DynamicVal, addrs.BuiltinTerraform, nil},
		"a provider's object": {object(secret), object(text), addrs.DefaultProvider("fake"), nil},
	} {
		v := MarkOutput(cty.ObjectVal(map[string]cty.Value{"input": test.in, "output": test.out}), test.provider, data)
		got := secretPaths(v.GetAttr("output"))
		want := cty.NewPathSet()
		for _, path := range test.want {
			want.Add(path[1:])
		}
		if !got.Equal(want) {
			t.Errorf("%s: the secret parts are %v, want %v", name, got.List(), want.List())
		}
	}
	if null := cty.NullVal(cty.DynamicPseudoType); !MarkOutput(null, addrs.BuiltinTerraform, data).RawEquals(null) {
		t.Error("an object that doesn't exist is changed")
	}
}

// TestMarkSecrets checks that values that the schema declares sensitive are marked only once.
func TestMarkSecrets(t *testing.T) {
	sch := &providers.ResourceSchema{Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"password": {Type: cty.String, Optional: true, Sensitive: true}, "name": {Type: cty.String, Optional: true}}}}
	v := cty.ObjectVal(map[string]cty.Value{"password": cty.StringVal("x"), "name": cty.StringVal("y")})
	marked := MarkSecrets(v, sch)
	if got := secretPaths(marked); len(got.List()) != 1 || !got.Has(cty.GetAttrPath("password")) {
		t.Errorf("the secret parts are %v", got.List())
	}
	if !MarkSecrets(marked, sch).RawEquals(marked) || !MarkSecrets(v, nil).RawEquals(v) {
		t.Error("a value that has all marks, or no schema, is changed")
	}
}
