package configs

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// sameExpression reports whether two native syntax expressions are equal and contain references.
// White space, comments and parentheses don't matter.
func sameExpression(a, b hcl.Expression) bool {
	x, native := a.(hclsyntax.Expression)
	y, bothNative := b.(hclsyntax.Expression)
	return native && bothNative && len(x.Variables()) > 0 && sameSyntax(reflect.ValueOf(x), reflect.ValueOf(y))
}

// sameSyntax compares two syntax trees. It ignores source ranges and unexported fields, which cache
// evaluation results.
func sameSyntax(a, b reflect.Value) bool {
	a, b = withoutParentheses(a), withoutParentheses(b)
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch x := a.Interface().(type) {
	case hcl.Range:
		return true
	case cty.Value:
		return x.RawEquals(b.Interface().(cty.Value))
	case *hclsyntax.Operation:
		return x == b.Interface()
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		return sameSyntax(a.Elem(), b.Elem())
	case reflect.Slice:
		same := a.Len() == b.Len()
		for i := 0; same && i < a.Len(); i++ {
			same = sameSyntax(a.Index(i), b.Index(i))
		}
		return same
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).IsExported() && !sameSyntax(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Interface() == b.Interface()
}

// withoutParentheses returns the expression inside parentheses. Other values are returned
// unchanged.
func withoutParentheses(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	for v.IsValid() {
		p, ok := v.Interface().(*hclsyntax.ParenthesesExpr)
		if !ok {
			break
		}
		v = reflect.ValueOf(p.Expression)
	}
	return v
}
