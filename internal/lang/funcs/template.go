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
	"tofu/internal/limits"
)

// Templates may render other templates, or themselves. The maximum depth is the value of depthEnv,
// or defaultDepth if the variable is not set, and never above limits.Depth. A template can call the functions of the table,
// except that templatefile and templatestring are replaced with a pair that belongs to the
// template's own rendering and knows its depth.
const (
	depthEnv     = "TF_TEMPLATE_RECURSION_DEPTH"
	defaultDepth = 1024
)

// A rendering is one evaluation of a template, which may be nested in another rendering.
type rendering struct {
	b      *binding
	parent *rendering // nil for the pair of functions at depth zero, which the configuration uses
	depth  int
	name   string

	// tooDeep is the error of the first nested template that exceeded the limit. Later nested
	// templates fail with it at once. Otherwise a template that nests itself twice would take
	// exponential time to fail. It is never set at depth zero, because many evaluations share that
	// rendering.
	tooDeep error
}

// templatefileFunc and templatestringFunc return the functions at depth zero, which the
// configuration uses.
func templatefileFunc(b *binding) function.Function { return (&rendering{b: b}).fileFunc() }

func templatestringFunc(b *binding) function.Function { return (&rendering{b: b}).stringFunc() }

// fileFunc returns the templatefile function at the depth of r. Marks on a variable apply to the
// result even if the template doesn't use the variable.
func (r *rendering) fileFunc() function.Function {
	return function.New(&function.Spec{
		Description: "`templatefile` reads a file and renders it as a template with the given variables.",
		Params: []function.Parameter{
			{Name: "path", Type: cty.String, AllowMarked: true, AllowUnknown: true,
				Description: "The path of the file."},
			{Name: "vars", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true,
				Description: "The variables: a map or an object."},
		},
		// The result type is known only after rendering. Rendering the template separately for its
		// type would double the work at each level.
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

// stringFunc returns the templatestring function at the depth of r. Only marks on variables that
// the template uses apply to the result.
func (r *rendering) stringFunc() function.Function {
	return function.New(&function.Spec{
		Description: "`templatestring` renders a string as a template with the given variables.",
		Params: []function.Parameter{
			{Name: "data", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The template."},
			{Name: "vars", Type: cty.DynamicPseudoType, AllowMarked: true, AllowUnknown: true, AllowDynamicType: true,
				Description: "The variables: a map or an object."},
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

// nest returns the rendering of a template that is nested in r, or an error if the nesting is too
// deep.
func (r *rendering) nest(name string) (*rendering, error) {
	if r.tooDeep != nil {
		return nil, r.tooDeep
	}
	limit := defaultDepth
	if s := os.Getenv(depthEnv); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nil, fmt.Errorf(
				"the environment variable %s is %q, but must be a whole number that is not negative; the default is %d",
				depthEnv, s, defaultDepth)
		}
		limit = min(n, limits.Depth)
	}
	nested := &rendering{b: r.b, parent: r, depth: r.depth + 1, name: name}
	if r.depth > limit {
		return nil, nested.depthError(limit)
	}
	return nested, nil
}

// A depthError reports that templates are nested too deeply. It is returned to the configuration
// unwrapped. Otherwise each level would add a prefix to its message.
type depthError struct {
	limit int
	names []string // names of the outermost templates
}

func (e *depthError) Error() string {
	advice := ""
	if e.limit < limits.Depth {
		advice = fmt.Sprintf("; set the environment variable %s to raise the limit", depthEnv)
	}
	return fmt.Sprintf("templates are nested more than %d levels deep%s: %s …",
		e.limit, advice, strings.Join(e.names, ", which renders "))
}

// depthError returns the error for r, which exceeds the limit. It names only the outermost
// templates, because the inner ones usually repeat. The log has the names of all templates.
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
	slog.Debug("templates nested too deeply", "limit", limit, "templates", names)
	return err
}

// render evaluates the template text source. vars is a known value with the template's variables.
// Errors in vars refer to argument 1 of the function.
func (r *rendering) render(source string, vars cty.Value) (cty.Value, error) {
	if d := nesting.CheckTemplate(r.name, []byte(source)); d != nil {
		return cty.DynamicVal, hcl.Diagnostics{d}
	}
	expr, diags := parseTemplate([]byte(source), r.name, pieceSize)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	variables, err := templateVars(vars)
	if err != nil {
		return cty.DynamicVal, err
	}
	// Missing variables are errors even in branches that are not evaluated.
	for _, traversal := range Variables(expr) {
		name := traversal.RootName()
		if _, ok := variables[name]; !ok {
			return cty.DynamicVal, function.NewArgErrorf(1,
				"it does not set the variable %q, which the template uses at %s", name, traversal[0].SourceRange())
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
			return nil, function.NewArgErrorf(1,
				"%q is not a valid variable name, which is a letter followed by letters, digits, underscores "+
					"and hyphens", name)
		}
		ret[name] = v
	}
	return ret, nil
}

// scope returns the evaluation scope of the template. Its variables and its own two functions take
// precedence over the shared table.
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

// tooDeep returns the depthError of a nested template in diags, or nil.
func tooDeep(diags hcl.Diagnostics) error {
	for _, diag := range diags {
		extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](diag)
		if !ok {
			continue
		}
		if err, ok := errors.AsType[*depthError](extra.FunctionCallError()); ok {
			return err
		}
	}
	return nil
}
