package nesting

import (
	"strings"
	"testing"
)

func TestUnclosed(t *testing.T) {
	for src, want := range map[string]string{
		"a {\n  b = [1, 2\n  c = 3\n}\n":                      `"[" on line 2`,
		"a {\n  b = {\n    c = 1\n\nd {\n}\n":                 `"{" on line 2`,
		"a {\n  b {\n    c {\n    }\n  d {\n  }\n}\ne {\n}\n": `"{" on line 2`,
		"a {\n  b = max(1, 2\n}\n":                            `"(" on line 2`,
		"a {\n  b = <<-EOT\n    c\n  }\n}\n":                  `"<<-EOT" on line 2`,
		"a {\n  b = <<E\nc }\nE\n  d = {\n\ne = {\n}\n":       `"{" on line 5`,
		"a {\n}\n}\n":   "",
		"a {\n":         "", // the parser says so
		"a {\n  = 1\n}": "",
	} {
		_, diags := ParseChecked("x.tf", []byte(src))
		if !diags.HasErrors() {
			t.Fatalf("%q has no errors", src)
		}
		_, got, _ := strings.Cut(diags[0].Detail, " The ")
		if want != "" {
			want += " is not closed."
		}
		if got != want && (want != "" || strings.Contains(diags[0].Detail, "is not closed")) {
			t.Errorf("%q: %q, want %q", src, diags[0].Detail, want)
		}
	}
}
