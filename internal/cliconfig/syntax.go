package cliconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/ages"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// CLI configuration files are written in HCL 1, the predecessor of HCL. HCL 1 has only objects,
// lists and plain values; keys may be quoted and blocks may be on one line. Files may also be in
// the equivalent JSON. Both syntaxes are parsed to items.

// item is a key with its value. The block `credentials "host" { … }` is the item credentials, whose
// value is an object with an item host.
type item struct {
	key   string
	value any // string, bool, float64, nil, []any or object
	at    hcl.Range
	// form is the notation of the item. It matters only for settings that must be blocks.
	form form
}

type form int

const (
	block    form = iota // key { … }
	assigned             // key = value
	labeled              // key "label" { … }
)

type object []item

// parseFile parses a file in either syntax.
func parseFile(src []byte, filename string) (object, error) {
	check, isJSON := nesting.Check, strings.HasPrefix(strings.TrimSpace(string(nesting.TrimMark(src))), "{")
	if isJSON {
		check = nesting.CheckJSON
	}
	if d := check(filename, src); d != nil {
		return nil, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	if isJSON {
		return parseJSON(src, filename)
	}
	tokens, diags := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	tokens = slices.DeleteFunc(tokens, func(t hclsyntax.Token) bool {
		return t.Type == hclsyntax.TokenComment || t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComma
	})
	p := &parser{src: src, tokens: tokens}
	obj := p.items(hclsyntax.TokenEOF)
	if p.err != nil {
		return nil, p.err
	}
	return obj, nil
}

type parser struct {
	src    []byte
	tokens hclsyntax.Tokens
	err    error // first error
}

func (p *parser) peek() hclsyntax.Token { return p.tokens[0] }

func (p *parser) next() hclsyntax.Token {
	t := p.tokens[0]
	if t.Type != hclsyntax.TokenEOF {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) fail(at hcl.Range, detail string, args ...any) {
	if p.err == nil {
		p.err = tfdiags.Errorf("Invalid CLI configuration", detail, args...).At(at)
	}
}

// items parses items up to a closing token and consumes the token.
func (p *parser) items(end hclsyntax.TokenType) object {
	var obj object
	set := make(map[string]bool)
	for p.err == nil {
		t := p.peek()
		if t.Type == end {
			p.next()
			return obj
		}
		if t.Type == hclsyntax.TokenEOF {
			p.fail(t.Range, "A closing brace is missing before the end of the file.")
			return nil
		}
		key, ok := p.key()
		if !ok {
			p.fail(t.Range, "The name of a setting is expected here.")
			return nil
		}
		it := p.itemAfterKey(key, t.Range)
		if it.form == assigned && set[key] {
			p.fail(t.Range, "%q is already set. Set it only once.", key)
		}
		set[key] = set[key] || it.form == assigned
		obj = append(obj, it)
	}
	return obj
}

func (p *parser) key() (string, bool) {
	switch t := p.peek(); t.Type {
	case hclsyntax.TokenIdent:
		return string(p.next().Bytes), true
	case hclsyntax.TokenOQuote:
		return p.quoted(), true
	}
	return "", false
}

// itemAfterKey parses what follows a key: "= value", "{ … }", or more keys and a block.
func (p *parser) itemAfterKey(key string, at hcl.Range) item {
	switch t := p.peek(); t.Type {
	case hclsyntax.TokenEqual, hclsyntax.TokenColon:
		p.next()
		return item{key, p.value(), at, assigned}
	case hclsyntax.TokenOBrace:
		return item{key, p.value(), at, block}
	case hclsyntax.TokenIdent, hclsyntax.TokenOQuote:
		label, _ := p.key()
		return item{key, object{p.itemAfterKey(label, t.Range)}, at, labeled}
	default:
		p.fail(t.Range, "An equals sign, a label or an opening brace is expected after %q.", key)
		return item{}
	}
}

func (p *parser) value() any {
	t := p.peek()
	switch t.Type {
	case hclsyntax.TokenOQuote:
		return p.quoted()
	case hclsyntax.TokenOBrace:
		p.next()
		return p.items(hclsyntax.TokenCBrace)
	case hclsyntax.TokenOBrack:
		p.next()
		var list []any
		for p.err == nil && p.peek().Type != hclsyntax.TokenCBrack {
			if p.peek().Type == hclsyntax.TokenEOF {
				p.fail(p.peek().Range, "A closing bracket is missing before the end of the file.")
				return nil
			}
			list = append(list, p.value())
		}
		p.next()
		return list
	case hclsyntax.TokenNumberLit, hclsyntax.TokenMinus:
		text := string(p.next().Bytes)
		if t.Type == hclsyntax.TokenMinus {
			text += string(p.next().Bytes)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.fail(t.Range, "%q is not a valid number.", text)
		}
		return n
	case hclsyntax.TokenIdent:
		switch word := string(p.next().Bytes); word {
		case "true", "false":
			return word == "true"
		case "null":
			return nil
		}
	}
	p.fail(t.Range, "A string in quotes, a number, true, false, a list or a block is expected here.")
	return nil
}

// quoted parses a string. Template sequences are taken literally: settings that allow environment
// variables expand those themselves.
func (p *parser) quoted() string {
	open := p.next()
	nested := false // whether the string has quotes within a template sequence
	for depth := 1; depth > 0; {
		switch t := p.next(); t.Type {
		case hclsyntax.TokenOQuote:
			depth++
			nested = true
		case hclsyntax.TokenCQuote:
			depth--
			if depth == 0 {
				raw := p.src[open.Range.Start.Byte:t.Range.End.Byte]
				text, err := strconv.Unquote(string(raw))
				if err != nil && nested {
					p.fail(open.Range, "The string %s contains quotes. Write a backslash before each of them.", raw)
				} else if err != nil {
					p.fail(open.Range, "The string %s has an invalid escape sequence; write a backslash "+
						"twice, or use slashes in paths.", raw)
				}
				return text
			}
		case hclsyntax.TokenEOF:
			p.fail(open.Range, "The string has no closing quote.")
			return ""
		}
	}
	panic("unreachable: the loop ends with a quote or the file")
}

// parseJSON parses a file in JSON to the same structure.
func parseJSON(src []byte, filename string) (object, error) {
	var doc map[string]any
	if err := json.Unmarshal(src, &doc); err != nil {
		line := 1
		if syntax, ok := err.(*json.SyntaxError); ok {
			line += strings.Count(string(src[:syntax.Offset]), "\n")
		}
		at := hcl.Range{Filename: filename, Start: hcl.Pos{Line: line, Column: 1}, End: hcl.Pos{Line: line, Column: 1}}
		return nil, tfdiags.Errorf("Invalid CLI configuration", "The file isn't valid JSON: %s.", err).At(at)
	}
	start := hcl.Pos{Line: 1, Column: 1}
	return fromJSON(doc, hcl.Range{Filename: filename, Start: start, End: start}), nil
}

func fromJSON(doc map[string]any, at hcl.Range) object {
	var obj object
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		for _, value := range repeated(doc[key]) {
			if nested, ok := value.(map[string]any); ok {
				value = fromJSON(nested, at)
			}
			obj = append(obj, item{key, value, at, block})
		}
	}
	return obj
}

// repeated returns the elements of a list of objects, which represents a repeated block. It returns
// any other JSON value as the only element.
func repeated(value any) []any {
	list, ok := value.([]any)
	if !ok {
		return []any{value}
	}
	for _, v := range list {
		if _, ok := v.(map[string]any); !ok {
			return []any{value}
		}
	}
	return list
}

// text returns an item's value as a string. Numbers may be written without quotes.
func (it item) text() (string, error) {
	if s, ok := textOf(it.value); ok {
		return s, nil
	}
	return "", fmt.Errorf("%q must be a string in quotes", it.key)
}

func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func (it item) flag() (bool, error) {
	b, ok := it.value.(bool)
	if !ok {
		return false, fmt.Errorf("%q must be true or false, without quotes", it.key)
	}
	return b, nil
}

// number returns an item's value as an integer. It returns 0 for a negative number.
func (it item) number() (int, error) {
	text, ok := textOf(it.value)
	if n, err := strconv.Atoi(text); ok && err == nil {
		return max(n, 0), nil
	}
	return 0, fmt.Errorf("%q must be a whole number", it.key)
}

// age returns an item's value as an age. "0" means none.
func (it item) age() (time.Duration, error) {
	text, err := it.text()
	if err != nil || text == "0" {
		return 0, err
	}
	age, err := ages.Parse(text)
	if err != nil {
		err = fmt.Errorf("%q: %w; \"0\" means no age", it.key, err)
	}
	return age, err
}

func (it item) texts() ([]string, error) {
	list, ok := it.value.([]any)
	if !ok {
		return nil, fmt.Errorf("%q must be a list of strings", it.key)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i], ok = textOf(v)
		if !ok {
			return nil, fmt.Errorf("%q must be a list of strings", it.key)
		}
	}
	return texts, nil
}

func (it item) object() (object, error) {
	obj, ok := it.value.(object)
	if !ok {
		return nil, fmt.Errorf("%q must be a block", it.key)
	}
	return obj, nil
}
