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

// Format returns the canonical form of a file in native syntax. name is the file name for
// diagnostics.
func Format(src []byte, name string) ([]byte, error) {
	if d := nesting.Check(name, src); d != nil {
		return nil, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	// hclwrite does not report all errors, such as duplicate arguments.
	if _, diags := nesting.ParseChecked(name, src); diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	file, diags := hclwrite.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	modernize(file.Body(), nil)
	return file.Bytes(), nil
}

// Keep returns after in canonical form if before is in it, too. In a file that was never formatted, nothing changes
// that doesn't have to. An empty file is in canonical form.
func Keep(before, after []byte, name string) ([]byte, error) {
	if canonical, err := Format(before, name); err != nil || !bytes.Equal(canonical, before) {
		return after, nil
	}
	return Format(after, name)
}

// modernize replaces old notations in a body. path holds the types of the enclosing blocks.
func modernize(body *hclwrite.Body, path []string) {
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
		block.SetLabels(block.Labels()) // writes all labels with quotes
		modernize(block.Body(), append(path, block.Type()))
	}
}

// oldTypes maps old type expressions to current ones: quoted types, and collections without an
// element type.
var oldTypes = map[string]string{
	`"string"`: "string",
	`"list"`:   "list(string)",
	`"map"`:    "map(string)",
	"list":     "list(any)",
	"map":      "map(any)",
	"set":      "set(any)",
}

// typeOf returns a variable's type in the current notation.
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

// unwrap returns the expression of a string that is a single interpolation, "${…}". Other
// expressions are returned unchanged.
func unwrap(tokens hclwrite.Tokens) hclwrite.Tokens {
	end := len(tokens) - 1
	if end < 4 || tokens[0].Type != hclsyntax.TokenOQuote || tokens[1].Type != hclsyntax.TokenTemplateInterp ||
		tokens[end-1].Type != hclsyntax.TokenTemplateSeqEnd || tokens[end].Type != hclsyntax.TokenCQuote {
		return tokens
	}
	inside := tokens[2 : end-1]
	if !singleInterpolation(inside) {
		return tokens
	}
	inside = trimNewlines(inside)
	if len(inside) == 0 || !slices.ContainsFunc(inside[:len(inside)-1], endsLine) || parenthesized(inside) {
		return inside
	}
	// Without the quotes, a line break would end the argument, so parentheses are added.
	wrapped := hclwrite.Tokens{{Type: hclsyntax.TokenOParen, Bytes: []byte("(")}}
	wrapped = append(wrapped, inside...)
	return append(wrapped, &hclwrite.Token{Type: hclsyntax.TokenCParen, Bytes: []byte(")")})
}

// singleInterpolation reports whether a string consists of a single interpolation. inside holds the
// tokens between its first "${" and its last "}".
func singleInterpolation(inside hclwrite.Tokens) bool {
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

// parenthesized reports whether one pair of parentheses encloses all tokens.
func parenthesized(tokens hclwrite.Tokens) bool {
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

// endsLine reports whether a token ends its line, as a line break and a line comment do.
func endsLine(t *hclwrite.Token) bool {
	return t.Type == hclsyntax.TokenNewline ||
		t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte("\n"))
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
