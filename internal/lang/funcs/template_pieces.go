package funcs

import (
	"bytes"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// pieceSize is the minimum length in bytes of the pieces in which a template is parsed. The time that
// hclsyntax takes for a template is quadratic in the number of its lines.
const pieceSize = 32 << 10

// parseTemplate parses a template. The result is that of hclsyntax.ParseTemplate, except that a long
// text has several literals in a row, and that only the errors of the first faulty piece are returned.
func parseTemplate(src []byte, name string, pieceSize int) (hclsyntax.Expression, hcl.Diagnostics) {
	if len(src) < 2*pieceSize {
		return hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
	}
	ends, diags := pieceEnds(src, name, pieceSize)
	if diags.HasErrors() || len(ends) < 2 {
		return hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
	}
	whole := &hclsyntax.TemplateExpr{SrcRange: hcl.Range{Filename: name, Start: hcl.InitialPos, End: ends[len(ends)-1]}}
	start := hcl.InitialPos
	for _, end := range ends {
		piece, problems := hclsyntax.ParseTemplate(src[start.Byte:end.Byte], name, start)
		if problems.HasErrors() {
			return whole, problems
		}
		switch piece := piece.(type) {
		case *hclsyntax.TemplateExpr:
			whole.Parts = append(whole.Parts, piece.Parts...)
		case *hclsyntax.TemplateWrapExpr:
			whole.Parts = append(whole.Parts, piece.Wrapped)
		}
		start = end
	}
	return whole, nil
}

// pieceEnds returns the ends of pieces of a template, the last of which is the end of the template. A
// piece ends between two lines of text, outside of any sequence and of the blocks that "for" and "if"
// begin. Both lines have text at the cut, so that no sequence strips space on the other side of it.
func pieceEnds(src []byte, name string, pieceSize int) ([]hcl.Pos, hcl.Diagnostics) {
	tokens, diags := hclsyntax.LexTemplate(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	var ends []hcl.Pos
	sequences, blocks, last := 0, 0, 0
	for i, token := range tokens[:len(tokens)-1] {
		next := tokens[i+1]
		switch token.Type {
		case hclsyntax.TokenTemplateInterp:
			sequences++
		case hclsyntax.TokenTemplateControl:
			sequences++
			switch string(next.Bytes) {
			case "for", "if":
				blocks++
			case "endfor", "endif":
				blocks--
			}
			if blocks < 0 {
				return nil, nil
			}
		case hclsyntax.TokenTemplateSeqEnd:
			sequences--
		case hclsyntax.TokenStringLit:
			end := token.Range.End
			if sequences == 0 && blocks == 0 && end.Byte-last >= pieceSize && next.Type == hclsyntax.TokenStringLit &&
				bytes.HasSuffix(token.Bytes, []byte("\n")) && end.Column == 1 && startsText(next.Bytes) &&
				startsText(bytes.TrimLeftFunc(token.Bytes, unicode.IsSpace)) {
				ends, last = append(ends, end), end.Byte
			}
		}
	}
	return append(ends, tokens[len(tokens)-1].Range.End), nil
}

// startsText reports whether a literal begins with a character other than space.
func startsText(literal []byte) bool {
	return len(literal) > 0 && !unicode.IsSpace(bytes.Runes(literal[:min(len(literal), 4)])[0])
}
