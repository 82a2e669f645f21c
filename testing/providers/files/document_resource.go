package files

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// documentResource implements the resource type files_document, the predecessor of files_file. It
// is deprecated and supports neither import nor identity. Its objects can be moved to files_file.
type documentResource struct{ env *env }

type documentModel struct {
	ID   types.String `tfsdk:"id"`
	Path types.String `tfsdk:"path"`
	Text types.String `tfsdk:"text"`
}

func (r *documentResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "files_document"
}

func (r *documentResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		DeprecationMessage: "Use files_file; a moved block keeps the file.",
		Attributes: map[string]schema.Attribute{
			"id":   idAttribute(),
			"path": pathAttribute(),
			"text": schema.StringAttribute{Required: true, Description: "The text of the file."},
		},
	}
}

func (m documentModel) content() content {
	return content{text: m.Text.ValueString(), mode: defaultFileMode}
}

func (r *documentResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m documentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "create", m.Path.ValueString(), func(d disk) error {
		if err := d.create(m.Path.ValueString(), m.content(), false); err != nil {
			return err
		}
		m.ID = m.Path
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

func (r *documentResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m documentModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "read", m.Path.ValueString(), func(d disk) error {
		c, err := d.read(m.Path.ValueString())
		if errors.Is(err, fs.ErrNotExist) {
			resp.State.RemoveResource(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		m.Text = types.StringValue(c.text)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

func (r *documentResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m documentModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "update", m.Path.ValueString(), func(d disk) error {
		if err := d.write(m.Path.ValueString(), m.content()); err != nil {
			return err
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

func (r *documentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m documentModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "delete", m.Path.ValueString(), func(d disk) error {
		return d.remove(m.Path.ValueString())
	})
}
