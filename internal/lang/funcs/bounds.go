package funcs

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/nesting"
)

// Some functions make much out of little. What they are asked for is worked out before they begin, so that a slip of the finger is an
// error at once rather than the end of the memory. The bounds are far beyond what anybody needs.
const (
	maxText     = 1 << 26 // bytes that padding and indentation may make
	maxFile     = 1 << 28 // bytes of a file that become a value
	maxElements = 1 << 21 // of a product, of a YAML document, of matches
	maxDepth    = 10_000  // of a JSON document
	maxDigits   = 100_000 // of a number
	maxCost     = 18      // of bcrypt: some ten seconds

	maxAlternatives = 10_000 // of a pattern of file names
)

type refinement = func(*cty.RefinementBuilder) *cty.RefinementBuilder

// bounded makes a function that refuses arguments for which size gives an error. Arguments are unmarked, and known at the top. What refine
// says of unknown results, fn must say of all.
func bounded(fn function.Function, size func(args []cty.Value) error, refine refinement) function.Function {
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
			if err := check(args); err != nil { // types of decoded documents come from their values
				return cty.NilType, err
			}
			return fn.ReturnTypeForValues(args)
		},
		RefineResult: refine,
		Impl:         func(args []cty.Value, _ cty.Type) (cty.Value, error) { return fn.Call(args) },
	})
}

// formatSize adds up the widths and precisions of a specification, for each element of lists.
func formatSize(args []cty.Value) error {
	times := 1
	for _, arg := range args[1:] {
		times = max(times, elements(arg))
		if long(arg) {
			return fmt.Errorf("one of the numbers has hundreds of thousands of digits")
		}
	}
	if total := padding(args[0].AsString()); float64(total)*float64(times) > maxText {
		return fmt.Errorf("the widths and precisions of the specification would make a text of more than %d characters", maxText)
	}
	return nil
}

// padding adds up the widths and precisions in a specification.
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
			precision = 0 // shortens the text, if anything
		}
		spec = strings.TrimPrefix(rest, "%")
		total = min(total+max(width, precision), math.MaxInt32)
	}
}

// leadingNumber takes the digits at the beginning of a text; more than fit are as good as very many.
func leadingNumber(text string) (int, string) {
	rest := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(rest)]
	n, err := strconv.Atoi(digits)
	if digits != "" && (err != nil || n > math.MaxInt32) {
		n = math.MaxInt32
	}
	return n, rest
}

// long tells whether a value is a number, or text that becomes one, with so many digits that writing them out takes for ever.
func long(v cty.Value) bool {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsPrimitiveType() {
		return false
	}
	if v.Type() == cty.String && len(v.AsString()) > 1000 {
		return false // digits that are there already
	}
	n, err := convert.Convert(v, cty.Number)
	return err == nil && LongNumber(n.AsBigFloat())
}

// LongNumber tells whether a number has so many digits before or behind its point that nothing can be done with it as text.
func LongNumber(f *big.Float) bool {
	exponent := f.MantExp(nil)
	return exponent > maxExponent || exponent < -maxExponent
}

const maxExponent = 1 << 19 // in bits: about 150,000 digits

func indentSize(args []cty.Value) error {
	if _, accuracy := args[0].AsBigFloat().Int64(); accuracy != big.Exact {
		return nil // no number of spaces, which the function says itself
	}
	spaces, _ := args[0].AsBigFloat().Float64()
	if lines := strings.Count(args[1].AsString(), "\n"); spaces*float64(max(lines, 1)) > maxText {
		return function.NewArgErrorf(0, "so many spaces would make a text of more than %d characters", maxText)
	}
	return nil
}

func productSize(args []cty.Value) error {
	total := 1.0
	for _, arg := range args {
		total *= float64(elements(arg))
	}
	if total > maxElements {
		return fmt.Errorf("the product would have %.0f elements; more than %d are too many", total, maxElements)
	}
	return nil
}

// elements counts those of a list, set or tuple; anything else is as good as one.
func elements(v cty.Value) int {
	ty := v.Type()
	if v.IsNull() || !v.IsKnown() || !ty.IsListType() && !ty.IsSetType() && !ty.IsTupleType() || !v.Length().IsKnown() {
		return 1
	}
	return v.LengthInt()
}

func jsonSize(args []cty.Value) error {
	if nesting.JSONDepth(args[0].AsString()) > maxDepth {
		return function.NewArgErrorf(0, "the document nests more than %d levels deep", maxDepth)
	}
	if nesting.LongNumber(args[0].AsString()) {
		return function.NewArgErrorf(0, "one of the numbers has more than %d digits", maxDigits)
	}
	return nil
}

func digitsSize(args []cty.Value) error {
	// The argument may be a number, which is written out first.
	if digits, err := convert.Convert(args[0], cty.String); err == nil && len(digits.AsString()) > maxDigits {
		return function.NewArgErrorf(0, "the number has more than %d digits", maxDigits)
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
	return nil // an error is the function's to report
}

var errLargeReplacement = fmt.Errorf("the result would have more than %d bytes", maxText)

// replaceable tells whether the text that comes of replacing all matches is of a size to work with.
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
