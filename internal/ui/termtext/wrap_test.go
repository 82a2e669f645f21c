package termtext

import (
	"strings"
	"testing"
)

// TestWrapPhrases checks that a phrase that programs look for stays on one line at every position.
func TestWrapPhrases(t *testing.T) {
	for _, phrase := range []string{"context deadline exceeded", "net/http: TLS handshake timeout",
		"could not connect to registry", ": 429 Too Many Requests"} {
		for before := range 80 {
			text := strings.Repeat("x", before) + " " + phrase + ".example.com: more words than fit on one line"
			got := Wrap(text, 76)
			if !strings.Contains(got, phrase) {
				t.Errorf("the phrase is broken in\n%s", got)
			}
			if strings.ReplaceAll(got, "\n", " ") != text {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

func TestJoin(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo":                       "one two",
		"\none\ntwo\n":                   "\none two\n",
		"one\ntwo\n\nthree\nfour\nfive":  "one two\n\nthree four five",
		"run:\n    tofu plan\nthen\nsee": "run:\n    tofu plan\nthen see",
		"":                               "",
	} {
		if got := Join(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWrapItems(t *testing.T) {
	const text = "Words before the list of two items:\n  - an item that is longer than a line\n    example of a long line as it is\n" +
		"- 1234567890123456789012345 is no space\n  - short"
	const want = "Words before the\nlist of two items:\n  - an item that is\n    longer than a\n    line\n" +
		"    example of a long line as it is\n- 1234567890123456789012345\n  is no space\n  - short"
	if got := WrapItems(text, 20); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if got := WrapItems(text, 0); got != text {
		t.Errorf("without a width:\n%s", got)
	}
}
