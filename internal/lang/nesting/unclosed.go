package nesting

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ParseChecked parses a file in native syntax that has passed [Check]. If a bracket is not closed, the
// first error says where it was opened: the parser reports it where it can't continue, which may be
// far below.
func ParseChecked(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if !diags.HasErrors() {
		return file, diags
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	open := unclosed(src, tokens)
	if open != nil && (diags[0].Subject == nil || diags[0].Subject.Start.Line != open.Range.Start.Line) {
		first := *diags[0]
		first.Detail = fmt.Sprintf("%s The %q on line %d is not closed.", first.Detail, bytes.TrimSpace(open.Bytes),
			open.Range.Start.Line)
		diags = append(hcl.Diagnostics{&first}, diags[1:]...)
	}
	return file, diags
}

// closers holds the token that closes each opening bracket.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOParen: hclsyntax.TokenCParen, hclsyntax.TokenOBrace: hclsyntax.TokenCBrace,
	hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
}

// unclosed returns the bracket that was probably left open, or nil if all are closed. That is the first one
// that another kind of bracket follows where it should be closed. Otherwise, it is one whose closing
// bracket begins a line that is indented differently: it belongs to a bracket further outside. The
// last possibility is the innermost one that is open at the end.
func unclosed(src []byte, tokens hclsyntax.Tokens) *hclsyntax.Token {
	var stack []*hclsyntax.Token
	var suspect *hclsyntax.Token
	for i := range tokens {
		t := &tokens[i]
		if closers[t.Type] != 0 {
			stack = append(stack, t)
			continue
		}
		if !closing[t.Type] || t.Type == hclsyntax.TokenCQuote {
			continue
		}
		if len(stack) == 0 {
			return nil // there is one closing bracket too many
		}
		top := stack[len(stack)-1]
		if closers[top.Type] != t.Type {
			return top
		}
		stack = stack[:len(stack)-1]
		begins := len(bytes.TrimSpace(lineBefore(src, t.Range.Start.Byte))) == 0
		if suspect == nil && begins && t.Type != hclsyntax.TokenCHeredoc && top.Range.Start.Line != t.Range.Start.Line &&
			!bytes.Equal(indentAt(src, top.Range.Start.Byte), indentAt(src, t.Range.Start.Byte)) {
			suspect = top
		}
	}
	switch {
	case len(stack) == 0:
		return nil
	case suspect != nil:
		return suspect
	}
	return stack[len(stack)-1]
}

// lineBefore returns the part of a line before a position.
func lineBefore(src []byte, at int) []byte { return src[bytes.LastIndexByte(src[:at], '\n')+1 : at] }

// indentAt returns the white space at the beginning of the line that contains a position.
func indentAt(src []byte, at int) []byte {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1:]
	return line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
}
