package nesting

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

const n = 12_000

// TestCheck checks text that must be rejected, and similar text that must be accepted.
func TestCheck(t *testing.T) {
	const deep, long = "Configuration nested too deeply", "Number too long"
	repeat := strings.Repeat
	native := func(src string) *hcl.Diagnostic { return Check("x", []byte(src)) }
	template := func(src string) *hcl.Diagnostic { return CheckTemplate("x", []byte(src)) }
	json := func(src string) *hcl.Diagnostic { return CheckJSON("x", []byte(src)) }
	for name, test := range map[string]struct {
		check func(string) *hcl.Diagnostic
		src   string
		want  string
	}{
		"brackets":         {native, "x = " + repeat("[", n) + repeat("]", n), deep},
		"indexes":          {native, "x = a" + repeat("[b]", n), deep},
		"splats":           {native, "x = a" + repeat("[*]", n), deep},
		"attribute splats": {native, "x = a" + repeat(".*", n), deep},
		"list of lists":    {native, "x = [" + repeat("[a],", n) + "]", ""},
		"heredoc": {native, "x = <<E\n" + repeat("%{ if true }", n) + repeat("%{ endif }", n) + "\nE\n",
			deep},
		"directives":         {template, repeat("%{ if true }", n) + repeat("%{ endif }", n), deep},
		"loops":              {template, repeat("%{ for a in b }", n) + repeat("%{ endfor }", n), deep},
		"sequence":           {template, repeat("%{ if true }a%{ else }b%{ endif }", n), ""},
		"interpolations":     {template, repeat("${[", n) + repeat("]}", n), deep},
		"not a template":     {template, repeat("([{", n), ""},
		"json":               {json, repeat("[", n) + repeat("]", n), deep},
		"template in json":   {json, `{"a": "${` + repeat("(", n) + repeat(")", n) + `}"}`, deep},
		"text in json":       {json, `{"a": "` + repeat("(", n) + `"}`, ""},
		"number":             {native, "x = 1e600000000", long},
		"small number":       {native, "x = 1.5E-0600000000", long},
		"many digits":        {native, "x = " + repeat("9", 10*n), long},
		"digits in json":     {json, `{"x": ` + repeat("9", 10*n) + `}`, long},
		"digits in a string": {native, `x = "` + repeat("9", 10*n) + `"`, ""},
		"number in json":     {json, `{"x": 1e+999999}`, long},
		"in a template":      {json, `{"x": "${1e999999}"}`, long},
		"in a string":        {native, `x = "1e999999"`, ""},
		"in json text":       {json, `{"x": "1e999999"}`, ""},
		"large number":       {native, "x = 1e99999", ""},
		"identifier":         {native, "x = a1e999999", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if d := test.check(test.src); d != nil {
				got = d.Summary
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestJSONDepth(t *testing.T) {
	for src, want := range map[string]int{`"["`: 0, `[{"a": [1]}, [2]]`: 3, `["\"[", []]`: 2, ``: 0, `]]]`: 0} {
		if got := JSONDepth(src); got != want {
			t.Errorf("%s: %d, want %d", src, got, want)
		}
	}
}
