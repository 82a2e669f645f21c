package rootsfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/blocks"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// arguments holds the arguments of a root block or a defaults block.
type arguments struct {
	Name      string            `cfg:"name"`
	Path      string            `cfg:"path"`
	Workspace string            `cfg:"workspace"`
	VarFiles  []string          `cfg:"var_files"`
	Tags      []string          `cfg:"tags"`
	Backend   map[string]string `cfg:"backend"`
	Labels    map[string]string `cfg:"labels"`

	variables []*Variable
	after     []Ref
}

// Docs implements blocks.Documented.
func (*arguments) Docs() blocks.Docs {
	return blocks.Docs{
		"name":      "The name of the root module, if for_each declares several.",
		"path":      "The directory of the root module.",
		"workspace": "The workspace of the backend.",
		"var_files": "Files with values of variables.",
		"tags":      "Words that select the root module.",
		"backend":   "Settings of the backend.",
		"labels":    "Labels that a worker must have.",
	}
}

// Names of the arguments that each kind of block allows.
var (
	defaultArguments = []string{"after", "backend", "labels", "tags", "variables", "var_files"}
	rootArguments    = append([]string{forEachName, "name", "path", "workspace"}, defaultArguments...)
)

// decode decodes a block. names are the names of the arguments that the block may have.
func (a *arguments) decode(body *hclsyntax.Body, ctx *hcl.EvalContext, names []string) error {
	var errs tfdiags.Diagnostics
	for _, block := range body.Blocks {
		advice := suggest.DidYouMean(block.Type, names)
		if slices.Contains(names, block.Type) {
			advice = fmt.Sprintf(" Write %q as an argument: %[1]s = { … }.", block.Type)
		}
		errs = errs.Append(tfdiags.Errorf("Unsupported block",
			"Blocks are not expected here.%s", advice).At(block.DefRange()))
	}
	schema := blocks.Schema(a)
	values := make(map[string]cty.Value)
	at := make(map[string]hcl.Range)
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		attr := body.Attributes[name]
		at[name] = attr.Expr.Range()
		switch {
		case !slices.Contains(names, name):
			errs = errs.Append(tfdiags.Errorf("Unsupported argument",
				"There is no argument %q here.%s", name, suggest.DidYouMean(name, names)).At(attr.NameRange))
		case name == forEachName:
		case name == "variables":
			vars, err := variables(attr.Expr, ctx)
			a.variables, errs = vars, errs.AppendError(err)
		case name == "after":
			refs, err := predecessors(attr.Expr, ctx)
			a.after, errs = refs, errs.AppendError(err)
		default:
			v, err := evaluate(attr.Expr, ctx)
			errs = errs.AppendError(err)
			values[name] = v
		}
	}
	if errs.HasErrors() {
		return errs.Err()
	}
	for name, s := range schema.Attributes {
		if _, set := values[name]; !set {
			values[name] = cty.NullVal(s.Type)
		}
	}
	err := blocks.Decode(cty.ObjectVal(values), a, func(string) string { return "" }, tfdiags.Drop)
	return tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
		return diags.Map(func(d *tfdiags.Diagnostic) {
			if step, ok := first(d.Path).(cty.GetAttrStep); ok {
				rng := at[step.Name]
				d.Subject = &rng
			}
		})
	})
}

// evaluate evaluates an expression that can't refer to outputs of root modules.
func evaluate(expr hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, error) {
	v, diags := expr.Value(ctx)
	switch {
	case !diags.HasErrors():
		return v, nil
	case refersTo(expr, "root"):
		return v, tfdiags.Errorf("Outputs are not known here",
			"Only \"variables\" may refer to outputs of root modules. Everything else must be known before "+
				"anything is planned.").At(expr.Range())
	case refersTo(expr, "each") && !defined(ctx, "each"):
		return v, tfdiags.Errorf("No for_each", "Only a block with the argument \"for_each\" has each.key and "+
			"each.value.").At(expr.Range())
	}
	return v, tfdiags.FromHCL(diags).Err()
}

// defined reports whether a variable is defined in an evaluation context or one of its parents.
func defined(ctx *hcl.EvalContext, name string) bool {
	for ; ctx != nil; ctx = ctx.Parent() {
		if _, ok := ctx.Variables[name]; ok {
			return true
		}
	}
	return false
}

// first returns the first step of a path, or nil if the path is empty.
func first(path cty.Path) cty.PathStep {
	if len(path) == 0 {
		return nil
	}
	return path[0]
}

// Variable is an input variable of a root module and the expression for its value.
type Variable struct {
	Name  string
	Refs  []Ref // outputs that the value uses
	Range hcl.Range
	Own   bool // whether the root module's own block sets it; defaults may set variables that don't exist

	expr   hcl.Expression
	member bool // whether expr is an object that also has the values of other variables
	ctx    *hcl.EvalContext
}

// Value evaluates the expression. outputs is called for each root module in Refs, and returns its
// outputs as an object.
func (v *Variable) Value(outputs func(root string) (cty.Value, error)) (cty.Value, error) {
	all := make(map[string]cty.Value)
	for _, ref := range v.Refs {
		if _, again := all[ref.Root]; again {
			continue
		}
		value, err := outputs(ref.Root)
		if err != nil {
			return cty.DynamicVal, err
		}
		all[ref.Root] = value
	}
	value, diags := v.expr.Value(withOutputs(v.ctx, all))
	if diags.HasErrors() {
		return cty.DynamicVal, tfdiags.FromHCL(diags).Err()
	}
	if !v.member {
		return value, nil
	}
	members, marks := value.Unmark()
	if !members.IsKnown() || members.IsNull() {
		return cty.DynamicVal.WithMarks(marks), nil
	}
	return members.AsValueMap()[v.Name].WithMarks(marks), nil
}

func withOutputs(ctx *hcl.EvalContext, outputs map[string]cty.Value) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"root": cty.ObjectVal(outputs)}
	return child
}

// variables returns the variables in a "variables" argument. An object in braces has one expression
// for each variable. Any other expression, such as merge(…), is evaluated as a whole.
func variables(expr hclsyntax.Expression, ctx *hcl.EvalContext) ([]*Variable, error) {
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return computedVariables(expr, ctx)
	}
	var errs tfdiags.Diagnostics
	var out []*Variable
	for _, item := range object.Items {
		name, diags := item.KeyExpr.Value(ctx)
		refs, err := references(item.ValueExpr, ctx)
		errs = errs.AppendHCL(diags).AppendError(err)
		if diags.HasErrors() || name.IsNull() || !name.IsKnown() || name.Type() != cty.String {
			continue
		}
		out = append(out, &Variable{Name: name.AsString(), Refs: refs, Range: item.ValueExpr.Range(),
			expr: item.ValueExpr, ctx: ctx})
	}
	return out, errs.Err()
}

func computedVariables(expr hclsyntax.Expression, ctx *hcl.EvalContext) ([]*Variable, error) {
	refs, err := references(expr, ctx)
	if err != nil {
		return nil, err
	}
	unknown := make(map[string]cty.Value)
	for _, ref := range refs {
		unknown[ref.Root] = cty.DynamicVal
	}
	v, diags := expr.Value(withOutputs(ctx, unknown))
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil, tfdiags.Errorf("Invalid variables",
			"A map with a value for each variable is required. The names must not depend on outputs of other root "+
				"modules.").At(expr.Range())
	}
	var out []*Variable
	for name := range v.AsValueMap() {
		out = append(out, &Variable{Name: name, Refs: refs, Range: expr.Range(), expr: expr, member: true, ctx: ctx})
	}
	return out, nil
}
