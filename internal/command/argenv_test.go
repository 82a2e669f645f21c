package command

import (
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, test := range []struct {
		line string
		want string // words joined with |; "!" for an error
	}{
		{"", ""},
		{"  a  b\t", "a|b"},
		{`-var 'v=two words'`, "-var|v=two words"},
		{`-var="v=two words"`, "-var=v=two words"},
		{`a\ b`, "a b"},
		{`"a\"b" 'a\b' "a\b"`, `a"b|a\b|a\b`},
		{`'' ""`, "|"},
		{`'open`, "!"},
		{`open\`, "!"},
	} {
		words, err := splitWords(test.line)
		got := strings.Join(words, "|")
		if err != nil {
			got = "!"
		}
		if got != test.want {
			t.Errorf("splitWords(%q) = %q, want %q", test.line, got, test.want)
		}
	}
}
