package files

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ action.ActionWithModifyPlan = (*appendAction)(nil)

// appendAction implements the action files_append, which appends lines to a file.
type appendAction struct{ env *env }

type appendModel struct {
	Path  types.String `tfsdk:"path"`
	Text  types.String `tfsdk:"text"`
	Times types.Int64  `tfsdk:"times"`
}

func (a *appendAction) Metadata(_ context.Context, _ action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = "files_append"
}

func (a *appendAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "Appends a line to a file, which it creates if necessary.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true,
				Description: "The path of the file, relative to the root folder.",
				Validators:  []validator.String{relativePath}},
			"text": schema.StringAttribute{Required: true, Description: "The line."},
			"times": schema.Int64Attribute{Optional: true,
				Description: "How often the line is appended. The default is once."},
		},
	}
}

// ModifyPlan injects the faults of a plan.
func (a *appendAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	var m appendModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	a.env.check(ctx, &resp.Diagnostics, "plan-action", m.Path.ValueString())
}

func (a *appendAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m appendModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	times := int64(1)
	if !m.Times.IsNull() {
		times = m.Times.ValueInt64()
	}
	a.env.around(ctx, &resp.Diagnostics, "invoke", m.Path.ValueString(), func(d disk) error {
		f, err := os.OpenFile(d.path(m.Path.ValueString()), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		for i := range times {
			if _, err := fmt.Fprintln(f, m.Text.ValueString()); err != nil {
				return err
			}
			resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("line %d of %d", i+1, times)})
		}
		return nil
	})
}
