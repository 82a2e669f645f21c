package testenv

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// CheckPrintable reports a test failure if a text contains control characters other than tabs and
// line ends, changes the order of characters, or is not valid UTF-8. shown is text that is printed in
// a terminal.
func CheckPrintable(t testing.TB, shown string) {
	t.Helper()
	rest := strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(shown)
	if strings.ContainsFunc(rest, unicode.IsControl) || strings.ContainsAny(rest, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029") ||
		!utf8.ValidString(shown) {
		t.Errorf("control characters are shown: %q", shown)
	}
}
