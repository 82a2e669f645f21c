package valuediff

import (
	"strings"
	"testing"

	"tofu/internal/ui/termtext"
)

func TestMarks(t *testing.T) {
	for _, test := range []struct{ before, after, text, carets, quoted, underlined string }{
		{"the quick fox", "the slow fox", "the slow fox", "    ^^^^", `"slow"`, "the _slow_ fox"},
		{"a\tone two", "a\tone six", "a\tone six", " \t    ^^^", `"six"`, "a\tone _six_"},
		{"日本 one 日本", "日本 two 日本", "日本 two 日本", "     ^^^", `"two"`, "日本 _two_ 日本"},
		{"one same two", "1 same 2", "1 same 2", "^      ^", `"1", "2"`, "_1_ same _2_"},
		{"same\x1bone two three", "same\x1bone two four", "same␛one two four", "             ^^^^", `"four"`, "same␛one two _four_"},
	} {
		_, added := Words(test.before, test.after)
		text, marks := Printable(test.after, added, termtext.Printable)
		if text != test.text {
			t.Errorf("%q: text %q", test.after, text)
		}
		if got := Carets(text, marks); got != test.carets {
			t.Errorf("%q: carets %q, want %q", test.after, got, test.carets)
		}
		if got := Quoted(text, marks); got != test.quoted {
			t.Errorf("%q: quoted %s, want %s", test.after, got, test.quoted)
		}
		underlined := strings.NewReplacer("\x1b[4m", "_", "\x1b[0m", "_").Replace(Underlined(termtext.Style{On: true}, text, marks))
		if underlined != test.underlined {
			t.Errorf("%q: underlined %q, want %q", test.after, underlined, test.underlined)
		}
	}
}
