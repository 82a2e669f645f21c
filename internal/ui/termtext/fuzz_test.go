package termtext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"tofu/internal/testenv"
)

// FuzzPrintable checks that printable text contains no control characters, and only colors of
// this program.
func FuzzPrintable(f *testing.F) {
	for _, text := range []string{"mod\x1b[31m\x1b[2J/m.tf", "\x1b[8mhidden\x1b[0m", "\x9b2J", "\u009b2J\u202e", "one\ttwo\rthree\x00\x7f",
		"\xff\xfe", "\x1b[\x1b[31m31m", "a\r\nb"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := Printable(text)
		testenv.CheckPrintable(t, shown)
		if again := Printable(shown); again != shown {
			t.Errorf("%q becomes %q and then %q", text, shown, again)
		}
		line := OneLine(text)
		testenv.CheckPrintable(t, line)
		if strings.ContainsAny(line, "\n\t\r") {
			t.Errorf("%q becomes more than one line: %q", text, line)
		}
		if !strings.ContainsFunc(text, isUnsafe) && utf8.ValidString(text) && shown != text {
			t.Errorf("%q becomes %q", text, shown)
		}
		// Check the text between colors. Removing a color can't create a new sequence, because the
		// parts around it are joined with a line break.
		testenv.CheckPrintable(t, strings.Join(ownColors().Split(PrintableText(text), -1), "\n"))
	})
}
