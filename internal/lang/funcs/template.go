package funcs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/marks"
	"tofu/internal/lang/nesting"
)

// Templates may render templates, themselves even, as deep as depthEnv or else defaultDepth says. The functions that a
// template sees are those of the table, except that the two of this file know how deep they are: each rendering makes
// its own pair, in a scope before that of the table.
const (
	depthEnv     = "TF_TEMPLATE_RECURSION_DEPTH"
	defaultDepth = 1024
	maxRendered  = 20000 // whatever depthEnv says: deeper, and the stack overflows, which nothing can recover from
)

// A rendering is one template while it is rendered.
type rendering struct {
	b      *binding
	parent *rendering // nil: the configuration itself
	depth  int
	name   string

	// tooDeep is the error of the first template nested in this one that reached the limit. Later ones get it at once:
	// a template that nests itself twice would take 2ⁿ renderings to fail otherwise. The configuration, which many
	// evaluations share, never has it.
	tooDeep error
}

// templatefileFunc and templatestringFunc are what the configuration calls: at depth zero.
func templatefileFunc(b *binding) function.Function { return (&rendering{b: b}).fileFunc() }

func templatestringFunc(b *binding) function.Function { return (&rendering{b: b}).stringFunc() }

// fileFunc is templatefile as r sees it. Marks of a variable reach the result even if the template does not use it.
func (r *rendering) fileFunc() function.Function {
	return function.New(&function.Spec{
		Description: "`templatefile` reads a file and renders it as a template with the given variables.",
		Params: []function.Parameter{
			{Name: "path", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The path of the file."},
			{Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, Description: "The variables: a map or an object."},
		},
		// The type of the result is known once it is rendered. To render for the type too would double the work at
		// each level of nesting.
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path, ms := args[0].Unmark()
			if !path.IsKnown() || !args[1].IsKnown() {
				return cty.DynamicVal.WithMarks(ms), nil
			}
			shown := shownPath{path.AsString(), ms.Has(marks.Sensitive)}
			nested, err := r.nest(shown.name())
			if err != nil {
				return cty.NilVal, err
			}
			source, err := r.b.readText(shown)
			if err != nil {
				return cty.NilVal, err
			}
			v, err := nested.render(source, args[1])
			return v.WithMarks(ms), err
		},
	})
}

// stringFunc is templatestring as r sees it. Its variables keep their marks, so only those that the template uses matter.
func (r *rendering) stringFunc() function.Function {
	return function.New(&function.Spec{
		Description: "`templatestring` renders a string as a template with the given variables.",
		Params: []function.Parameter{
			{Name: "data", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The template."},
			{Name: "vars", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, AllowDynamicType: true, Description: "The variables: a map or an object."},
		},
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			data, dataMarks := args[0].Unmark()
			vars, varsMarks := args[1].Unmark()
			if !data.IsKnown() || !vars.IsKnown() {
				return cty.DynamicVal.WithMarks(dataMarks, varsMarks), nil
			}
			nested, err := r.nest("template")
			if err != nil {
				return cty.NilVal, err
			}
			v, err := nested.render(data.AsString(), vars)
			return v.WithMarks(dataMarks, varsMarks), err
		},
	})
}

// nest returns the rendering of a template within r, if that is not too deep.
func (r *rendering) nest(name string) (*rendering, error) {
	if r.tooDeep != nil {
		return nil, r.tooDeep
	}
	limit := defaultDepth
	if s := os.Getenv(depthEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("the environment variable %s is %q; it must be a whole number, or unset for %d", depthEnv, s, defaultDepth)
		}
		limit = min(n, maxRendered)
	}
	nested := &rendering{b: r.b, parent: r, depth: r.depth + 1, name: name}
	if r.depth > limit {
		return nil, nested.depthError(limit)
	}
	return nested, nil
}

// A depthError says that templates nest too deep. It reaches the configuration as it is, rather than with one "failed"
// before it for each level.
type depthError struct {
	limit int
	names []string // of the outermost templates
}

func (e *depthError) Error() string {
	return fmt.Sprintf("templates nest deeper than %d, the limit that the environment variable %s may raise: %s …",
		e.limit, depthEnv, strings.Join(e.names, ", in it "))
}

// depthError is about r, which must not be rendered. Messages name only the outermost templates, since the others are most
// often the same few; the log has them all.
func (r *rendering) depthError(limit int) error {
	const shown = 4
	var names []string // innermost first
	for t := r; t.parent != nil; t = t.parent {
		names = append(names, t.name)
	}
	err := &depthError{limit: limit}
	for i := len(names) - 1; i >= 0 && len(err.names) < shown; i-- {
		err.names = append(err.names, names[i])
	}
	slog.Debug("templates nest too deep", "limit", limit, "innermost first", names)
	return err
}

// render evaluates the source with vars, a known value, as its only variables. Errors about vars are about argument 1.
func (r *rendering) render(source string, vars cty.Value) (cty.Value, error) {
	if d := nesting.CheckTemplate(r.name, []byte(source)); d != nil {
		return cty.DynamicVal, hcl.Diagnostics{d}
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(source), r.name, hcl.InitialPos)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	variables, err := templateVars(vars)
	if err != nil {
		return cty.DynamicVal, err
	}
	// Checked before evaluation, since that evaluates only what it needs: a name that is missing in one branch of a
	// directive should not wait for the day that branch is taken.
	for _, traversal := range Variables(expr) {
		name := traversal.RootName()
		if _, ok := variables[name]; !ok {
			return cty.DynamicVal, function.NewArgErrorf(1, "there is no variable %q, which the template uses at %s", name, traversal[0].SourceRange())
		}
	}
	v, diags := expr.Value(r.scope(variables))
	if !diags.HasErrors() {
		return v, nil
	}
	if err := tooDeep(diags); err != nil {
		if r.parent.parent != nil {
			r.parent.tooDeep = err
		}
		return cty.DynamicVal, err
	}
	return cty.DynamicVal, diags
}

// templateVars returns the variables in a map or object.
func templateVars(vars cty.Value) (map[string]cty.Value, error) {
	if ty := vars.Type(); !ty.IsMapType() && !ty.IsObjectType() {
		return nil, function.NewArgErrorf(1, "must be a map or an object, not %s", ty.FriendlyName())
	}
	ret := make(map[string]cty.Value, vars.LengthInt())
	for key, v := range vars.Elements() {
		name := key.AsString()
		if !hclsyntax.ValidIdentifier(name) {
			return nil, function.NewArgErrorf(1, "%q is no name for a variable: write a letter, then letters, digits and underscores", name)
		}
		ret[name] = v
	}
	return ret, nil
}

// scope is where the template is evaluated: variables and two functions of its own before the shared table.
func (r *rendering) scope(variables map[string]cty.Value) *hcl.EvalContext {
	file, str := r.fileFunc(), r.stringFunc()
	scope := (&hcl.EvalContext{Functions: r.b.funcs}).NewChild()
	scope.Variables = variables
	scope.Functions = map[string]function.Function{
		"templatefile": file, Namespace + "templatefile": file,
		"templatestring": str, Namespace + "templatestring": str,
	}
	return scope
}

// tooDeep finds the error of a nested template that was too deep among what went wrong in a template.
func tooDeep(diags hcl.Diagnostics) error {
	for _, diag := range diags {
		extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](diag)
		if !ok {
			continue
		}
		var err *depthError
		if errors.As(extra.FunctionCallError(), &err) {
			return err
		}
	}
	return nil
}
