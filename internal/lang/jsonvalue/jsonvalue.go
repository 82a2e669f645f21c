// Package jsonvalue decodes JSON documents without a schema as the function jsondecode does, in one
// pass.
//
//	v, err := jsonvalue.Decode(`{"name": "x", "ports": [80, 443]}`)
//
// ctyjson, the library's decoder, reads a document twice with encoding/json: for the type, and for the
// value. It decodes documents with errors, and those with a form that programs rarely write, so all
// results and errors are its own.
package jsonvalue

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/jsonscan"
	"tofu/internal/lang/coerce"
	"tofu/internal/limits"
)

// Decode returns the value of a document: an object for an object, a tuple for an array.
func Decode(text string) (cty.Value, error) {
	data := []byte(text)
	d := decoder{jsonscan.Scanner{Data: data}}
	if v, ok := d.value(0); ok && d.End() {
		return v, nil
	}
	ty, err := ctyjson.ImpliedType(data)
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal(data, ty)
}

// A decoder returns false if ctyjson has to decode the document.
type decoder struct{ jsonscan.Scanner }

// value decodes a value in the given number of objects and arrays.
func (d *decoder) value(depth int) (v cty.Value, ok bool) {
	switch d.Space() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.array(depth + 1)
	case '"':
		text, ok := d.Text()
		return cty.StringVal(text), ok
	case 't':
		return cty.True, d.Word("true")
	case 'f':
		return cty.False, d.Word("false")
	case 'n':
		return cty.NullVal(cty.DynamicPseudoType), d.Word("null")
	}
	raw, ok := d.Number()
	if !ok {
		return cty.NilVal, false
	}
	return Number(raw)
}

func (d *decoder) object(depth int) (cty.Value, bool) {
	attrs := make(map[string]cty.Value)
	ok := depth < limits.Depth && d.Members(func(name []byte) bool {
		v, ok := d.value(depth)
		if _, twice := attrs[string(name)]; twice || !ascii(name) { // cty normalizes other names
			return false
		}
		attrs[string(name)] = v
		return ok
	})
	if !ok {
		return cty.NilVal, false
	}
	return cty.ObjectVal(attrs), true
}

func ascii(name []byte) bool {
	for _, c := range name {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (d *decoder) array(depth int) (cty.Value, bool) {
	var elems []cty.Value
	ok := depth < limits.Depth && d.Elements(func() bool {
		v, ok := d.value(depth)
		elems = append(elems, v)
		return ok
	})
	if !ok {
		return cty.NilVal, false
	}
	return cty.TupleVal(elems), true
}

// precision is the precision in bits of the numbers that cty parses.
const precision = 512

// Number returns the value of a JSON number. Short integers, the most common case, skip the general
// parser. It returns false for numbers with too many digits.
func Number(raw []byte) (cty.Value, bool) {
	text := string(raw)
	if len(text) <= 18 && !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && (n != 0 || text == "0") {
			return cty.NumberVal(new(big.Float).SetPrec(precision).SetInt64(n)), true
		}
	}
	if len(text) > limits.Digits {
		return cty.NilVal, false
	}
	v, err := cty.ParseNumberVal(text)
	return v, err == nil && !coerce.HasLongNumber(v)
}
