package ui

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// FuzzControlCharacters checks that a diagnostic sends no control characters to a terminal,
// whatever its text, its file name and its excerpt contain.
func FuzzControlCharacters(f *testing.F) {
	f.Add("a", "mod\x1b[31m\x1b[2J/m.tf", "resource \"a\" \"\x1b]0;x\x07\" {\r\n}\r\n", uint8(3), uint8(9))
	f.Add("\x1b[8mhidden\x1b[0m", "\x9b2J", "a = \"\u009b2J\u202e\"", uint8(0), uint8(200))
	f.Add("one\ttwo\rthree\x00\x7f", "\xff\xfe", "\x1b", uint8(0), uint8(1))
	f.Add("\x1b[\x1b[31m31m", "a\nb", "", uint8(1), uint8(0))
	f.Add("a\n::error::b\n ::add-mask::c", "x\n::error::y.tf", "::debug::z\n##[error]", uint8(0), uint8(3))
	f.Add("::\x10", "m.tf", "", uint8(0), uint8(0)) // the character is shown as one that is no letter
	f.Fuzz(func(t *testing.T, text, file, source string, start, end uint8) {
		d := tfdiags.Errorf("Summary "+text, "%s", text).At(hcl.Range{Filename: file,
			Start: hcl.Pos{Line: 1, Column: 1, Byte: int(start)}, End: hcl.Pos{Line: 1, Column: 2, Byte: int(end)}})
		for _, width := range []int{0, 20} {
			var out bytes.Buffer
			p := NewHuman(Options{Out: &out, ErrWidth: width, Sources: func(string) []byte { return []byte(source) }})
			p.Diagnostics(d.List())
			testenv.CheckPrintable(t, out.String())
			out.Reset()
			p = NewHuman(Options{Out: &out, ErrWidth: width, CI: true, Sources: func(string) []byte { return []byte(source) }})
			p.Diagnostics(d.List())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSpace(line)
				rest, colons := strings.CutPrefix(line, "::")
				first, _ := utf8.DecodeRuneInString(rest)
				if colons && unicode.IsLetter(first) || strings.Contains(line, "##[") {
					t.Errorf("a CI system runs the line %q", line)
				}
			}
		}
	})
}
