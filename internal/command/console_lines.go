package command

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/limits"
)

// entry collects the lines of an expression. It tracks the constructs that are open at the end
// of the text, so that adding a line takes time proportional to the length of that line only.
type entry struct {
	text strings.Builder
	// open holds the tokens that started the brackets, quotes, heredocs, interpolations and
	// comments that are still open. Scanning these tokens and then the next line leaves the
	// same constructs open as scanning all lines.
	open []string
}

// add adds a line and reports whether the expression continues on the next one.
func (e *entry) add(line string) bool {
	if e.text.Len() > 0 {
		e.text.WriteByte('\n')
	}
	e.text.WriteString(line)
	tokens, _ := hclsyntax.LexExpression([]byte(strings.Join(e.open, "")+line+"\n"), "<console-input>", hcl.InitialPos)
	e.open = e.open[:0]
	brackets := 0 // open constructs that continue an expression
	pop := func() {
		if len(e.open) > 0 {
			e.open = e.open[:len(e.open)-1]
		}
	}
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl:
			e.open = append(e.open, string(t.Bytes))
			brackets++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			pop()
			brackets--
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			e.open = append(e.open, string(t.Bytes))
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			pop()
		case hclsyntax.TokenStar:
			if i > 0 && tokens[i-1].Type == hclsyntax.TokenSlash && tokens[i-1].Range.End == t.Range.Start {
				e.open = append(e.open, "/*") // an unclosed comment: a closed one is a single token
				return brackets > 0
			}
		}
	}
	return brackets > 0 && len(e.open) < limits.Depth
}

// inTemplate reports whether a template is open. A lone expression in a template is invalid
// rather than incomplete.
func (e *entry) inTemplate() bool {
	return slices.ContainsFunc(e.open,
		func(began string) bool { return strings.HasPrefix(began, `"`) || strings.HasPrefix(began, "<<") })
}

func (e *entry) reset() {
	e.text.Reset()
	e.open = nil
}
