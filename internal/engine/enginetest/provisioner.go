package enginetest

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Note is the provisioner "note", which writes its argument "say" to the log. It fails if
// Cloud.Fail has the key "note TEXT". It ends at once when it is interrupted.
type Note struct{ Cloud *Cloud }

var noteSchema = &providers.ResourceSchema{
	Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{"say": required}},
}

// Schema implements engine.Provisioner.
func (n *Note) Schema() (*providers.ResourceSchema, error) { return noteSchema, nil }

// Validate implements engine.Provisioner.
func (n *Note) Validate(cty.Value) tfdiags.Diagnostics { return nil }

// Run implements engine.Provisioner.
func (n *Note) Run(ctx context.Context, config, _ cty.Value, out func(string)) tfdiags.Diagnostics {
	what := "note " + textOf(config, "say")
	var failed bool
	_ = n.Cloud.call(ctx, what, n.Cloud.Delay, func(_ string, asked bool) string {
		failed = asked
		if failed {
			return "fail " + what
		}
		return what
	})
	if failed {
		return failure("note", config)
	}
	out(textOf(config, "say"))
	return nil
}
