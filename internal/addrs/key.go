package addrs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

type keyKind uint8

const (
	noKey keyKind = iota
	intKey
	stringKey
	unknownKey
)

// InstanceKey is the key of an instance of a resource or module: none, an integer (count) or a
// string (for_each).
type InstanceKey struct {
	kind keyKind
	n    int
	s    string
}

// NoKey is the key of the only instance of a block without count or for_each.
var NoKey = InstanceKey{}

// UnknownKey represents keys that are not known yet. It is used only by validation.
var UnknownKey = InstanceKey{kind: unknownKey}

// IntKey returns the key of the instance with count.index n.
func IntKey(n int) InstanceKey { return InstanceKey{kind: intKey, n: n} }

// StringKey returns the key of the instance with each.key s.
func StringKey(s string) InstanceKey { return InstanceKey{kind: stringKey, s: s} }

// KeyFromValue converts a known, unmarked string or integer to a key.
func KeyFromValue(v cty.Value) (InstanceKey, error) {
	switch {
	case v.IsNull() || !v.IsKnown():
		return NoKey, fmt.Errorf("an instance key must be a known string or number")
	case v.Type() == cty.String:
		return StringKey(v.AsString()), nil
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		n, acc := f.Int64()
		if acc != 0 || n < 0 {
			return NoKey, fmt.Errorf("a number used as an instance key must be a non-negative integer")
		}
		return IntKey(int(n)), nil
	}
	return NoKey, fmt.Errorf("an instance key must be a string or a number")
}

// IsInt returns the index if the key is that of an instance with count, otherwise false.
func (k InstanceKey) IsInt() (int, bool) { return k.n, k.kind == intKey }

// IsString returns the string if the key is that of an instance with for_each, otherwise false.
func (k InstanceKey) IsString() (string, bool) { return k.s, k.kind == stringKey }

// Value returns the key as a cty value: null for NoKey, unknown for UnknownKey.
func (k InstanceKey) Value() cty.Value {
	switch k.kind {
	case intKey:
		return cty.NumberIntVal(int64(k.n))
	case stringKey:
		return cty.StringVal(k.s)
	case unknownKey:
		return cty.DynamicVal
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// String returns the index in an address: "", "[0]" or `["a"]`. For UnknownKey it returns "[*]".
func (k InstanceKey) String() string {
	switch k.kind {
	case intKey:
		return "[" + strconv.Itoa(k.n) + "]"
	case stringKey:
		return "[" + tfdiags.Quote(k.s) + "]"
	case unknownKey:
		return "[*]"
	}
	return ""
}

// Compare orders NoKey first, then integers, then strings by their bytes.
func (k InstanceKey) Compare(other InstanceKey) int {
	if k.kind != other.kind {
		return int(k.kind) - int(other.kind)
	}
	if k.kind == intKey {
		return k.n - other.n
	}
	return strings.Compare(k.s, other.s)
}

// parseKey parses the index at the start of canonical address text and returns the text after it.
func parseKey(text string) (InstanceKey, string) {
	if strings.HasPrefix(text, "[*]") {
		return UnknownKey, text[3:]
	}
	if !strings.HasPrefix(text, `["`) {
		end := strings.IndexByte(text, ']')
		n, _ := strconv.Atoi(text[1:end])
		return IntKey(n), text[end+1:]
	}
	end := 2
	for text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	literal := text[1 : end+1]
	if !strings.ContainsAny(literal, `\$%`) {
		return StringKey(literal[1 : len(literal)-1]), text[end+2:]
	}
	expr, diags := hclsyntax.ParseExpression([]byte(literal), "", hcl.InitialPos)
	if diags.HasErrors() {
		panic("unreachable: module instance text is canonical")
	}
	v, _ := expr.Value(nil)
	return StringKey(v.AsString()), text[end+2:]
}
