package engine

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang"
	"tofu/internal/lang/coerce"
	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// metaArgument describes an argument that the engine itself evaluates, such as count: its type and
// the error details for invalid values. If the detail for a kind of invalid value is "", such
// values are accepted.
type metaArgument struct {
	summary   string // summary of all errors about the argument
	failed    string // detail of an additional error if the expression can't be evaluated
	want      cty.Type
	sensitive string
	ephemeral string
	null      string
	mistyped  string // format of the detail for a value of the wrong type
}

var (
	countArgument = &metaArgument{
		summary: "Invalid count argument", want: cty.Number, ephemeral: ephemeralDetail("count"),
		null:     `The given "count" is null. A whole number of 0 or more is required.`,
		mistyped: `The given "count" is not valid: %s.`,
	}
	enabledArgument = &metaArgument{
		summary: "Invalid enabled argument", want: cty.Bool, ephemeral: ephemeralDetail("enabled"),
		failed: undecidedDetail("enabled"),
		sensitive: `The given "enabled" is derived from a sensitive value, and the existence of the object ` +
			`would disclose it.`,
		null:     `The given "enabled" is null. A value of true or false is required.`,
		mistyped: `The given "enabled" is not valid: %s.`,
	}
	preventDestroyArgument = &metaArgument{ // null is an error only if the object would be destroyed
		summary: "Invalid value for prevent_destroy", want: cty.Bool,
		sensitive: "The value is sensitive, and whether an object can be destroyed would disclose it.",
		ephemeral: "The value is ephemeral, so it could differ between plan and apply.",
		mistyped:  "The given \"prevent_destroy\" is not valid: %s.",
	}
	providerKeyArgument = &metaArgument{
		summary: "Invalid provider instance key", want: cty.String,
		sensitive: "The key of a provider instance is shown in addresses, so it must not be sensitive.",
		ephemeral: "The key of a provider instance is stored in the state, so it must not be ephemeral.",
		null:      "The key of the provider instance is null.",
		mistyped:  "The key of the provider instance is not valid: %s.",
	}
	importIDArgument       = importArgument("id", cty.String)
	importIdentityArgument = importArgument("identity", cty.DynamicPseudoType)
)

func ephemeralDetail(name string) string {
	return fmt.Sprintf("The %q value is ephemeral, so it could differ between plan and apply.", name)
}

func undecidedDetail(name string) string {
	return fmt.Sprintf("The %q value can't be determined, so the instances can't be planned.", name)
}

func importArgument(name string, want cty.Type) *metaArgument {
	return &metaArgument{
		summary: "Invalid import " + name + " argument", want: want,
		sensitive: "The import " + name + " must not be sensitive, because it is shown in the plan.",
		ephemeral: "The import " + name + " must not be ephemeral, because it is stored in the plan.",
		null:      "The import " + name + " must not be null.",
		mistyped:  "The import " + name + " is not valid: %s.",
	}
}

// argument evaluates a meta-argument and returns its value without marks. The value may be unknown.
func (c *evalContext) argument(e *lang.Expr, arg *metaArgument) (cty.Value, error) {
	v, err := c.eval(e, cty.DynamicPseudoType)
	if err != nil && arg.failed != "" && reported(err) != nil {
		err = tfdiags.Join(err, tfdiags.Errorf(arg.summary, "%s", arg.failed).At(e.Range()))
	}
	if err != nil {
		return cty.UnknownVal(arg.want), err
	}
	bare, _ := v.UnmarkDeep()
	converted, err := coerce.Convert(bare, arg.want)
	detail := ""
	switch {
	case arg.sensitive != "" && marks.Contains(v, marks.Sensitive):
		detail = arg.sensitive
	case arg.ephemeral != "" && marks.Contains(v, marks.Ephemeral):
		detail = arg.ephemeral
	case arg.null != "" && bare.IsNull():
		detail = arg.null
	case err != nil:
		detail = fmt.Sprintf(arg.mistyped, tfdiags.FormatError(err))
	}
	if detail != "" {
		return cty.UnknownVal(arg.want), c.argError(arg.summary, detail, e, v)
	}
	return converted, nil
}

// argError returns an error about the value of an argument. It shows the values used in the
// expression.
func (c *evalContext) argError(summary, detail string, e *lang.Expr, v cty.Value) tfdiags.Diagnostic {
	return c.scope().Problem(e, summary, detail, v)
}
