package command

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// entry collects the lines of an expression and knows what is open at their end, so that a new line costs what it is long, however many
// lie before it.
type entry struct {
	text strings.Builder
	// open has the brackets, quotes, heredocs, interpolations and comments that have begun and not ended, as they were written. To read
	// them and then the next line leads to the same place as to read all lines so far.
	open []string
}

// maxOpen is where looking for an end is given up: the language nests less than that.
const maxOpen = 5_000

// add takes a line and tells whether the expression goes on in the next one.
func (e *entry) add(line string) bool {
	if e.text.Len() > 0 {
		e.text.WriteByte('\n')
	}
	e.text.WriteString(line)
	tokens, _ := hclsyntax.LexExpression([]byte(strings.Join(e.open, "")+line+"\n"), "<console-input>", hcl.InitialPos)
	e.open = e.open[:0]
	brackets := 0 // of what is open, what makes an expression go on
	pop := func() {
		if len(e.open) > 0 {
			e.open = e.open[:len(e.open)-1]
		}
	}
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
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
				e.open = append(e.open, "/*") // a comment that ends would be a token of its own
				return brackets > 0
			}
		}
	}
	return brackets > 0 && len(e.open) < maxOpen
}

// inTemplate tells whether a template is open, which makes a lone expression wrong and not just unfinished.
func (e *entry) inTemplate() bool {
	return slices.ContainsFunc(e.open, func(began string) bool { return strings.HasPrefix(began, `"`) || strings.HasPrefix(began, "<<") })
}

func (e *entry) reset() {
	e.text.Reset()
	e.open = nil
}
