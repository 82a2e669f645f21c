package lang

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

// Element is an element of a for_each value: each.key and each.value of one instance.
type Element struct{ Key, Value cty.Value }

// ErrUnknownKeys is the error for a for_each value whose keys are not known yet.
var ErrUnknownKeys = errors.New(`the keys of the "for_each" value are not known`)

// ForEachError is a sentence that says why a value can't be used for for_each.
type ForEachError string

// Error implements error.
func (e ForEachError) Error() string { return string(e) }

// ForEach returns the elements of a for_each value, which must be a map, an object or a set of
// strings, in the order of their keys. The error is ErrUnknownKeys or a ForEachError.
func ForEach(v cty.Value) ([]Element, error) {
	if err := checkForEachMarks(v); err != nil {
		return nil, err
	}
	v, _ = v.Unmark()
	if isList(v.Type()) && !v.IsNull() {
		return nil, ForEachError(
			fmt.Sprintf(`The given "for_each" is %s. A map or a set of strings is required; toset(…) `+
				`converts a list to a set.`, WithArticle(v.Type().FriendlyName())))
	}
	return elements(v, "a map or a set of strings")
}

// ForEachOrList is like ForEach, but accepts lists and tuples too. Their keys are numbers.
func ForEachOrList(v cty.Value) ([]Element, error) {
	if err := checkForEachMarks(v); err != nil {
		return nil, err
	}
	v, _ = v.Unmark()
	return elements(v, "a map, a set of strings or a list")
}

// checkForEachMarks returns an error if instance keys would be taken from values that must not be
// shown or stored. The values of a map may be sensitive, but the elements of a set are keys.
func checkForEachMarks(v cty.Value) error {
	switch {
	case marks.Has(v, marks.Ephemeral):
		return ForEachError(`The "for_each" value is ephemeral, so it could differ between plan and apply.`)
	case marks.Has(v, marks.Sensitive):
		return ForEachError(`The "for_each" value is sensitive, and its keys would be shown in addresses. Use a ` +
			`map in which only the values are sensitive, or nonsensitive() if the keys are not secret.`)
	}
	return nil
}

// elements returns the elements of an unmarked for_each value. required names the types that the value
// may have.
func elements(v cty.Value, required string) ([]Element, error) {
	ty := v.Type()
	switch {
	case ty == cty.DynamicPseudoType && !v.IsKnown():
		return nil, ErrUnknownKeys
	case v.IsNull():
		return nil, ForEachError(fmt.Sprintf(`The given "for_each" is null. It must be %s.`, required))
	case !ty.IsMapType() && !ty.IsObjectType() && !ty.IsSetType() && !isList(ty):
		return nil, ForEachError(fmt.Sprintf(`The given "for_each" is %s. It must be %s.`,
			WithArticle(ty.FriendlyName()), required))
	case !v.IsKnown():
		return nil, ErrUnknownKeys
	case ty.IsSetType():
		return setElements(v)
	}
	out := make([]Element, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		key, _ = key.Unmark()
		out = append(out, Element{key, value})
	}
	return out, nil
}

// setElements returns the elements of a set. It iterates only once, because cty sorts the set for
// each iteration.
func setElements(v cty.Value) ([]Element, error) {
	var out []Element
	null := false
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		if !elem.IsWhollyKnown() {
			return nil, ErrUnknownKeys
		}
		null = null || elem.IsNull()
		out = append(out, Element{elem, elem})
	}
	switch elementType := v.Type().ElementType(); {
	case len(out) == 0:
		return nil, nil
	case elementType != cty.String:
		return nil, ForEachError(
			fmt.Sprintf(`The given "for_each" is a set of %s. Only sets of strings are supported, because `+
				`the elements become keys.`, elementType.FriendlyName()))
	case null:
		return nil, ForEachError(`The given "for_each" set contains null. Its elements become keys, so none of ` +
			`them may be null.`)
	}
	return out, nil
}

func isList(ty cty.Type) bool { return ty.IsListType() || ty.IsTupleType() }

// WithArticle returns a noun, such as the name of a type, with its indefinite article.
func WithArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
