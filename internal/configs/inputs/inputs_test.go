package inputs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

const declarations = `
variable "free" {}
variable "text" { type = string }
variable "list" { type = list(string) }
variable "any" { type = any }
variable "size" {
  type    = number
  default = 1
}
variable "old" {
  default    = null
  deprecated = "Use size."
}
`

// Each test lists its sources of values in ascending precedence. want lists the resulting values,
// each with its type, and the diagnostics as "position severity summary".
var tests = []struct {
	name  string
	env   []string
	files map[string]string
	flags []Flag
	want  []string
}{
	{
		name: "precedence",
		env:  []string{"TF_VAR_free=env", "TF_VAR_text=env", "TF_VAR_list=[\"env\"]", "TF_VAR_any=1", "PATH=/"},
		files: map[string]string{
			"terraform.tfvars":      "text = \"tfvars\"\nlist = [\"tfvars\"]\nany = 2\nsize = 2\n",
			"terraform.tfvars.json": `{"list": ["json"], "any": 3, "size": 3}`,
			"a.auto.tfvars":         "any = 4\nsize = 4\n",
			"b.auto.tfvars.json":    `{"size": 5}`,
			"x.tfvars":              "size = 6\n",
		},
		flags: []Flag{{Text: "size=7"}, {File: true, Text: "x.tfvars"}},
		want: []string{"any cty.NumberIntVal(4)", `free cty.StringVal("env")`,
			`list cty.TupleVal([]cty.Value{cty.StringVal("json")})`, "size cty.NumberIntVal(6)",
			`text cty.StringVal("tfvars")`},
	},
	{
		name:  "text by type",
		flags: []Flag{{Text: "free=[1]"}, {Text: "text=a=b"}, {Text: "list=[1]"}, {Text: "any=word"}, {Text: "size="}},
		want: []string{
			`free cty.StringVal("[1]")`, `list cty.TupleVal([]cty.Value{cty.NumberIntVal(1)})`,
			`size cty.StringVal("")`, `text cty.StringVal("a=b")`,
			"<value for var.any>:1 error Variables not allowed", "- error No value for required variable any",
		},
	},
	{
		name:  "json strings are not templates",
		files: map[string]string{"terraform.tfvars.json": `{"free": "${1}", "text": "%{x}", "list": [], "any": {}}`},
		want: []string{"any cty.EmptyObjectVal", `free cty.StringVal("${1}")`, "list cty.EmptyTupleVal",
			`text cty.StringVal("%{x}")`},
	},
	{
		name:  "json without extension",
		files: map[string]string{"v.txt": ` {"free": 1, "text": 1, "list": 1, "any": 1}`},
		flags: []Flag{{File: true, Text: "v.txt"}},
		want: []string{"any cty.NumberIntVal(1)", "free cty.NumberIntVal(1)", "list cty.NumberIntVal(1)",
			"text cty.NumberIntVal(1)"},
	},
	{
		name: "errors",
		env:  []string{"TF_VAR_nobody=1", "TF_VAR_free=x", "TF_VAR_text=x", "TF_VAR_list=[]"},
		files: map[string]string{"f.tfvars": "any = max(1, 2)\n", "broken.tfvars": "any = = 1\n",
			"block.tfvars": "any = 1\nb {}\n", "decl.tfvars": "variable \"any\" {}\n"},
		flags: []Flag{{File: true, Text: "f.tfvars"}, {File: true, Text: "broken.tfvars"},
			{File: true, Text: "block.tfvars"}, {File: true, Text: "decl.tfvars"},
			{File: true, Text: "missing.tfvars"}, {Text: "noequals"}, {Text: "a b=1"}, {Text: "ghost=1"}},
		want: []string{
			`free cty.StringVal("x")`, "list cty.EmptyTupleVal", `text cty.StringVal("x")`,
			"broken.tfvars:1 error Invalid expression", "block.tfvars:2 error Unexpected \"b\" block",
			"decl.tfvars:1 error Variable declaration in .tfvars file",
			"- error Failed to read variables file", "- error Invalid -var option", "- error Invalid -var option",
			"f.tfvars:1 error Function calls not allowed", "- error Value for undeclared variable",
			"- error No value for required variable any",
		},
	},
	{
		name:  "undeclared and deprecated",
		env:   []string{"TF_VAR_free=x", "TF_VAR_text=x", "TF_VAR_list=[]", "TF_VAR_any=1"},
		files: map[string]string{"terraform.tfvars": "a = 1\nb = 2\nc = 3\nd = 4\nold = 1\n"},
		want: []string{
			"any cty.NumberIntVal(1)", `free cty.StringVal("x")`, "list cty.EmptyTupleVal", "old cty.NumberIntVal(1)",
			`text cty.StringVal("x")`,
			"- warning Value for undeclared variable", "- warning Value for undeclared variable",
			"main.tf:10 warning Variable marked as deprecated",
			"- warning Values for undeclared variables",
		},
	},
}

