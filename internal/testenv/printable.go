package testenv

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// CheckPrintable reports a test failure if a text contains control characters other than tabs and
// line ends, or is not valid UTF-8. shown is text that is printed in a terminal.
func CheckPrintable(t testing.TB, shown string) {
	t.Helper()
	rest := strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(shown)
	if strings.ContainsFunc(rest, unicode.IsControl) || !utf8.ValidString(shown) {
		t.Errorf("control characters are shown: %q", shown)
	}
}
