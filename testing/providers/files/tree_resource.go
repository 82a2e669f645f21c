package files

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithIdentity    = (*treeResource)(nil)
	_ resource.ResourceWithImportState = (*treeResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*treeResource)(nil)
)

// treeResource implements the resource type files_tree: a directory with its contents, which are
// nested attributes. It reports files and links that were added manually as drift.
type treeResource struct{ env *env }

func (r *treeResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "files_tree"
}

func (r *treeResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	pathIdentitySchema(resp)
}

// ModifyPlan computes the checksums and the summary if the texts are known, and checks the limits.
func (r *treeResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var m treeModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.check(ctx, &resp.Diagnostics, "plan", m.Path.ValueString())
	if m.Files.IsUnknown() {
		m.Summary = types.ObjectUnknown(summaryTypes)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
		return
	}
	files, diags := m.files(ctx)
	resp.Diagnostics.Append(diags...)
	known := true
	for name, f := range files {
		f.SHA256 = types.StringUnknown()
		if f.Content.IsUnknown() {
			known = false
		} else {
			f.SHA256 = types.StringValue(f.content().sha256())
		}
		files[name] = f
	}
	resp.Diagnostics.Append(m.setFiles(ctx, files)...)
	if !known {
		m.Summary = types.ObjectUnknown(summaryTypes)
	}
	resp.Diagnostics.Append(m.checkLimits(files)...)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
}

// checkLimits returns an error if the number of files exceeds the limit.
func (m treeModel) checkLimits(files map[string]treeFile) (diags diag.Diagnostics) {
	if m.Limits == nil || m.Limits.MaxFiles.IsNull() || m.Limits.MaxFiles.IsUnknown() {
		return nil
	}
	if int64(len(files)) > m.Limits.MaxFiles.ValueInt64() {
		diags.AddAttributeError(path.Root("limits").AtName("max_files"), "Too many files",
			"The tree has more files than max_files allows.")
	}
	return diags
}

func (r *treeResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m treeModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "create", m.Path.ValueString(), func(d disk) error {
		if err := d.mkdir(m.Path.ValueString(), "0755"); err != nil {
			return err
		}
		m.ID = m.Path
		resp.Diagnostics.Append(m.write(ctx, d, contents{})...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		return nil
	})
}

func (r *treeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m treeModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "read", m.Path.ValueString(), func(d disk) error {
		now, err := d.contents(m.Path.ValueString())
		if errors.Is(err, fs.ErrNotExist) {
			resp.State.RemoveResource(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		m.ID = m.Path
		resp.Diagnostics.Append(m.observe(ctx, now)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		return nil
	})
}

func (r *treeResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m treeModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "update", m.Path.ValueString(), func(d disk) error {
		now, err := d.contents(m.Path.ValueString())
		if err != nil {
			return err
		}
		resp.Diagnostics.Append(m.write(ctx, d, now)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

func (r *treeResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m treeModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "delete", m.Path.ValueString(), func(d disk) error {
		return d.rmdir(m.Path.ValueString(), true)
	})
}

func (r *treeResource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	importPath(ctx, r.env, req, resp)
}