func TestValues(t *testing.T) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := &configs.Snapshot{Files: map[string][]byte{"main.tf": []byte(declarations)}}
			for name, text := range test.files {
				files.Files[name] = []byte(text)
			}
			parser := configs.NewParser(files.FS())
			var diags tfdiags.Diagnostics
			module, err := parser.Module(".", diags.Add)
			if err != nil {
				t.Fatal(err)
			}
			given, err := Collect(parser, Options{Environ: test.env, Dir: ".", Flags: test.flags})
			diags = diags.AppendError(err)
			values, err := Values(given, module.Variables, diags.Add)
			diags = diags.AppendError(err)

			var got []string
			for _, name := range slices.Sorted(maps.Keys(values)) {
				got = append(got, fmt.Sprintf("%s %#v", name, values[name].Value))
			}
			got = append(got, texts(diags)...)
			for _, v := range Missing(values, module.Variables) {
				got = append(got, "- error "+v.NoValue().Summary+" "+v.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestValuesAreNotRepeated checks that errors about options don't repeat the given value, which may
// be secret.
func TestValuesAreNotRepeated(t *testing.T) {
	_, err := Collect(configs.NewParser(nil), Options{Dir: t.TempDir(), Flags: []Flag{{Text: "my password=hunter2"}}})
	if err == nil || strings.Contains(err.Error(), "hunter2") ||
		!strings.Contains(err.Error(), "my password") {
		t.Error(err)
	}
}

func texts(diags tfdiags.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		at := "-"
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		out = append(out, fmt.Sprintf("%s %s %s", at, d.Severity, d.Summary))
	}
	return out
}

// FuzzValues reads arbitrary files, options and environment variables. Each variable must then have
// either a value of its type or an error.
func FuzzValues(f *testing.F) {
	for _, test := range tests {
		var option, env string
		for _, flag := range test.flags {
			option = flag.Text
		}
		for _, entry := range test.env {
			env = strings.TrimPrefix(entry, envPrefix)
		}
		f.Add(test.files["terraform.tfvars"], test.files["terraform.tfvars.json"], option, env)
	}
	f.Add("list = [[[1]]]\nany = {\n  (a) = \"${b}\"\n}\n", `{"any": [null, 1e9, "\u0000"], "object": {"a": 1}}`,
		"object={ a = [], b = { c = 1 } }", "any=<<E\nx\nE\n")
	const object = `
variable "object" {
  type = object({
    a = optional(list(string), ["x"])
    b = optional(map(object({ c = optional(number, 1) })))
  })
  default  = {}
  nullable = false
}
`
	f.Fuzz(func(t *testing.T, native, json, option, env string) {
		files := &configs.Snapshot{Files: map[string][]byte{
			"main.tf": []byte(declarations + object), "terraform.tfvars": []byte(native),
			"terraform.tfvars.json": []byte(json),
		}}
		parser := configs.NewParser(files.FS())
		module, err := parser.Module(".", tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		given, _ := Collect(parser, Options{Environ: []string{envPrefix + env}, Dir: ".",
			Flags: []Flag{{Text: option}}})
		values, _ := Values(given, module.Variables, tfdiags.Drop)
		for name, v := range values {
			declared := module.Variables[name]
			final, err := declared.Final(v.Value)
			if err == nil && declared.Type.Type != cty.DynamicPseudoType &&
				final.Type().TestConformance(declared.Type.Type) != nil {
				t.Errorf("%s: %#v", name, final)
			}
		}
	})
}
