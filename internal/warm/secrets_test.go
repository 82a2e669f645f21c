package warm

import (
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

func TestSecrets(t *testing.T) {
	s := newSecrets([]string{"TF_VAR_x=first secret", "AWS_SECRET_ACCESS_KEY=two\"quotes\nand-lines", "HOME=/home/user",
		"API_TOKEN=short", "MY_PASSWORD=hidden", "TF_VAR_y=first secret and more"})
	for in, want := range map[string]string{
		`{"a":"the FIRST Secret is","n":12345678901234567890}`: `{"a":"the *** is","n":12345678901234567890}`,
		`["first secret and more", "/home/user", "short"]`:     `["***","/home/user","short"]`,
		`{"first secret": "and-lines"}`:                        `{"***":"***"}`,
		`"two\"quotes\nand-lines!"`:                            `"***!"`,
		`"hidden"`:                                             `"***"`,
		`"\u202eevil\u001b[31m <b>"`:                           `"\\u202eevil␛[31m <b>"`,
	} {
		got, err := s.Clean([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

// TestLiterals checks which literals of a block are secret.
func TestLiterals(t *testing.T) {
	attributes := map[string]*configschema.Attribute{
		"password": {Type: cty.String, Optional: true, Sensitive: true}, "once": {Type: cty.String, Optional: true, WriteOnly: true},
		"pins": {Type: cty.Map(cty.Number), Optional: true, Sensitive: true}, "token": {Type: cty.String, Optional: true}}
	schema := &configschema.Block{Attributes: attributes, BlockTypes: map[string]*configschema.NestedBlock{
		"user":  {Block: configschema.Block{Attributes: attributes}, Nesting: configschema.NestingList},
		"named": {Block: configschema.Block{Attributes: attributes}, Nesting: configschema.NestingMap}}}
	f, diags := hclsyntax.ParseConfig([]byte(`
password = "secret-1"
once     = "secret-2"
pins     = { a = 1234567 }
token    = "public-1"
other    = "public-2"
user {
  password = "secret-3"
}
named "a" {
  once = "secret-4"
}
unknown {
  password = "public-3"
}
`), "test.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for names, want := range map[bool][]string{false: {"1234567", "secret-1", "secret-2", "secret-3", "secret-4"},
		true: {"1234567", "public-1", "secret-1", "secret-2", "secret-3", "secret-4"}} {
		s := newSecrets(nil)
		s.body(f.Body, schema, names)
		var got []string
		for text := range s.texts {
			got = append(got, text)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("with names %v: %v", names, got)
		}
	}
}
