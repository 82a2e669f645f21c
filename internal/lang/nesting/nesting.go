// Package nesting rejects text that would exhaust the stack or memory when it is parsed and
// evaluated: deeply nested text, and numbers such as 1e999999999 that are short in the source but
// have too many digits.
//
// All text in the configuration language must pass [Check], [CheckTemplate] or [CheckJSON] before
// it is parsed: files, templates, values of variables and lines of the console. Text that passes
// can be parsed and evaluated without exhausting the stack. A check scans the text once.
package nesting

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"

	"tofu/internal/jsonscan"
	"tofu/internal/limits"
)

const (
	levelWeight = 10 // what a bracket, block or template counts, where an operator counts one
	maxLevels   = limits.Depth / levelWeight

	maxExponentDigits = 5
	// harmless is the size in bytes up to which no file can exhaust the stack.
	harmless = 1 << 13
)

// Parse checks and parses a file in native syntax.
func Parse(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	if d := Check(name, src); d != nil {
		return &hcl.File{Body: &hclsyntax.Body{}, Bytes: src}, hcl.Diagnostics{d}
	}
	return ParseChecked(name, src)
}

// ParseJSON checks and parses a file in JSON syntax.
func ParseJSON(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	if d := CheckJSON(name, src); d != nil {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, hcl.Diagnostics{d}
	}
	return hcljson.Parse(src, name)
}

// Check returns an error if the source of a file or expression in native syntax nests too deeply,
// contains numbers that are too long or is not in UTF-8. Otherwise it returns nil.
func Check(name string, src []byte) *hcl.Diagnostic {
	if d := checkEncoding(name, src, false); d != nil {
		return d
	}
	return check(name, src, hclsyntax.LexConfig)
}

// CheckTemplate is like Check for the source of a template.
func CheckTemplate(name string, src []byte) *hcl.Diagnostic {
	if !bytes.Contains(src, []byte("${")) && !bytes.Contains(src, []byte("%{")) {
		return nil
	}
	return check(name, src, hclsyntax.LexTemplate)
}

type lexer func(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

func check(name string, src []byte, lex lexer) *hcl.Diagnostic {
	if deep := len(src) > harmless && mayBeDeep(src); !deep && !LongNumber(src) {
		return nil
	}
	tokens, _ := lex(src, name, hcl.InitialPos)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenNumberLit && LongNumber(t.Bytes) {
			return tooLong(t.Range)
		}
	}
	return deepTokens(tokens)
}

// CheckJSON is like Check for a JSON document, whose strings are templates.
func CheckJSON(name string, src []byte) *hcl.Diagnostic {
	if d := checkEncoding(name, src, true); d != nil {
		return d
	}
	problem, at := checkJSON(src)
	if problem == nil {
		return nil
	}
	pos := hcl.Pos{Line: 1 + bytes.Count(src[:at], []byte("\n")), Column: 1, Byte: at}
	return problem(hcl.Range{Filename: name, Start: pos, End: pos})
}

// JSONDepth returns the nesting depth of a JSON document. If the JSON is invalid, the result may be
// too high.
func JSONDepth(src string) int {
	deepest, depth, quoted := 0, 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// LongNumber reports whether src contains a number with more than [limits.Digits] digits.
func LongNumber[T string | []byte](src T) bool {
	digit := func(i int) bool { return i < len(src) && '0' <= src[i] && src[i] <= '9' }
	digits := 0
	for i := range len(src) {
		if digit(i) {
			digits++
			if digits > limits.Digits {
				return true
			}
			continue
		}
		digits = 0
		if src[i]|0x20 == 'e' && i > 0 && digit(i-1) && exponentDigits(src[i+1:]) > maxExponentDigits {
			return true
		}
	}
	return false
}

// exponentDigits returns the number of significant digits in the exponent at the start of src.
func exponentDigits[T string | []byte](src T) int {
	at := 0
	if at < len(src) && (src[at] == '+' || src[at] == '-') {
		at++
	}
	for at < len(src) && src[at] == '0' {
		at++
	}
	end := at
	for end < len(src) && '0' <= src[end] && src[end] <= '9' {
		end++
	}
	return end - at
}

func tooLong(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Number too long",
		Detail:   "This number has more than 100,000 digits.",
		Subject:  &at,
	}
}

func tooDeep(at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Configuration nested too deeply",
		Detail: fmt.Sprintf("Brackets, blocks or templates are nested more than %d levels deep, or there is a "+
			"sequence of more than %d operators. Split the expression into several local values.",
			maxLevels, limits.Depth),
		Subject: &at,
	}
}

// checkJSON returns the error in a JSON document and its offset, or nil.
func checkJSON(src []byte) (problem func(hcl.Range) *hcl.Diagnostic, at int) {
	// number is the start of the text outside of strings in which numbers have not been checked yet
	depth, number := 0, 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			if LongNumber(src[number:i]) {
				return tooLong, i
			}
			end := jsonscan.StringEnd(src, i)
			if problem := checkString(src[i:end]); problem != nil {
				return problem, i
			}
			i, number = end-1, end
		case '{', '[':
			depth++
			if depth > maxLevels {
				return tooDeep, i
			}
		case '}', ']':
			depth--
		}
	}
	if LongNumber(src[number:]) {
		return tooLong, number
	}
	return nil, 0
}

