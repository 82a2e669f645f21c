package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// entries are expressions of several lines. After each line, entry.add must report the same as
// goesOn for the lines up to it.
var entries = []string{
	"[\n1,\n2\n]",
	"f(<<EOT\n)\n}\nEOT\n)",
	"f(<<-EOT\n  a ${ [\n1\n] } b\n  EOT\n, {\n})",
	"\"${join(\",\", [\n1,\n2\n])}\"",
	"[ /* (\n(\n*/ 1\n]",
	"[ # (\n// [\n1\n]",
	"1\n2",
	"[\n\"a\n\"b\"\n]",
	"{\n  a = \"}\"\n  b = \"${ { c = \"{\" }.c }\"\n}",
	"(\n%{ if\n\"%{ if (\ntrue) }x%{ endif }\"\n)",
	")(\n[\n",
	"{[(\n)]}",
	"f(<<A\n${ f(<<B\nA\nB\n) }\nA\n)",
	"/* (\n) */",
}

func TestEntry(t *testing.T) {
	for _, text := range entries {
		checkEntry(t, text)
	}
}

func checkEntry(t *testing.T, text string) {
	var e entry
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		got := e.add(line)
		before := strings.Join(lines[:i+1], "\n")
		if want := goesOn(before); got != want {
			t.Errorf("after %q: %v, want %v", before, got, want)
		}
		if e.text.String() != before {
			t.Errorf("%q became %q", before, e.text.String())
		}
		if !got {
			return
		}
	}
}

// goesOn reports whether an expression continues after text, by scanning all of it. It is the
// reference for entry.add, which scans one line at a time.
func goesOn(text string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(text+"\n"), "", hcl.InitialPos)
	open := 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl:
			open++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			open--
		case hclsyntax.TokenStar:
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenSlash && tokens[i-1].Range.End == t.Range.Start {
				return open > 0
			}
		}
	}
	return open > 0
}

// FuzzEntry compares entry.add with goesOn. It skips text with mismatched brackets and text
// with quotes that are still open at the end of a line: the two functions may differ for them.
func FuzzEntry(f *testing.F) {
	for _, text := range entries {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if wellFormed(text) {
			checkEntry(t, text)
		}
	})
}

// opener maps each closing token to the tokens that it can close.
var opener = map[hclsyntax.TokenType][]hclsyntax.TokenType{
	hclsyntax.TokenCBrace: {hclsyntax.TokenOBrace}, hclsyntax.TokenCBrack: {hclsyntax.TokenOBrack},
	hclsyntax.TokenCParen:         {hclsyntax.TokenOParen},
	hclsyntax.TokenTemplateSeqEnd: {hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl},
	hclsyntax.TokenCQuote:         {hclsyntax.TokenOQuote}, hclsyntax.TokenCHeredoc: {hclsyntax.TokenOHeredoc},
}

func wellFormed(text string) bool {
	opens := map[hclsyntax.TokenType]bool{}
	for _, types := range opener {
		for _, t := range types {
			opens[t] = true
		}
	}
	var open []hclsyntax.TokenType
	tokens, _ := hclsyntax.LexExpression([]byte(text+"\n"), "", hcl.InitialPos)
	for _, t := range tokens {
		closes := opener[t.Type]
		switch {
		case opens[t.Type]:
			open = append(open, t.Type)
		case closes != nil:
			if len(open) == 0 || !slices.Contains(closes, open[len(open)-1]) {
				return false
			}
			open = open[:len(open)-1]
		case t.Type == hclsyntax.TokenInvalid, t.Type == hclsyntax.TokenBadUTF8, t.Type == hclsyntax.TokenQuotedNewline:
			return false
		}
	}
	return true
}
