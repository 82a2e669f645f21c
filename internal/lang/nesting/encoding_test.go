package nesting_test

import (
	"strings"
	"testing"

	"tofu/internal/lang/nesting"
)

func TestEncodings(t *testing.T) {
	for text, want := range map[string]string{ // what the message says of JSON
		"{}": "", "": "", "x": "", "\x00\x00": "", "ä": "",
		"\xef\xbb\xbf{}":                    "begins with a byte order mark",
		"\xff\xfe{\x00}\x00":                "UTF-16 (little-endian)",
		"\xfe\xff\x00{\x00}":                "UTF-16 (big-endian)",
		"{\x00}\x00":                        "UTF-16 (little-endian)",
		"\x00{\x00}":                        "UTF-16 (big-endian)",
		"\xff\xfe\x00\x00{\x00\x00\x00":     "UTF-32 (little-endian)",
		"\x00\x00\xfe\xff\x00\x00\x00{}":    "UTF-32 (big-endian)",
		"\xff\xfe":                          "UTF-16 (little-endian)",
		"# a comment with a zero later\x00": "",
	} {
		got := nesting.EncodingProblem([]byte(text), true)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if want == "" {
			continue
		}
		if _, diags := nesting.ParseJSON("x.json", []byte(text)); len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%q: %v", text, diags)
		}
		// The native syntax allows a byte order mark.
		_, diags := nesting.Parse("x.tf", []byte(text))
		if mark := strings.HasPrefix(text, "\xef"); !mark && (len(diags) != 1 || !strings.Contains(diags[0].Detail, want)) {
			t.Errorf("%q: %v", text, diags)
		}
	}
	if _, diags := nesting.Parse("x.tf", []byte("\xef\xbb\xbfa = 1\n")); len(diags) > 0 {
		t.Error(diags)
	}
}
