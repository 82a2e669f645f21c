package files

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithIdentity    = (*folderResource)(nil)
	_ resource.ResourceWithImportState = (*folderResource)(nil)
)

// folderResource implements the resource type files_folder. It refuses to delete a directory that
// is not empty, so that destroying objects in the wrong order fails.
type folderResource struct{ env *env }

type folderModel struct {
	ID           types.String `tfsdk:"id"`
	Path         types.String `tfsdk:"path"`
	Mode         types.String `tfsdk:"mode"`
	ForceDestroy types.Bool   `tfsdk:"force_destroy"`
}

func (r *folderResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "files_folder"
}

func (r *folderResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A folder. Its parent must exist.",
		Attributes: map[string]schema.Attribute{
			"id":   idAttribute(),
			"path": pathAttribute(),
			"mode": modeAttribute("0755"),
			"force_destroy": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				Description: "Whether to delete the folder even if it is not empty.",
			},
		},
	}
}

func (r *folderResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	pathIdentitySchema(resp)
}

func (r *folderResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m folderModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "create", m.Path.ValueString(), func(d disk) error {
		if err := d.mkdir(m.Path.ValueString(), m.Mode.ValueString()); err != nil {
			return err
		}
		m.ID = m.Path
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		return nil
	})
}

func (r *folderResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m folderModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "read", m.Path.ValueString(), func(d disk) error {
		mode, err := d.folderMode(m.Path.ValueString())
		if errors.Is(err, fs.ErrNotExist) {
			resp.State.RemoveResource(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		m.ID, m.Mode = m.Path, types.StringValue(mode)
		if m.ForceDestroy.IsNull() {
			m.ForceDestroy = types.BoolValue(false) // the value is null after an import
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		return nil
	})
}

func (r *folderResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m folderModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "update", m.Path.ValueString(), func(d disk) error {
		mode, err := parseMode(m.Mode.ValueString())
		if err != nil {
			return err
		}
		if err := os.Chmod(d.path(m.Path.ValueString()), mode); err != nil {
			return err
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

func (r *folderResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m folderModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "delete", m.Path.ValueString(), func(d disk) error {
		return d.rmdir(m.Path.ValueString(), m.ForceDestroy.ValueBool())
	})
}

func (r *folderResource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	importPath(ctx, r.env, req, resp)
}
