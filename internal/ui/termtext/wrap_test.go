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
