package blocks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

type config struct {
	Address string            `cfg:"address,required" env:"T_ADDRESS"`
	Bucket  string            `cfg:"bucket,required"`
	Retries int               `cfg:"retries" env:"T_RETRIES" default:"2"`
	Skip    bool              `cfg:"skip" env:"T_SKIP"`
	Headers map[string]string `cfg:"headers"`
	Names   []string          `cfg:"names"`
	Token   string            `cfg:"token,sensitive" env:"T_TOKEN,T_TOKEN_OLD"`
	own     int
}

func (*config) Docs() blocks.Docs { return blocks.Docs{"address": "Where it is."} }

func TestSchema(t *testing.T) {
	schema := blocks.Schema(new(config))
	var required, sensitive []string
	for _, name := range []string{"address", "bucket", "retries", "skip", "headers", "names", "token"} {
		attr := schema.Attributes[name]
		if attr == nil {
			t.Fatalf("no attribute %s", name)
		}
		if attr.Required {
			required = append(required, name)
		}
		if attr.Sensitive {
			sensitive = append(sensitive, name)
		}
	}
	if diff := cmp.Diff([][]string{{"bucket"}, {"token"}}, [][]string{required, sensitive}); diff != "" {
		t.Error(diff)
	}
	if got := schema.Attributes["headers"].Type; !got.Equals(cty.Map(cty.String)) {
		t.Errorf("headers has type %#v", got)
	}
}

func TestDecode(t *testing.T) {
	env := map[string]string{"T_ADDRESS": "from-env", "T_SKIP": "1", "T_TOKEN_OLD": "secret"}
	got := config{own: 1}
	err := blocks.Decode(cty.ObjectVal(map[string]cty.Value{
		"address": cty.NullVal(cty.String),
		"bucket":  cty.StringVal("b"),
		"headers": cty.MapVal(map[string]cty.Value{"X": cty.StringVal("1")}),
		"names":   cty.TupleVal([]cty.Value{cty.StringVal("n"), cty.Zero}),
	}), &got, func(name string) string { return env[name] }, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	want := config{Address: "from-env", Bucket: "b", Retries: 2, Skip: true, Headers: map[string]string{"X": "1"},
		Names: []string{"n", "0"}, Token: "secret", own: 1}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	env := map[string]string{"T_RETRIES": "many"}
	err := blocks.Decode(cty.ObjectVal(map[string]cty.Value{
		"bucket": cty.StringVal(""),
		"skip":   cty.UnknownVal(cty.Bool),
		"names":  cty.True,
	}), new(config), func(name string) string { return env[name] }, tfdiags.Drop)
	var got []string
	for _, d := range tfdiags.FromError(err) {
		got = append(got, d.Detail)
		if len(d.Path) != 1 {
			t.Errorf("%s has no path", d.Detail)
		}
	}
	want := []string{
		`The argument "address" is invalid: it is required, here or in the environment variable T_ADDRESS.`,
		`The argument "bucket" is invalid: it must not be empty.`,
		`The environment variable T_RETRIES, which sets the argument "retries", is invalid: a number is required.`,
		`The argument "skip" is invalid: its value must be known before planning.`,
		`The argument "names" is invalid: list of string required, but have bool.`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
		t.Error(diff)
	}
}

type nestedConfig struct {
	Common
	Bucket    string    `cfg:"bucket,required"`
	Old       string    `cfg:"old"`
	Key       string    `cfg:"key" conflicts:"bucket"`
	Mode      string    `cfg:"mode" env:"T_MODE" oneof:"standard,adaptive"`
	Endpoints endpoints `cfg:"endpoints"`
	Role      *role     `cfg:"role"`
	Exec      *role     `cfg:"exec,block"`
	Many      []role    `cfg:"many,block"`
}

func (*nestedConfig) Deprecated() blocks.Docs { return blocks.Docs{"old": `Use "bucket" instead.`} }

func (*role) Deprecated() blocks.Docs { return blocks.Docs{"tags": "Leave them out."} }

type Common struct {
	Region string `cfg:"region" env:"T_REGION"`
}

type endpoints struct {
	S3  string `cfg:"s3" env:"T_S3"`
	STS string `cfg:"sts"`
}

type role struct {
	ARN  string   `cfg:"arn,required"`
	Tags []string `cfg:"tags"`
}

func (c *nestedConfig) Check() error {
	if c.Bucket == "refused" {
		return blocks.Invalid([]string{"role", "arn"}, "the bucket is %s", c.Bucket)
	}
	return nil
}

// decode evaluates the text of a block and decodes it.
func decode(t *testing.T, text string, env map[string]string) (*nestedConfig, tfdiags.Diagnostics, error) {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCL([]byte(text), "main.tf")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	schema := blocks.Schema(new(nestedConfig))
	schema.Attributes["bucket"].Required, schema.Attributes["bucket"].Optional = false, true
	v, diags := schema.Decode(file.Body, nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var warnings tfdiags.Diagnostics
	out := new(nestedConfig)
	err := blocks.Decode(v, out, func(name string) string { return env[name] }, warnings.Add)
	place := func(d tfdiags.Diagnostics) tfdiags.Diagnostics { return d.InConfigBody(file.Body, "") }
	return out, place(warnings), tfdiags.MapError(err, place)
}

func TestNested(t *testing.T) {
	env := map[string]string{"T_S3": "from-env", "T_REGION": "r"}
	got, warnings, err := decode(t, `
bucket    = "b"
endpoints = { sts = "https://sts" }
role      = { arn = "1", tags = ["x"] }
exec { arn = "2" }
many { arn = "3" }
many { arn = "4" }
`, env)
	if err != nil {
		t.Fatal(err)
	}
	want := &nestedConfig{Common: Common{"r"}, Bucket: "b", Endpoints: endpoints{"from-env", "https://sts"},
		Role: &role{"1", []string{"x"}}, Exec: &role{ARN: "2"}, Many: []role{{ARN: "3"}, {ARN: "4"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || warnings[0].Error() !=
		`main.tf:4: Deprecated argument: The argument "role.tags" is deprecated. Leave them out.` {
		t.Errorf("warnings: %v", warnings)
	}
	got, _, err = decode(t, `bucket = "b"`, env)
	if err != nil || got.Role != nil || got.Exec != nil || got.Many != nil || got.Endpoints.S3 != "from-env" {
		t.Errorf("without nested values: %+v, %v", got, err)
	}
}

func TestNestedErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\nbucket = \"b\"\nkey = \"k\"": `main.tf:3: Invalid configuration: The ` +
			`argument "key" is invalid: it can't be set together with "bucket".`,
		"mode = \"slow\"\nbucket=\"b\"": `main.tf:1: Invalid configuration: The ` +
			`argument "mode" is invalid: "slow" is not one of standard, adaptive.`,
		"bucket = \"refused\"\n\nrole = {\n  arn = \"x\"\n}": `main.tf:4: Invalid configuration: The ` +
			`argument "role.arn" is invalid: the bucket is refused.`,
		"bucket = \"b\"\nmany {\n arn = \"x\"\n}\nmany {\n arn = \"\"\n}": `main.tf:6: Invalid configuration: The ` +
			`argument "many[1].arn" is invalid: it must not be empty.`,
	} {
		if _, _, err := decode(t, text, nil); err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
	_, _, err := decode(t, `bucket = "b"`, map[string]string{"T_MODE": "fast"})
	if err == nil || !strings.Contains(err.Error(),
		`The environment variable T_MODE, which sets the argument "mode", is invalid: "fast" is not one of`) {
		t.Error(err)
	}
}
