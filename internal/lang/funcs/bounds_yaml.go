package funcs

import (
	"strings"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/nesting"
)

// The parser of YAML looks at all open brackets at each token, so deep documents take it long.
const (
	maxBrackets = 1_000
	maxIndent   = 20_000 // bytes of a line before its first word, which are as good as levels
)

// yamlSize refuses what the parser would take too long for, and documents whose aliases stand for more than could ever be listed.
func yamlSize(args []cty.Value) error {
	src := args[0].AsString()
	if yamlDeep(src) {
		return function.NewArgErrorf(0, "the document nests more than %d levels deep", maxBrackets)
	}
	if nesting.LongNumber(src) {
		return function.NewArgErrorf(0, "one of the numbers has more than %d digits", maxDigits)
	}
	if !strings.Contains(src, "&") || !strings.Contains(src, "*") {
		return nil // each element is written out
	}
	ty, err := yaml.Standard.ImpliedType([]byte(src))
	if err == nil && leaves(ty, maxElements) > maxElements {
		return function.NewArgErrorf(0, "the document has more than %d elements, aliases counted as what they stand for", maxElements)
	}
	return nil // an error is the function's to report
}

// yamlDeep estimates generously how deep a document nests: text in it may have some brackets that nothing closes.
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

// leaves counts the types that a type consists of, up to a limit. What an alias stands for is counted wherever it is used.
func leaves(ty cty.Type, limit int) int {
	total := 1
	switch {
	case ty.IsTupleType():
		for _, element := range ty.TupleElementTypes() {
			if total > limit {
				return total
			}
			total += leaves(element, limit-total)
		}
	case ty.IsObjectType():
		for _, attribute := range ty.AttributeTypes() {
			if total > limit {
				return total
			}
			total += leaves(attribute, limit-total)
		}
	}
	return total
}
