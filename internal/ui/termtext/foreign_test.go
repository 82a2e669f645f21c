package termtext

import (
	"strings"
	"testing"
)

func TestForeignText(t *testing.T) {
	for _, test := range []struct{ text, printable, oneLine string }{
		{"plain text", "plain text", "plain text"},
		{"a\tb\nc", "a\tb\nc", "a␉b␊c"},
		{"a\r\nb\rc", "a\r\nb␍c", "a␍␊b␍c"},
		{"\x1b[2J\x00\x7f", "␛[2J␀␡", "␛[2J␀␡"},
		{"\u009b2J", "\ufffd2J", "\ufffd2J"},
		{"\xff", "\ufffd", "\ufffd"},
		{"if (\u202e\u2066admin\u2069)", `if (\u202e\u2066admin\u2069)`, `if (\u202e\u2066admin\u2069)`},
		{"one\u2028two\u2029", `one\u2028two\u2029`, `one\u2028two\u2029`},
		{"שלום \u200fעולם 👩‍👩‍👧 é", "שלום \u200fעולם 👩‍👩‍👧 é", "שלום \u200fעולם 👩‍👩‍👧 é"},
	} {
		if got := Printable(test.text); got != test.printable {
			t.Errorf("Printable(%q) = %q", test.text, got)
		}
		if got := OneLine(test.text); got != test.oneLine {
			t.Errorf("OneLine(%q) = %q", test.text, got)
		}
	}
}

// TestCommands checks which parts of a text are broken because a CI system would run them, whatever
// the pieces are in which the text is written.
func TestCommands(t *testing.T) {
	for text, want := range map[string]string{
		"::error file=a::b":          ": :error file=a::b",
		"a\n  ::add-mask::b\n::c":    "a\n  : :add-mask::b\n: :c",
		"a\r\n\t::group::b\r\n":      "a\r\n\t: :group::b\r\n",
		"##[error]a b##[debug]":      "# #[error]a b# #[debug]",
		"##vso[task.setvariable x]y": "# #vso[task.setvariable x]y",
		"x ##teamcity[progress 'y']": "x # #teamcity[progress 'y']",
		"###[error]":                 "## #[error]",
		"::1 localhost\n:: a":        "::1 localhost\n:: a",
		"Foo::Bar\n\"::error::\"":    "Foo::Bar\n\"::error::\"",
		"## Heading\n# [link](a)":    "## Heading\n# [link](a)",
	} {
		if got := WithoutCommands(text); got != want {
			t.Errorf("WithoutCommands(%q) = %q, want %q", text, got, want)
		}
		for size := 1; size <= len(text); size++ {
			var out strings.Builder
			log := &LogWriter{W: &out}
			for rest := text; rest != ""; {
				n, err := log.Write([]byte(rest[:min(size, len(rest))]))
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := log.Close(); err != nil || out.String() != want {
				t.Errorf("%q in pieces of %d becomes %q, %v", text, size, out.String(), err)
			}
		}
	}
}
