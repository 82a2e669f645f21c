package files

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const defaultFileMode = "0644"

// fileModel is the model of files_file in schema version 1.
type fileModel struct {
	ID               types.String `tfsdk:"id"`
	Path             types.String `tfsdk:"path"`
	Content          types.String `tfsdk:"content"`
	SensitiveContent types.String `tfsdk:"sensitive_content"`
	ContentWO        types.String `tfsdk:"content_wo"`
	ContentWOVersion types.Int64  `tfsdk:"content_wo_version"`
	Mode             types.String `tfsdk:"mode"`
	Overwrite        types.Bool   `tfsdk:"overwrite"`
	SHA256           types.String `tfsdk:"sha256"`
	Size             types.Int64  `tfsdk:"size"`
}

// pathIdentity is the identity of files and directories.
type pathIdentity struct {
	Path types.String `tfsdk:"path"`
}

func pathIdentitySchema(resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"path": identityschema.StringAttribute{RequiredForImport: true,
				Description: "The path below the root folder."},
		},
	}
}

func idAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Computed:      true,
		Description:   "The same as path, known after apply.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

func pathAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Required:      true,
		Description:   "The path, relative to the provider's root folder. Changing it replaces the object.",
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{relativePath},
	}
}

func modeAttribute(value string) schema.StringAttribute {
	return schema.StringAttribute{
		Optional: true, Computed: true, Default: stringdefault.StaticString(value),
		Description: "The access mode, four octal digits.",
		Validators:  []validator.String{octalMode},
	}
}

func (r *fileResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Version: 1,
		Description: "A text file. At most one of content, sensitive_content and content_wo sets its text; " +
			"without them it is empty.",
		Attributes: map[string]schema.Attribute{
			"id":      idAttribute(),
			"path":    pathAttribute(),
			"content": schema.StringAttribute{Optional: true, Description: "The text of the file."},
			"sensitive_content": schema.StringAttribute{Optional: true, Sensitive: true,
				Description: "The text of the file. It is sensitive."},
			"content_wo": schema.StringAttribute{Optional: true, WriteOnly: true,
				Description: "The text of the file. It is write-only, and written again when " +
					"content_wo_version changes."},
			"content_wo_version": schema.Int64Attribute{Optional: true,
				Description: "A number that must change when content_wo changes."},
			"mode": modeAttribute(defaultFileMode),
			"overwrite": schema.BoolAttribute{
				Optional: true, Computed: true, Default: booldefault.StaticBool(false),
				Description: "Whether to replace an existing file.",
			},
			"sha256": schema.StringAttribute{Computed: true,
				Description: "The SHA-256 sum of the text in hexadecimal."},
			"size": schema.Int64Attribute{Computed: true, Description: "The length of the text in bytes."},
		},
	}
}

func (r *fileResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	pathIdentitySchema(resp)
}

func (r *fileResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest,
	resp *resource.ValidateConfigResponse) {
	var m fileModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.check(ctx, &resp.Diagnostics, "validate", m.Path.ValueString())
	given := 0
	for _, text := range []types.String{m.Content, m.SensitiveContent, m.ContentWO} {
		if !text.IsNull() {
			given++
		}
	}
	if given > 1 {
		resp.Diagnostics.AddError("More than one content", "Set only one of content, sensitive_content and content_wo.")
	}
	if !m.ContentWOVersion.IsNull() && m.ContentWO.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("content_wo_version"), "Nothing to write",
			"content_wo_version requires content_wo.")
	}
}
