package funcs

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/coerce"
	"tofu/internal/lang/nesting"
	"tofu/internal/limits"
)

// Limits for functions that can return large results for small arguments. The size is computed
// before the call, so that a typo is an error and doesn't exhaust the memory. The limits are far
// above useful values.
const (
	maxText     = limits.Size / 4   // characters of a result
	maxElements = limits.Size / 128 // elements of a product or YAML document, or matches of a search
	maxCost     = 18                // cost of bcrypt: about ten seconds

	maxAlternatives = 10_000 // alternatives in a file name pattern
)

type refinement = func(*cty.RefinementBuilder) *cty.RefinementBuilder

// withSizeCheck returns fn with a check of its arguments. If size returns an error, the call fails.
// The arguments passed to size are known and not marked themselves, but they may contain unknown or
// marked values. The first is not null. refine applies to unknown results, so all results of fn
// must satisfy it.
func withSizeCheck(fn function.Function, size func(args []cty.Value) error, refine refinement) function.Function {
	check := func(args []cty.Value) error {
		bare := make([]cty.Value, len(args))
		for i, arg := range args {
			bare[i], _ = arg.Unmark()
			if !bare[i].IsKnown() || bare[i].IsNull() && i == 0 {
				return nil
			}
		}
		return size(bare)
	}
	return function.New(&function.Spec{
		Description: fn.Description(),
		Params:      fn.Params(),
		VarParam:    fn.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			// The call of fn determines its type, for which a decoder decodes the document, so the
			// size must be checked before.
			if err := check(args); err != nil {
				return cty.NilType, err
			}
			return typeOf(args, fn.ReturnTypeForValues)
		},
		RefineResult: refine,
		Impl:         func(args []cty.Value, _ cty.Type) (cty.Value, error) { return fn.Call(args) },
	})
}

// formatSize limits the total width and precision in a format string, multiplied by the number of
// elements in list arguments.
func formatSize(args []cty.Value) error {
	times := 1
	for _, arg := range args[1:] {
		times = max(times, elements(arg))
		if anyElement(arg, tooManyDigits) {
			return errors.New("one of the numbers has too many digits")
		}
	}
	if total := padding(args[0].AsString()); float64(total)*float64(times) > maxText {
		return fmt.Errorf("the widths and precisions in the format would produce more than %d characters", maxText)
	}
	return nil
}

// padding returns the sum of the widths and precisions in a format string.
func padding(spec string) int {
	total := 0
	for {
		at := strings.IndexByte(spec, '%')
		if at < 0 {
			return total
		}
		spec = strings.TrimLeft(spec[at+1:], "0#-+ ")
		width, rest := leadingNumber(spec)
		precision := 0
		if strings.HasPrefix(rest, ".") {
			precision, rest = leadingNumber(rest[1:])
		}
		if strings.HasPrefix(rest, "[") {
			_, rest, _ = strings.Cut(rest, "]")
		}
		if rest != "" && strings.Contains("sqvt", rest[:1]) {
			precision = 0 // the precision of a string only shortens it
		}
		spec = strings.TrimPrefix(rest, "%")
		total = min(total+max(width, precision), math.MaxInt32)
	}
}

// leadingNumber parses the digits at the start of text and returns the remaining text. Large
// numbers become math.MaxInt32.
func leadingNumber(text string) (int, string) {
	rest := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(rest)]
	n, err := strconv.Atoi(digits)
	if digits != "" && (err != nil || n > math.MaxInt32) {
		n = math.MaxInt32
	}
	return n, rest
}

// tooManyDigits reports whether a value is a number with too many digits to format, or a string
// that would be converted to such a number.
func tooManyDigits(v cty.Value) bool {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() {
		return false
	}
	if v.Type() == cty.String && len(v.AsString()) > 1000 {
		return false // a number in this form is no longer than the string itself
	}
	_, err := coerce.Convert(v, cty.Number)
	return errors.Is(err, coerce.ErrLongNumber)
}

func indentSize(args []cty.Value) error {
	if _, accuracy := args[0].AsBigFloat().Int64(); accuracy != big.Exact {
		return nil // not an integer, which the function itself reports
	}
	spaces, _ := args[0].AsBigFloat().Float64()
	if lines := strings.Count(args[1].AsString(), "\n"); spaces*float64(max(lines, 1)) > maxText {
		return function.NewArgErrorf(0, "the indentation would produce more than %d characters", maxText)
	}
	return nil
}

func productSize(args []cty.Value) error {
	total := 1.0
	for _, arg := range args {
		total *= float64(elements(arg))
	}
	if total > maxElements {
		return fmt.Errorf("the product would have %.0f elements; the limit is %d", total, maxElements)
	}
	return nil
}

// elements returns the length of a list, set or tuple. It returns 1 for other values.
func elements(v cty.Value) int {
	ty := v.Type()
	if v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() || !v.Length().IsKnown() {
		return 1
	}
	return v.LengthInt()
}

func jsonSize(args []cty.Value) error {
	if nesting.JSONDepth(args[0].AsString()) > limits.Depth {
		return function.NewArgErrorf(0, "the document is nested more than %d levels deep", limits.Depth)
	}
	if nesting.LongNumber(args[0].AsString()) {
		return function.NewArgErrorf(0, "one of the numbers has more than %d digits", limits.Digits)
	}
	return nil
}

// anyElement reports whether f returns true for any element of v or, if v is not a collection, for
// v.
func anyElement(v cty.Value, f func(cty.Value) bool) bool {
	if !v.CanIterateElements() {
		return f(v)
	}
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		elem, _ = elem.Unmark()
		if f(elem) {
			return true
		}
	}
	return false
}

func digitsSize(args []cty.Value) error {
	// parseint first converts a number to a string, so check the length of that string.
	if digits, err := convert.Convert(args[0], cty.String); err == nil && len(digits.AsString()) > limits.Digits {
		return function.NewArgErrorf(0, "the number has more than %d digits", limits.Digits)
	}
	return nil
}

func matchesSize(args []cty.Value) error {
	text := args[1].AsString()
	if len(text) < maxElements {
		return nil
	}
	re, err := regexp.Compile(args[0].AsString())
	if err == nil && len(re.FindAllStringIndex(text, maxElements+1)) > maxElements {
		return function.NewArgErrorf(1, "there are more than %d matches", maxElements)
	}
	return nil // the function itself reports the error
}

var errLargeReplacement = fmt.Errorf("the result would have more than %d bytes", maxText)

// replaceable reports whether the result of replacing all matches is certain to be within maxText.
func replaceable(re *regexp.Regexp, text, replacement string) bool {
	if groups := strings.Count(replacement, "$"); float64(groups)*float64(len(text)) > maxText {
		return false
	}
	if float64(len(text)+1)*float64(len(replacement)) <= maxText {
		return true
	}
	most := maxText / len(replacement)
	return len(re.FindAllStringIndex(text, most+1)) <= most
}
