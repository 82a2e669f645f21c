package funcs

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Variables returns the traversals in expr, except for the words of type constraints. For
// convert(var.x, list(string)) it returns only var.x.
func Variables(expr hcl.Expression) []hcl.Traversal {
	var words TypeWords
	VisitCalls(expr, words.Add)
	return words.Without(expr.Variables())
}

// TypeWords holds the source ranges of the words in type constraints, which HCL treats as
// references.
type TypeWords map[hcl.Range]bool

// Converted returns an expression that converts the value of another to a type constraint.
func Converted(value, typ hclsyntax.Expression) hclsyntax.Expression {
	at := value.Range()
	return &hclsyntax.FunctionCallExpr{Name: Namespace + "convert", Args: []hclsyntax.Expression{value, typ},
		NameRange: at, OpenParenRange: at, CloseParenRange: at}
}

// OfConverted reports whether an error is about a value that Converted can't convert, and not about a call of
// convert in the source, which is longer than its argument.
func OfConverted(d *hcl.Diagnostic) bool {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	return ok && call.CalledFunctionName() == Namespace+"convert" && d.Context != nil && d.Expression != nil &&
		d.Expression.Range() == *d.Context
}

// TypeArgument returns the argument of a call that is a type constraint, or nil.
func TypeArgument(call *hclsyntax.FunctionCallExpr) hclsyntax.Expression {
	if strings.TrimPrefix(call.Name, Namespace) != "convert" || len(call.Args) != 2 {
		return nil
	}
	return call.Args[1]
}

// Add adds the words of the type constraint in a call, if the function has one.
func (w *TypeWords) Add(call *hclsyntax.FunctionCallExpr) {
	typ := TypeArgument(call)
	if typ == nil {
		return
	}
	for _, tr := range typ.Variables() {
		if *w == nil {
			*w = TypeWords{}
		}
		(*w)[tr.SourceRange()] = true
	}
}

// Without returns the traversals that are not words of type constraints.
func (w TypeWords) Without(traversals []hcl.Traversal) []hcl.Traversal {
	if len(w) == 0 {
		return traversals
	}
	return slices.DeleteFunc(slices.Clone(traversals), func(tr hcl.Traversal) bool { return w[tr.SourceRange()] })
}

// VaryingCall returns the name of the first function called in expr that returns a different result
// for each call. It returns "" if expr calls no such function.
func VaryingCall(expr hcl.Expression) (name string) {
	VisitCalls(expr, varyingInto(&name))
	return name
}

// VaryingCallInNode is VaryingCall for all expressions in node.
func VaryingCallInNode(node hclsyntax.Node) (name string) {
	VisitCallsInNode(node, varyingInto(&name))
	return name
}

// varyingInto returns a function that stores the name of the first varying function that it gets.
func varyingInto(name *string) func(*hclsyntax.FunctionCallExpr) {
	return func(call *hclsyntax.FunctionCallExpr) {
		called := strings.TrimPrefix(call.Name, Namespace)
		if *name == "" && slices.ContainsFunc(functions, func(r row) bool { return r.impure && r.name == called }) {
			*name = called
		}
	}
}

// VisitCalls calls visit for each function call in expr, or in the expression that expr wraps.
func VisitCalls(expr hcl.Expression, visit func(*hclsyntax.FunctionCallExpr)) {
	expr = hcl.UnwrapExpression(expr)
	if node, ok := expr.(hclsyntax.Node); ok {
		VisitCallsInNode(node, visit)
	} else {
		visitCallsInJSON(expr, visit)
	}
}

// VisitCallsInNode calls visit for each function call in node.
func VisitCallsInNode(node hclsyntax.Node, visit func(*hclsyntax.FunctionCallExpr)) {
	_ = hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			visit(call)
		}
		return nil
	})
}

// visitCallsInJSON searches all strings of a JSON expression, including keys.
func visitCallsInJSON(expr hcl.Expression, visit func(*hclsyntax.FunctionCallExpr)) {
	if pairs, diags := hcl.ExprMap(expr); !diags.HasErrors() {
		for _, pair := range pairs {
			VisitCalls(pair.Key, visit)
			VisitCalls(pair.Value, visit)
		}
		return
	}
	if elems, diags := hcl.ExprList(expr); !diags.HasErrors() {
		for _, elem := range elems {
			VisitCalls(elem, visit)
		}
		return
	}
	raw, diags := expr.Value(nil) // without an evaluation context the result is the source text
	if diags.HasErrors() || raw.Type() != cty.String || !raw.IsKnown() || raw.IsNull() ||
		!strings.Contains(raw.AsString(), "(") {
		return
	}
	start := expr.Range().Start
	start.Byte++ // skip the opening quote
	start.Column++
	template, diags := hclsyntax.ParseTemplate([]byte(raw.AsString()), expr.Range().Filename, start)
	if !diags.HasErrors() {
		VisitCallsInNode(template, visit)
	}
}
