package blocks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

type config struct {
	Address string            `cfg:"address,required" env:"T_ADDRESS" doc:"Where it is."`
	Bucket  string            `cfg:"bucket,required"`
	Retries int               `cfg:"retries" env:"T_RETRIES" default:"2"`
	Skip    bool              `cfg:"skip" env:"T_SKIP"`
	Headers map[string]string `cfg:"headers"`
	Names   []string          `cfg:"names"`
	Token   string            `cfg:"token,sensitive" env:"T_TOKEN,T_TOKEN_OLD"`
	own     int
}

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
	}), &got, func(name string) string { return env[name] })
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
	}), new(config), func(name string) string { return env[name] })
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
