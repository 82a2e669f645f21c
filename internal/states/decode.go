package states

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Every command that plans decodes every object of the state, so this is done in one pass over the text instead of through
// ctyjson's tokens, which costs several times as much. What isn't exactly as this program or OpenTofu writes it (and every error)
// is left to ctyjson: the two never disagree on a value.

// Unmarshal gives JSON text as a value of a type.
func Unmarshal(text []byte, ty cty.Type) (cty.Value, error) {
	d := decoder{text: text}
	if v, ok := d.value(ty); ok && d.end() {
		return v, nil
	}
	return unmarshalUnusual(text, ty)
}

// unmarshalUnusual leaves the text to ctyjson, which panics over a collection whose elements bring different types along. Nobody
// writes such a text, but files get damaged.
func unmarshalUnusual(text []byte, ty cty.Type) (v cty.Value, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			v, err = cty.NilVal, fmt.Errorf("the value can't be of the type %s: %v", ty.FriendlyName(), problem)
		}
	}()
	return ctyjson.Unmarshal(text, ty)
}

// decoder reads values off the front of a text. Its methods give false for whatever is unusual.
type decoder struct {
	text []byte
	pos  int
}

// space skips white space and gives the next byte, 0 at the end.
func (d *decoder) space() byte {
	for ; d.pos < len(d.text); d.pos++ {
		switch c := d.text[d.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (d *decoder) end() bool { return d.space() == 0 && d.pos == len(d.text) }

// take skips one byte when it is the next.
func (d *decoder) take(c byte) bool {
	if d.space() != c {
		return false
	}
	d.pos++
	return true
}

func (d *decoder) word(word string) bool {
	if len(d.text)-d.pos < len(word) || string(d.text[d.pos:d.pos+len(word)]) != word {
		return false
	}
	d.pos += len(word)
	return true
}

func (d *decoder) value(ty cty.Type) (cty.Value, bool) {
	if d.space() == 'n' {
		return cty.NullVal(ty), d.word("null")
	}
	switch {
	case ty == cty.String:
		s, ok := d.str()
		return cty.StringVal(s), ok
	case ty == cty.Number:
		return d.number()
	case ty == cty.Bool:
		if d.word("true") {
			return cty.True, true
		}
		return cty.False, d.word("false")
	case ty == cty.DynamicPseudoType:
		return d.dynamic()
	case ty.IsObjectType():
		return d.object(ty)
	case ty.IsMapType():
		return d.mapping(ty)
	case ty.IsListType() || ty.IsSetType():
		return d.list(ty)
	case ty.IsTupleType():
		return d.tuple(ty)
	}
	return cty.NilVal, false
}

// str reads a string; one with escapes is read by encoding/json.
func (d *decoder) str() (string, bool) {
	if d.space() != '"' {
		return "", false
	}
	start := d.pos
	plain := true
	for i := start + 1; i < len(d.text); i++ {
		switch c := d.text[i]; {
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return "", false
		case c >= 0x80:
			plain = false // encoding/json mends what is not UTF-8
		case c == '"':
			d.pos = i + 1
			if plain {
				return string(d.text[start+1 : i]), true
			}
			var s string
			err := json.Unmarshal(d.text[start:i+1], &s)
			return s, err == nil
		}
	}
	return "", false
}

// precision is that of the numbers that cty parses: calculations go on with it.
const precision = 512

// number reads a number: short whole ones, which most are, directly.
func (d *decoder) number() (cty.Value, bool) {
	start := d.pos
	whole := true
	for ; d.pos < len(d.text); d.pos++ {
		c := d.text[d.pos]
		if c >= '0' && c <= '9' || c == '-' {
			continue
		}
		if c != '.' && c != 'e' && c != 'E' && c != '+' {
			break
		}
		whole = false
	}
	text := string(d.text[start:d.pos])
	if !json.Valid(d.text[start:d.pos]) {
		return cty.NilVal, false
	}
	if whole && len(text) <= 18 {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && (n != 0 || text == "0") {
			return cty.NumberVal(new(big.Float).SetPrec(precision).SetInt64(n)), true
		}
	}
	v, err := cty.ParseNumberVal(text)
	return v, err == nil
}

// dynamic reads a value that brings its type along.
func (d *decoder) dynamic() (cty.Value, bool) {
	var value, typ []byte
	ok := d.members(func(name string) bool {
		raw, ok := d.raw()
		switch {
		case name == "value" && value == nil:
			value = raw
		case name == "type" && typ == nil:
			typ = raw
		default:
			return false
		}
		return ok
	})
	if !ok || value == nil || typ == nil {
		return cty.NilVal, false
	}
	ty, known := dynamicTypes[string(typ)]
	if !known {
		var err error
		if ty, err = ctyjson.UnmarshalType(typ); err != nil {
			return cty.NilVal, false
		}
	}
	inner := decoder{text: value}
	v, ok := inner.value(ty)
	return v, ok && inner.end()
}

// dynamicTypes are the types that most values of no fixed type have.
var dynamicTypes = map[string]cty.Type{`"string"`: cty.String, `"number"`: cty.Number, `"bool"`: cty.Bool}

// raw passes over one value and gives its text.
func (d *decoder) raw() ([]byte, bool) {
	c := d.space()
	start := d.pos
	ok := true
	switch c {
	case '{', '[':
		ok = d.skip()
	case '"':
		_, ok = d.str()
	default:
		for d.pos < len(d.text) && !strings.ContainsRune(",}] \t\n\r", rune(d.text[d.pos])) {
			d.pos++
		}
	}
	return d.text[start:d.pos], ok && d.pos > start
}

// skip passes over an object or array without looking at what is in it.
func (d *decoder) skip() bool {
	depth := 0
	for ; d.pos < len(d.text); d.pos++ {
		switch d.text[d.pos] {
		case '"':
			for d.pos++; d.pos < len(d.text) && d.text[d.pos] != '"'; d.pos++ {
				if d.text[d.pos] == '\\' {
					d.pos++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				d.pos++
				return true
			}
		}
	}
	return false
}

func (d *decoder) object(ty cty.Type) (cty.Value, bool) {
	types := ty.AttributeTypes()
	attrs := make(map[string]cty.Value, len(types))
	ok := d.members(func(name string) bool {
		aty, known := types[name]
		if _, twice := attrs[name]; !known || twice {
			return false
		}
		v, ok := d.value(aty)
		attrs[name] = v
		return ok
	})
	if !ok {
		return cty.NilVal, false
	}
	for name, aty := range types {
		if _, given := attrs[name]; !given {
			attrs[name] = cty.NullVal(aty)
		}
	}
	return cty.ObjectVal(attrs), true
}

func (d *decoder) mapping(ty cty.Type) (cty.Value, bool) {
	elems := make(map[string]cty.Value)
	ok := d.members(func(name string) bool {
		v, ok := d.value(ty.ElementType())
		if _, twice := elems[name]; twice {
			return false
		}
		elems[name] = v
		return ok
	})
	switch {
	case !ok || ty.ElementType().HasDynamicTypes(): // elements may be of different types: a matter for ctyjson
		return cty.NilVal, false
	case len(elems) == 0:
		return cty.MapValEmpty(ty.ElementType()), true
	}
	return cty.MapVal(elems), true
}

// members reads an object's members; read reads the value of each.
func (d *decoder) members(read func(name string) bool) bool {
	if !d.take('{') {
		return false
	}
	if d.take('}') {
		return true
	}
	for {
		name, ok := d.str()
		if !ok || !d.take(':') || !read(name) {
			return false
		}
		if d.take('}') {
			return true
		}
		if !d.take(',') {
			return false
		}
		d.space()
	}
}

func (d *decoder) list(ty cty.Type) (cty.Value, bool) {
	ety := ty.ElementType()
	var elems []cty.Value
	ok := d.elements(func() bool {
		v, ok := d.value(ety)
		elems = append(elems, v)
		return ok
	})
	switch {
	case !ok || ety.HasDynamicTypes():
		return cty.NilVal, false
	case ty.IsListType() && len(elems) == 0:
		return cty.ListValEmpty(ety), true
	case ty.IsListType():
		return cty.ListVal(elems), true
	case len(elems) == 0:
		return cty.SetValEmpty(ety), true
	}
	return cty.SetVal(elems), true
}

func (d *decoder) tuple(ty cty.Type) (cty.Value, bool) {
	types := ty.TupleElementTypes()
	elems := make([]cty.Value, 0, len(types))
	ok := d.elements(func() bool {
		if len(elems) == len(types) {
			return false
		}
		v, ok := d.value(types[len(elems)])
		elems = append(elems, v)
		return ok
	})
	if !ok || len(elems) != len(types) {
		return cty.NilVal, false
	}
	return cty.TupleVal(elems), true
}

// elements reads a list's elements.
func (d *decoder) elements(read func() bool) bool {
	if !d.take('[') {
		return false
	}
	if d.take(']') {
		return true
	}
	for {
		d.space()
		if !read() {
			return false
		}
		if d.take(']') {
			return true
		}
		if !d.take(',') {
			return false
		}
	}
}
