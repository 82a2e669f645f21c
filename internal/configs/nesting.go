package configs

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxNesting bounds how deep brackets, blocks and templates nest, and tenfold how many operators follow each other. Parser and
	// evaluator recurse once per level, and a Go stack that is used up ends the program without a word.
	maxNesting  = 1_000
	maxWeight   = 10 * maxNesting
	levelWeight = 10 // of a level, in operators
	// harmless is the size up to which a file cannot nest too deep for the stack whatever it holds: a level takes up to 25 kB
	// of a stack of 1 GB.
	harmless = 1 << 13
)

// CheckNesting refuses source that nests too deep to be parsed safely.
func CheckNesting(name string, src []byte, isJSON bool) *hcl.Diagnostic {
	if len(src) <= harmless {
		return nil
	}
	at := -1
	if isJSON {
		at = deepJSON(src)
	} else if mayBeDeep(src) {
		return deepNative(name, src)
	}
	if at < 0 {
		return nil
	}
	pos := hcl.Pos{Line: 1 + strings.Count(string(src[:at]), "\n"), Column: 1, Byte: at}
	return tooDeep(hcl.Range{Filename: name, Start: pos, End: pos})
}

func tooDeep(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Configuration nested too deeply",
		Detail:   "Brackets, blocks or templates nest more than 1000 levels deep here, or more than 10000 operators follow each other. Split the expression into several local values.",
		Subject:  &at,
	}
}

// deepJSON gives the offset at which a JSON document nests too deep, or -1.
func deepJSON(src []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxNesting {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// mayBeDeep is a cheap overestimate that spares ordinary files the exact count: it takes strings and comments for code.
func mayBeDeep(src []byte) bool {
	depth, operators := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth += levelWeight
		case ')', ']', '}':
			if depth > 0 {
				depth -= levelWeight
			}
			if depth == 0 {
				operators = 0
			}
		case '+', '-', '*', '/', '%', '!', '&', '|', '<', '>', '?', '=':
			operators++
		}
		if depth+operators > maxWeight {
			return true
		}
	}
	return false
}

// opening, closing and operator are the tokens that make parser and evaluator recurse.
var (
	opening = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenOParen: true, hclsyntax.TokenOBrace: true, hclsyntax.TokenOBrack: true, hclsyntax.TokenOQuote: true,
		hclsyntax.TokenOHeredoc: true, hclsyntax.TokenTemplateInterp: true, hclsyntax.TokenTemplateControl: true,
	}
	closing = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenCParen: true, hclsyntax.TokenCBrace: true, hclsyntax.TokenCBrack: true, hclsyntax.TokenCQuote: true,
		hclsyntax.TokenCHeredoc: true, hclsyntax.TokenTemplateSeqEnd: true,
	}
	operator = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenPlus: true, hclsyntax.TokenMinus: true, hclsyntax.TokenStar: true, hclsyntax.TokenSlash: true,
		hclsyntax.TokenPercent: true, hclsyntax.TokenBang: true, hclsyntax.TokenAnd: true, hclsyntax.TokenOr: true,
		hclsyntax.TokenLessThan: true, hclsyntax.TokenLessThanEq: true, hclsyntax.TokenGreaterThan: true,
		hclsyntax.TokenGreaterThanEq: true, hclsyntax.TokenEqualOp: true, hclsyntax.TokenNotEqual: true, hclsyntax.TokenQuestion: true,
	}
)

// deepNative counts exactly, token by token. Operators count until the item ends: at a comma, an assignment, the closing bracket
// of their level or, directly within braces, the end of the line.
func deepNative(name string, src []byte) *hcl.Diagnostic {
	type level struct {
		operators int
		lines     bool // a line end ends an item
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	levels := []level{{lines: true}}
	total := 0 // open levels and all their operators
	for _, t := range tokens {
		top := &levels[len(levels)-1]
		switch {
		case opening[t.Type]:
			levels = append(levels, level{lines: t.Type == hclsyntax.TokenOBrace})
			total += levelWeight
		case closing[t.Type] && len(levels) > 1:
			total -= top.operators + levelWeight
			levels = levels[:len(levels)-1]
		case operator[t.Type]:
			top.operators++
			total++
		case t.Type == hclsyntax.TokenComma, t.Type == hclsyntax.TokenEqual, t.Type == hclsyntax.TokenNewline && top.lines:
			total -= top.operators
			top.operators = 0
		}
		if total > maxWeight {
			return tooDeep(t.Range)
		}
	}
	return nil
}
