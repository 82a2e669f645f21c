package hclfmt

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// Format gives the canonical form of a file in native syntax. The name is for diagnostics.
func Format(src []byte, name string) ([]byte, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	if d := nesting.Check(name, src); d != nil {
		return nil, diags.AppendHCL(hcl.Diagnostics{d})
	}
	// hclwrite keeps quiet about much that is no valid configuration, such as an argument given twice.
	if _, parsed := hclsyntax.ParseConfig(src, name, hcl.InitialPos); parsed.HasErrors() {
		return nil, diags.AppendHCL(parsed)
	}
	file, parsed := hclwrite.ParseConfig(src, name, hcl.InitialPos)
	if parsed.HasErrors() {
		return nil, diags.AppendHCL(parsed)
	}
	modernise(file.Body(), nil)
	return file.Bytes(), nil
}

// modernise rewrites old spellings in a body; path is the types of the blocks that it lies in.
func modernise(body *hclwrite.Body, path []string) {
	isVariable := len(path) == 1 && path[0] == "variable"
	for name, attr := range body.Attributes() {
		before := attr.Expr().BuildTokens(nil)
		after := unwrap(before)
		if isVariable && name == "type" {
			after = typeOf(before)
		}
		if !slices.Equal(before, after) {
			body.SetAttributeRaw(name, after)
		}
	}
	for _, block := range body.Blocks() {
		block.SetLabels(block.Labels()) // all of them in quotes
		modernise(block.Body(), append(path, block.Type()))
	}
}

// oldTypes are whole type expressions and what is written for them today: those in quotes come from before there were type
// expressions, the others from before collections had to say what they hold.
var oldTypes = map[string]string{
	`"string"`: "string",
	`"list"`:   "list(string)",
	`"map"`:    "map(string)",
	"list":     "list(any)",
	"map":      "map(any)",
	"set":      "set(any)",
}

// typeOf gives the tokens of a variable's type as they are written today.
func typeOf(tokens hclwrite.Tokens) hclwrite.Tokens {
	text := ""
	for _, t := range tokens {
		text += string(t.Bytes)
	}
	today, ok := oldTypes[text]
	if !ok {
		return tokens
	}
	return hclwrite.Tokens{{Type: hclsyntax.TokenIdent, Bytes: []byte(today)}}
}

// unwrap gives the expression of a string that consists of one interpolation, "${…}"; other expressions stay as they are.
func unwrap(tokens hclwrite.Tokens) hclwrite.Tokens {
	end := len(tokens) - 1
	if end < 4 || tokens[0].Type != hclsyntax.TokenOQuote || tokens[1].Type != hclsyntax.TokenTemplateInterp ||
		tokens[end-1].Type != hclsyntax.TokenTemplateSeqEnd || tokens[end].Type != hclsyntax.TokenCQuote {
		return tokens
	}
	inside := tokens[2 : end-1]
	if !alone(inside) {
		return tokens
	}
	inside = trimNewlines(inside)
	if len(inside) == 0 || !slices.ContainsFunc(inside[:len(inside)-1], endsLine) || parenthesised(inside) {
		return inside
	}
	// Without the quotes a line end would end the argument.
	wrapped := hclwrite.Tokens{{Type: hclsyntax.TokenOParen, Bytes: []byte("(")}}
	wrapped = append(wrapped, inside...)
	return append(wrapped, &hclwrite.Token{Type: hclsyntax.TokenCParen, Bytes: []byte(")")})
}

// alone tells whether the tokens between the first "${" and the last "}" of a string are one interpolation and not parts of several.
func alone(inside hclwrite.Tokens) bool {
	quotes := 0
	for _, t := range inside {
		switch t.Type {
		case hclsyntax.TokenOQuote:
			quotes++
		case hclsyntax.TokenCQuote:
			quotes--
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl:
			if quotes == 0 {
				return false
			}
		}
	}
	return true
}

// parenthesised tells whether one pair of parentheses is around all tokens.
func parenthesised(tokens hclwrite.Tokens) bool {
	depth := 0
	for i, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOParen:
			depth++
		case hclsyntax.TokenCParen:
			depth--
		}
		if depth == 0 {
			return i > 0 && i == len(tokens)-1
		}
	}
	return false
}

// endsLine tells whether a line ends with the token, as it does with a comment that goes to its end.
func endsLine(t *hclwrite.Token) bool {
	return t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte("\n"))
}

func isNewline(t *hclwrite.Token) bool { return t.Type == hclsyntax.TokenNewline }

func trimNewlines(tokens hclwrite.Tokens) hclwrite.Tokens {
	for len(tokens) > 0 && isNewline(tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && isNewline(tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	return tokens
}
