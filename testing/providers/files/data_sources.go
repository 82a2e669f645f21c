package files

import (
	"context"
	"os"
	"path"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// fileData implements the data source files_file.
type fileData struct{ env *env }

type fileDataModel struct {
	Path    types.String `tfsdk:"path"`
	Content types.String `tfsdk:"content"`
	SHA256  types.String `tfsdk:"sha256"`
	Size    types.Int64  `tfsdk:"size"`
	Mode    types.String `tfsdk:"mode"`
}

func (d *fileData) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "files_file"
}

func (d *fileData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "An existing text file.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true, Description: "The path, relative to the root folder.",
				Validators: []validator.String{relativePath}},
			"content": schema.StringAttribute{Computed: true, Description: "The text of the file."},
			"sha256":  schema.StringAttribute{Computed: true, Description: "The SHA-256 sum of the text."},
			"size":    schema.Int64Attribute{Computed: true, Description: "The length of the text in bytes."},
			"mode":    schema.StringAttribute{Computed: true, Description: "The access mode."},
		},
	}
}

func (d *fileData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m fileDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	d.env.around(ctx, &resp.Diagnostics, "data", m.Path.ValueString(), func(root disk) error {
		c, err := root.read(m.Path.ValueString())
		if err != nil {
			return err
		}
		m.Content, m.Mode = types.StringValue(c.text), types.StringValue(c.mode)
		m.SHA256, m.Size = types.StringValue(c.sha256()), types.Int64Value(int64(len(c.text)))
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// folderData implements the data source files_folder.
type folderData struct{ env *env }

type folderDataModel struct {
	Path    types.String `tfsdk:"path"`
	Pattern types.String `tfsdk:"pattern"`
	Names   types.List   `tfsdk:"names"`
	Sizes   types.Map    `tfsdk:"sizes"`
}

var globPattern = stringCheck{"a file name pattern", func(s string) diag.Diagnostic {
	if _, err := path.Match(s, ""); err != nil {
		return diag.NewErrorDiagnostic("Invalid pattern", s+": "+err.Error())
	}
	return nil
}}

func (d *folderData) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "files_folder"
}

func (d *folderData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "The contents of an existing folder.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true, Description: "The path, relative to the root folder.",
				Validators: []validator.String{relativePath}},
			"pattern": schema.StringAttribute{Optional: true,
				Description: "A pattern for names, such as *.md. The default is all names.",
				Validators:  []validator.String{globPattern}},
			"names": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				Description: "The names, sorted."},
			"sizes": schema.MapAttribute{Computed: true, ElementType: types.Int64Type,
				Description: "The length of each file in bytes."},
		},
	}
}

func (d *folderData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m folderDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	d.env.around(ctx, &resp.Diagnostics, "data", m.Path.ValueString(), func(root disk) error {
		entries, err := os.ReadDir(root.path(m.Path.ValueString()))
		if err != nil {
			return err
		}
		names, sizes := []string{}, map[string]int64{}
		for _, e := range entries {
			if ok, _ := path.Match(m.Pattern.ValueString(), e.Name()); !ok && !m.Pattern.IsNull() {
				continue
			}
			names = append(names, e.Name())
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				sizes[e.Name()] = info.Size()
			}
		}
		var diags diag.Diagnostics
		m.Names, diags = types.ListValueFrom(ctx, types.StringType, names)
		resp.Diagnostics.Append(diags...)
		m.Sizes, diags = types.MapValueFrom(ctx, types.Int64Type, sizes)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}
