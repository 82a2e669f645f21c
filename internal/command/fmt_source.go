package command

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// formatSource gives configuration text in the standard style. Besides the layout it modernises three old spellings: a template
// that is nothing but one interpolation, quoted type names of variables, and type constructors without an element type.
func formatSource(src []byte, filename string) ([]byte, hcl.Diagnostics) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if _, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos); diags.HasErrors() {
		return nil, diags
	}
	file, diags := hclwrite.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	formatBody(file.Body(), nil)
	return hclwrite.Format(file.Bytes()), nil
}

// formatBody modernises a body; path holds the block types that lead to it.
func formatBody(body *hclwrite.Body, path []string) {
	inVariable := len(path) == 1 && path[0] == "variable"
	for name, attr := range body.Attributes() {
		old := attr.Expr().BuildTokens(nil)
		tokens := unwrapTemplate(old)
		if inVariable && name == "type" {
			tokens = modernType(old)
		}
		if len(tokens) != len(old) {
			body.SetAttributeRaw(name, tokens)
		}
	}
	for _, block := range body.Blocks() {
		block.SetLabels(block.Labels()) // puts quotes around bare ones
		formatBody(block.Body(), append(path, block.Type()))
	}
}

// unwrapTemplate turns "${EXPR}" into EXPR; other expressions stay as they are.
func unwrapTemplate(tokens hclwrite.Tokens) hclwrite.Tokens {
	inside := trimSpaceTokens(tokens)
	n := len(inside)
	if n < 5 || inside[0].Type != hclsyntax.TokenOQuote || inside[1].Type != hclsyntax.TokenTemplateInterp ||
		inside[n-2].Type != hclsyntax.TokenTemplateSeqEnd || inside[n-1].Type != hclsyntax.TokenCQuote {
		return tokens
	}
	inside = inside[2 : n-2]
	quotes := 0
	for _, t := range inside {
		switch t.Type {
		case hclsyntax.TokenOQuote:
			quotes++
		case hclsyntax.TokenCQuote:
			quotes--
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenTemplateSeqEnd:
			if quotes == 0 {
				return tokens // there is more in the template than this one interpolation
			}
		}
	}
	inside = trimSpaceTokens(inside)
	if spansLines(inside) { // only within brackets may an expression go on in the next line
		open := &hclwrite.Token{Type: hclsyntax.TokenOParen, Bytes: []byte("(")}
		shut := &hclwrite.Token{Type: hclsyntax.TokenCParen, Bytes: []byte(")")}
		return append(append(hclwrite.Tokens{open}, inside...), shut)
	}
	return inside
}

// spansLines tells whether there is a line end outside of here documents.
func spansLines(tokens hclwrite.Tokens) bool {
	heredoc := false
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOHeredoc:
			heredoc = true
		case hclsyntax.TokenCHeredoc:
			heredoc = false
		case hclsyntax.TokenNewline:
			if !heredoc {
				return true
			}
		}
	}
	return false
}

func trimSpaceTokens(tokens hclwrite.Tokens) hclwrite.Tokens {
	for len(tokens) > 0 && tokens[0].Type == hclsyntax.TokenNewline {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].Type == hclsyntax.TokenNewline {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}

// modernType turns the type constraints of very old configurations into today's.
func modernType(tokens hclwrite.Tokens) hclwrite.Tokens {
	name, element := "", "any"
	switch {
	case len(tokens) == 1 && tokens[0].Type == hclsyntax.TokenIdent:
		name = string(tokens[0].Bytes)
	case len(tokens) == 3 && tokens[0].Type == hclsyntax.TokenOQuote && tokens[1].Type == hclsyntax.TokenQuotedLit:
		name, element = string(tokens[1].Bytes), "string"
		if name == "string" {
			return identTokens("string")
		}
		if name == "set" {
			return tokens
		}
	}
	switch name {
	case "list", "map", "set":
		return identTokens(name, "(", element, ")")
	}
	return tokens
}

func identTokens(texts ...string) hclwrite.Tokens {
	tokens := make(hclwrite.Tokens, len(texts))
	for i, text := range texts {
		kind := hclsyntax.TokenIdent
		switch text {
		case "(":
			kind = hclsyntax.TokenOParen
		case ")":
			kind = hclsyntax.TokenCParen
		}
		tokens[i] = &hclwrite.Token{Type: kind, Bytes: []byte(text)}
	}
	return tokens
}
