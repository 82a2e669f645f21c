package configs

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// Given is the value of a root module variable as the user set it, before its type is known.
type Given struct {
	Text string         // from the command line, the environment or a prompt
	Expr hcl.Expression // from a file; Text is empty then
	// Val is set by callers that already have a value (plans, tests); otherwise it is cty.NilVal.
	// It takes precedence over Text and Expr.
	Val cty.Value
	// From is the source of the value for messages, a phrase such as `the -var option` or
	// `the environment variable TF_VAR_x`.
	From string
	// Undeclared is the severity of the diagnostic if the root module does not declare the
	// variable.
	Undeclared Undeclared
	Range      hcl.Range // range of the definition in a file, else empty
	// Unknown holds the paths of parts that are not known yet. An empty path means the whole value.
	Unknown []cty.Path
}

// Undeclared is the severity of the diagnostic about a value for an undeclared variable.
type Undeclared uint8

const (
	UndeclaredIgnored Undeclared = iota // environment variables may be meant for other configurations
	UndeclaredWarning                   // values from files
	UndeclaredError                     // values from options
)

// Value returns the value for v, before conversion to the variable's type. Parts that are not known
// yet are unknown.
func (g Given) Value(v *Variable) (cty.Value, error) {
	for _, path := range g.Unknown {
		if len(path) == 0 {
			return cty.DynamicVal, nil
		}
	}
	val, err := g.known(v)
	for _, path := range g.Unknown {
		if err == nil {
			val, err = forgetPart(val, path, v)
		}
	}
	return val, err
}

// forgetPart returns val with an unknown part at path. It returns an error if val has no such part.
func forgetPart(val cty.Value, path cty.Path, v *Variable) (cty.Value, error) {
	found := false
	out, err := cty.Transform(val, func(at cty.Path, part cty.Value) (cty.Value, error) {
		if !at.Equals(path) {
			return part, nil
		}
		found = true
		return cty.DynamicVal, nil
	})
	if err == nil && !found {
		err = tfdiags.Errorf("Invalid -var-unknown option",
			"The value of var.%s has no part %s. Give it any value, or make the whole variable unknown.", v.Name,
			strings.TrimPrefix(tfdiags.FormatPath(path), "."))
	}
	return out, err
}

// known returns the value that the user set, including the parts in g.Unknown.
func (g Given) known(v *Variable) (cty.Value, error) {
	switch {
	case g.Val != cty.NilVal:
		return g.Val, nil
	case g.Expr != nil:
		return evalGiven(g.Expr)
	case v.Type.Literal:
		return cty.StringVal(g.Text), nil
	}
	// The value of a variable with a structured type is an expression. The file name appears in
	// error messages about it.
	name := fmt.Sprintf("<value for var.%s>", v.Name)
	if d := nesting.Check(name, []byte(g.Text)); d != nil {
		return cty.DynamicVal, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	expr, diags := hclsyntax.ParseExpression([]byte(g.Text), name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, tfdiags.FromHCL(diags).Err()
	}
	return evalGiven(expr)
}

// evalGiven evaluates the expression of a value, which may not contain references. If it is a bare
// word, which is usually a string without quotes, the error suggests the quotes.
func evalGiven(expr hcl.Expression) (cty.Value, error) {
	val, diags := expr.Value(nil)
	word := hcl.ExprAsKeyword(expr)
	if word == "" {
		return val, tfdiags.FromHCL(diags).Err()
	}
	return val, tfdiags.FromHCL(diags).Map(func(d *tfdiags.Diagnostic) {
		d.Detail += fmt.Sprintf(" If %s is a string, write it in quotes: %q.", word, word)
	}).Err()
}

// Final returns the value that the module sees for val, or for the default if val is cty.NilVal.
// The result has the variable's type and marks. If the variable is not nullable, the default
// replaces null. It is an error if there is no default to use.
func (v *Variable) Final(val cty.Value) (cty.Value, error) {
	if val == cty.NilVal {
		if !v.Default.Set {
			return cty.DynamicVal, fmt.Errorf("the required variable %q has no value", v.Name)
		}
		val = v.Default.Value
	}
	converted, err := v.Type.Convert(val)
	if err != nil {
		return cty.UnknownVal(v.Type.Type), err
	}
	if converted.IsNull() && !v.Nullable.Value {
		if !v.Default.Set {
			return cty.UnknownVal(v.Type.Type), fmt.Errorf("required variable %q must not be null", v.Name)
		}
		converted, err = coerce.Convert(v.Default.Value, v.Type.Type)
		if err != nil {
			return cty.UnknownVal(v.Type.Type), err
		}
	}
	return marks.Declared(converted, v.Sensitive.Value, v.Ephemeral.Value), nil
}
