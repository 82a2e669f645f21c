package funcs

import (
	"strings"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/nesting"
	"tofu/internal/limits"
)

// For each token, the YAML parser visits all open brackets. Deeply nested documents therefore take
// long to parse.
const (
	maxBrackets = limits.Depth / 10
	maxIndent   = limits.Depth * 2 // maximum indentation of a line, in bytes
)

// yamlSize returns an error for documents that take too long to parse or whose aliases expand to
// too many elements.
func yamlSize(args []cty.Value) error {
	src := args[0].AsString()
	if yamlDeep(src) {
		return function.NewArgErrorf(0, "the document is nested too deeply: it has more than %d open brackets, or a "+
			"line indented by more than %d bytes", maxBrackets, maxIndent)
	}
	if nesting.LongNumber(src) {
		return function.NewArgErrorf(0, "one of the numbers has more than %d digits", limits.Digits)
	}
	if !strings.Contains(src, "&") || !strings.Contains(src, "*") {
		return nil // documents without aliases can't expand
	}
	ty, err := yaml.Standard.ImpliedType([]byte(src))
	if err == nil && countTypes(ty, maxElements) > maxElements {
		return function.NewArgErrorf(0,
			"the document has more than %d elements after expanding its aliases", maxElements)
	}
	return nil // the function itself reports the error
}

// yamlDeep reports whether a document nests deeply. It may overestimate, because text can contain
// unclosed brackets.
func yamlDeep(src string) bool {
	depth, indent, start := 0, 0, true
	for i := range len(src) {
		switch c := src[i]; {
		case c == '\n':
			indent, start = 0, true
		case start && (c == ' ' || c == '-' || c == '?'):
			indent++
		case c == '[' || c == '{':
			depth, start = depth+1, false
		case c == ']' || c == '}':
			depth, start = max(depth-1, 0), false
		default:
			start = false
		}
		if depth > maxBrackets || indent > maxIndent {
			return true
		}
	}
	return false
}

// countTypes counts the types within a type, up to a limit. The type that an alias refers to is
// counted at each use.
func countTypes(ty cty.Type, limit int) int {
	total := 1
	switch {
	case ty.IsTupleType():
		for _, element := range ty.TupleElementTypes() {
			if total > limit {
				return total
			}
			total += countTypes(element, limit-total)
		}
	case ty.IsObjectType():
		for _, attribute := range ty.AttributeTypes() {
			if total > limit {
				return total
			}
			total += countTypes(attribute, limit-total)
		}
	}
	return total
}

// DecodeYAML returns the value of a YAML document, as yamldecode does.
func DecodeYAML(text string) (cty.Value, error) {
	return yamldecodeFunc.Call([]cty.Value{cty.StringVal(text)})
}
