package lsp

import (
	"testing"
	"unicode/utf8"

	"tofu/internal/lsp/protocol"
)

// FuzzFile checks that what the server finds in a file without a core never panics, and that positions
// survive the way to the protocol and back.
func FuzzFile(f *testing.F) {
	for _, text := range []string{app, child, "", "a = {b = [c.d[\"e\"].f, \"${g.h[*].i}\"]}\n", "x \"y\" {\n  dynamic \"z\" {\n    for_each = ",
		"locals { é = \"😀${each.value.", "provider a { alias = \"b\" }\nmodule m { providers = { a = a.b } }\n", "r \"", "}}]])", "<<E\n${"} {
		f.Add([]byte(text), uint(len(text)/2))
	}
	f.Fuzz(func(t *testing.T, text []byte, at uint) {
		offset := int(at % uint(len(text)+1))
		p := parse("/dir/main.tf", text)
		placeAt(text, offset)
		p.semanticTokens()
		u := p.underAt(offset)
		u.open()
		if p.body != nil {
			p.outline(p.body, 0)
		}
		x := newIndex(nil, map[string]map[string]string{"/dir": {}}, func(string) *parsed { return p },
			func(string) []string { return []string{"/dir/main.tf"} })
		if s, _, err := x.renameable(p.path, offset); err == nil {
			if _, err := x.rename(p.path, offset, "other"); err != nil && s.dir != "/dir" {
				t.Error(err)
			}
		}
		v := &view{root: "/dir", base: "/"}
		v.complete(p.document, "/dir", offset, true)
		v.hover(p, "/dir", offset)
		v.actions(p, p.span(0, offset), []protocol.Diagnostic{{Source: "tofu", Message: "Did you mean \"abc\"?", Range: p.span(offset, len(text))},
			{Source: "tofu", Message: "The argument \"x\" is required, but", Range: p.span(offset, offset)}})
		format(p.document)
		whole := utf8.Valid(text) && (offset == len(text) || utf8.RuneStart(text[offset]))
		if back := p.offset(p.position(offset)); whole && back != offset {
			t.Errorf("%d became %d", offset, back)
		}
	})
}
