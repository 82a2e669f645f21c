package files

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// fileModel0 is the model of files_file in schema version 0, in which attributes had other names.
type fileModel0 struct {
	ID       types.String `tfsdk:"id"`
	Filename types.String `tfsdk:"filename"`
	Contents types.String `tfsdk:"contents"`
}

// UpgradeState returns the upgraders from older schema versions.
func (r *fileResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{
		0: {
			PriorSchema: &schema.Schema{Attributes: map[string]schema.Attribute{
				"id":       schema.StringAttribute{Computed: true},
				"filename": schema.StringAttribute{Required: true},
				"contents": schema.StringAttribute{Optional: true},
			}},
			StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest,
				resp *resource.UpgradeStateResponse) {
				var old fileModel0
				resp.Diagnostics.Append(req.State.Get(ctx, &old)...)
				if resp.Diagnostics.HasError() {
					return
				}
				r.env.check(ctx, &resp.Diagnostics, "upgrade", old.Filename.ValueString())
				m := fileModel{Path: old.Filename, Content: old.Contents, Overwrite: types.BoolValue(false)}
				m.observe(content{text: old.Contents.ValueString(), mode: defaultFileMode})
				resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
			},
		},
	}
}

// moves lists the resource types whose objects can be moved to files_file. pathAttribute is the
// attribute that contains the path.
var moves = []struct{ provider, resourceType, pathAttribute string }{
	{"/files", "files_document", "path"},
	{"/files5", "files_document", "path"},
	{"/files5", "files_file", "path"},
	{"/notes", "notes_note", "file"},
}

// MoveState returns a mover for the resource types in moves. It copies only the path. The next Read
// sets the other attributes.
func (r *fileResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{
		StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
			for _, from := range moves {
				if req.SourceTypeName != from.resourceType ||
					!strings.HasSuffix(req.SourceProviderAddress, from.provider) {
					continue
				}
				var attributes map[string]any
				if err := json.Unmarshal(req.SourceRawState.JSON, &attributes); err != nil {
					resp.Diagnostics.AddError("Cannot read the state of "+from.resourceType, err.Error())
					return
				}
				p, _ := attributes[from.pathAttribute].(string)
				if err := checkPath(p); err != nil {
					resp.Diagnostics.AddError("Cannot move from "+from.resourceType, err.Error())
					return
				}
				r.env.check(ctx, &resp.Diagnostics, "move", p)
				m := fileModel{ID: types.StringValue(p), Path: types.StringValue(p), Overwrite: types.BoolValue(false)}
				resp.Diagnostics.Append(resp.TargetState.Set(ctx, &m)...)
				resp.Diagnostics.Append(resp.TargetIdentity.Set(ctx, pathIdentity{m.Path})...)
				return
			}
		},
	}}
}