// checkString checks the template in a JSON string.
func checkString(quoted []byte) func(hcl.Range) *hcl.Diagnostic {
	if !bytes.Contains(quoted, []byte("{")) {
		return nil
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil
	}
	switch d := CheckTemplate("", []byte(text)); {
	case d == nil:
		return nil
	case d.Summary == tooLong(hcl.Range{}).Summary:
		return tooLong
	}
	return tooDeep
}

// mayBeDeep reports whether a file may be nested too deeply. It is a cheap check that avoids the
// exact count for ordinary files. It overestimates, because it treats strings and comments as code.
func mayBeDeep(src []byte) bool {
	depth, operators := 0, 0
	var last byte // last character that is not a blank
	for _, c := range src {
		switch c {
		case '[':
			if last == ']' || last == ')' || last == '}' || last == '"' || last == '*' || last >= '0' && last <= '9' ||
				last|0x20 >= 'a' || last == '_' {
				operators++
			}
			depth += levelWeight
		case '(', '{':
			depth += levelWeight
		case ')', ']', '}':
			depth = max(depth-levelWeight, 0)
		case '+', '-', '*', '/', '%', '!', '&', '|', '<', '>', '?', '=':
			operators++
		case '\n':
			if depth == 0 {
				operators = 0
			}
		case ' ', '\t', '\r':
			continue
		}
		last = c
		if depth+operators > limits.Depth {
			return true
		}
	}
	return bytes.Count(src, []byte("%{")) > maxLevels
}

// opening, closing and operator hold the tokens for which the parser and the evaluator recurse.
var (
	opening = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenOParen: true, hclsyntax.TokenOBrace: true, hclsyntax.TokenOBrack: true,
		hclsyntax.TokenOQuote:   true,
		hclsyntax.TokenOHeredoc: true, hclsyntax.TokenTemplateInterp: true, hclsyntax.TokenTemplateControl: true,
	}
	closing = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenCParen: true, hclsyntax.TokenCBrace: true, hclsyntax.TokenCBrack: true,
		hclsyntax.TokenCQuote:   true,
		hclsyntax.TokenCHeredoc: true, hclsyntax.TokenTemplateSeqEnd: true,
	}
	operator = map[hclsyntax.TokenType]bool{
		hclsyntax.TokenPlus: true, hclsyntax.TokenMinus: true, hclsyntax.TokenStar: true, hclsyntax.TokenSlash: true,
		hclsyntax.TokenPercent: true, hclsyntax.TokenBang: true, hclsyntax.TokenAnd: true, hclsyntax.TokenOr: true,
		hclsyntax.TokenLessThan: true, hclsyntax.TokenLessThanEq: true, hclsyntax.TokenGreaterThan: true,
		hclsyntax.TokenGreaterThanEq: true, hclsyntax.TokenEqualOp: true, hclsyntax.TokenNotEqual: true,
		hclsyntax.TokenQuestion: true,
	}
)

// deepTokens counts nesting levels and operators exactly. An operator counts until the end of the
// item that contains it: a comma, an assignment, the closing bracket of its level or, directly
// inside braces, the end of the line. Index brackets count as operators, template directives as
// levels.
func deepTokens(tokens hclsyntax.Tokens) *hcl.Diagnostic {
	type level struct {
		operators int
		lines     bool // whether the end of a line ends an item
	}
	levels := []level{{lines: true}}
	total := 0 // weighted sum of the open levels and their operators
	for i, t := range tokens {
		top := &levels[len(levels)-1]
		switch {
		case opening[t.Type]:
			if t.Type == hclsyntax.TokenOBrack && i > 0 && operand[tokens[i-1].Type] {
				top.operators++
				total++
			}
			levels = append(levels, level{lines: t.Type == hclsyntax.TokenOBrace})
			total += levelWeight
			if t.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens) {
				total += levelWeight * directive(tokens[i+1])
			}
		case closing[t.Type] && len(levels) > 1:
			total -= top.operators + levelWeight
			levels = levels[:len(levels)-1]
		case operator[t.Type]:
			top.operators++
			total++
		case t.Type == hclsyntax.TokenComma, t.Type == hclsyntax.TokenEqual,
			t.Type == hclsyntax.TokenNewline && top.lines:
			total -= top.operators
			top.operators = 0
		}
		if total > limits.Depth {
			return tooDeep(t.Range)
		}
	}
	return nil
}

// operand holds the tokens after which an opening bracket starts an index.
var operand = map[hclsyntax.TokenType]bool{
	hclsyntax.TokenIdent: true, hclsyntax.TokenCBrack: true, hclsyntax.TokenCParen: true, hclsyntax.TokenCBrace: true,
	hclsyntax.TokenCQuote: true, hclsyntax.TokenStar: true,
}

// directive returns the change of the nesting level after a template directive with the given
// keyword: 1, 0 or -1.
func directive(keyword hclsyntax.Token) int {
	switch string(keyword.Bytes) {
	case "if", "for":
		return 1
	case "endif", "endfor":
		return -1
	}
	return 0
}
