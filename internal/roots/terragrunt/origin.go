package terragrunt

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/funcs"
	"tofu/internal/tfdiags"
)

// An origin marks values from outside of the Terragrunt files: from the environment or from other
// files. They may be secrets, so they are not written to files that are meant to be committed. Paths
// and other values that only decide what is read are used without their marks.
type origin string

// public returns an error if a part of a value has an origin. at is the place of the value.
func public(v cty.Value, at hcl.Range) error {
	var err error
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		_, marks := part.Unmark()
		for m := range marks {
			if from, ok := m.(origin); ok && err == nil {
				err = tfdiags.Errorf("Value from outside", "%s", string(from)).At(at)
			}
		}
		return err == nil, nil
	})
	return err
}

// written evaluates an expression whose value is written to a file.
func (c *config) written(expr hcl.Expression) (cty.Value, error) {
	v, err := c.marked(expr)
	if err == nil {
		err = public(v, expr.Range())
	}
	return v, err
}

// chosen returns the operand that a condition selects, or the expression itself if it is not a
// conditional one. The value of a condition is in no result, so its origin doesn't matter.
func (c *config) chosen(expr hcl.Expression) hcl.Expression {
	for {
		switch e := expr.(type) {
		case *hclsyntax.ParenthesesExpr:
			expr = e.Expression
			continue
		case *hclsyntax.ConditionalExpr:
			v, err := c.value(e.Condition)
			switch {
			case err != nil:
			case v.RawEquals(cty.True):
				expr = e.TrueResult
				continue
			case v.RawEquals(cty.False):
				expr = e.FalseResult
				continue
			}
		}
		return expr
	}
}

// getEnv is the function get_env. Only the value of a variable has an origin, not the default.
func (c *config) getEnv() function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) == 0 {
				return cty.NilVal, errors.New("get_env needs the name of a variable")
			}
			name := args[0].AsString()
			switch v := c.unit.getenv(name); {
			case v != "":
				return cty.StringVal(v).Mark(origin("it has the value of the environment variable " + name +
					", which may be a secret")), nil
			case len(args) == 1:
				return cty.NilVal, fmt.Errorf("the environment variable %s is empty or not set", name)
			}
			return args[1], nil
		},
	})
}

// contentFunctions are the functions that return contents of files.
var contentFunctions = []string{"file", "filebase64", "templatefile"}

// markContents makes the functions that return contents of files mark their results.
func markContents(functions map[string]function.Function) {
	for _, base := range contentFunctions {
		for _, name := range []string{base, funcs.Namespace + base} {
			read := functions[name]
			functions[name] = function.New(&function.Spec{
				Params: read.Params(), VarParam: read.VarParam(), Type: read.ReturnTypeForValues,
				Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
					v, err := read.Call(args)
					if err != nil {
						return v, err
					}
					path, _ := args[0].Unmark()
					return v.Mark(origin("it has the content of the file " + path.AsString() + ", which may be a secret")), nil
				},
			})
		}
	}
}
