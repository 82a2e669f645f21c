package termtext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "café": 4, "cafe\u0301": 4, "👩‍👩‍👧‍👦": 2, "…": 1, "שלום": 4, "ｆｕｌｌ": 8, "한국": 4,
	} {
		if got := Width(text); got != want {
			t.Errorf("%q has %d columns, want %d", text, got, want)
		}
	}
}

// line generates lines with narrow, wide and combining characters.
var line = rapid.StringOf(rapid.SampledFrom([]rune("abc  é日本…\u0301👩\u200d-")))

func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, columns := line.Draw(t, "text"), rapid.IntRange(1, 12).Draw(t, "columns")
		for _, got := range []string{Cut(text, columns), CutMiddle(text, columns)} {
			if Width(got) > columns {
				t.Errorf("%q in %d columns is %q", text, columns, got)
			}
			if Width(text) <= columns && got != text {
				t.Errorf("%q became %q", text, got)
			}
		}
	})
}

func TestWrapWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, columns := line.Draw(t, "text"), rapid.IntRange(2, 12).Draw(t, "columns")
		lines := WrapWords(text, columns)
		for _, l := range lines {
			if Width(l) > columns {
				t.Errorf("%q in %d columns has the line %q", text, columns, l)
			}
		}
		plain := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := strings.Join(lines, ""); plain(got) != plain(text) {
			t.Errorf("%q became %q", text, lines)
		}
	})
}
