package ui

import (
	"fmt"
	"strings"
	"testing"
)

// TestSnippetLimits checks that an excerpt has at most ten lines, that these include the
// highlighted text, and that a line isn't longer than fits on a terminal.
func TestSnippetLimits(t *testing.T) {
	var code []string
	for i := range 20 {
		code = append(code, fmt.Sprintf("line %d", i+1))
	}
	text := strings.Join(code, "\n")
	long := strings.Repeat("ä", 300) + "wrong" + strings.Repeat("ö", 300)
	for name, c := range map[string]struct {
		code, wrong string
		want        []string // some of the expected lines, in order
		lines       int
		never       string
	}{
		"short":  {"a\nb\nc", "b", []string{"   1: a", ">  2: b", "   3: c"}, 3, "not shown"},
		"all":    {"a\nb", "a\nb", []string{"   1: a", "   2: b"}, 2, ">"},
		"single": {"a", "a", []string{"   1: a"}, 1, ">"},
		"early": {text, "line 3", []string{"   1: line 1", ">  3: line 3", "  10: line 10",
			"      (10 more lines not shown)"}, 11, "line 11"},
		"late": {text, "line 15", []string{"      (10 more lines not shown)", "  11: line 11",
			"> 15: line 15", "  20: line 20"}, 11, " line 10\n"},
		"middle": {text, "line 11", []string{"      (8 more lines not shown)", "   9: line 9",
			"> 11: line 11", "  18: line 18", "      (2 more lines not shown)"}, 12, "line 19"},
		"wide": {text, strings.Join(code[3:19], "\n"), []string{"      (1 more line not shown)",
			"   2: line 2", ">  4: line 4", "> 11: line 11", "      (9 more lines not shown)"}, 12, "line 12"},
		"longline": {long, "wrong", []string{"   1: …ä", "wrong", "ö…"}, 1, strings.Repeat("ä", 60)},
	} {
		var b strings.Builder
		start := strings.Index(c.code, c.wrong)
		(&diagWriter{}).code(&b, &snippet{Code: c.code, StartLine: 1, HighlightStart: start,
			HighlightEnd: start + len(c.wrong)})
		got, rest := b.String(), b.String()
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s: %q isn't there, or not in order:\n%s", name, want, got)
				break
			}
			rest = after
		}
		if n := strings.Count(got, "\n"); n != c.lines || strings.Contains(got, c.never) {
			t.Errorf("%s: %d lines, want %d without %q:\n%s", name, n, c.lines, c.never, got)
		}
	}
}
