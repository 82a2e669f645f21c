package lang

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/lang/marks"
)

// redact replaces sensitive values in the text of errors. Functions and HCL quote their arguments,
// keys and operands in errors, and ignore marks. It takes the sensitive values from the evaluation
// context, which contains only what the expression refers to, and from the result of the expression
// that an error is about, such as a computed key.
func redact(diags hcl.Diagnostics, ctx *hcl.EvalContext) hcl.Diagnostics {
	if len(diags) == 0 {
		return diags
	}
	var secrets []string
	for c := ctx; c != nil; c = c.Parent() {
		for _, v := range c.Variables {
			secrets = marks.Secrets(secrets, v)
		}
	}
	out := make(hcl.Diagnostics, len(diags))
	for i, d := range diags {
		hidden, own := *d, secrets
		if d.Expression != nil && d.EvalContext != nil {
			v, _ := d.Expression.Value(d.EvalContext)
			own = marks.Secrets(slices.Clip(secrets), v)
		}
		hidden.Detail = marks.Redact(d.Detail, own, marks.ShortPart)
		out[i] = &hidden
	}
	return out
}
