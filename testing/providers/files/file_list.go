package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// fileList implements the list resource files_file: the files of a folder and all below it.
type fileList struct{ env *env }

type fileListModel struct {
	Folder  types.String `tfsdk:"folder"`
	Pattern types.String `tfsdk:"pattern"`
}

func (l *fileList) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "files_file"
}

func (l *fileList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest,
	resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "The files in a folder and in the folders below it, sorted by path.",
		Attributes: map[string]schema.Attribute{
			"folder": schema.StringAttribute{Optional: true,
				Description: "The path of the folder. The default is the root folder.",
				Validators:  []validator.String{relativePath}},
			"pattern": schema.StringAttribute{Optional: true,
				Description: "A pattern for names, such as *.md. The default is all names.",
				Validators:  []validator.String{globPattern}},
		},
	}
}

// errEnough ends a walk through folders.
var errEnough = errors.New("enough files")

func (l *fileList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var m fileListModel
	if diags := req.Config.Get(ctx, &m); diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	folder := m.Folder.ValueString()
	stream.Results = func(push func(list.ListResult) bool) {
		var diags diag.Diagnostics
		left := req.Limit
		l.env.around(ctx, &diags, "list", folder, func(d disk) error {
			err := filepath.WalkDir(d.path(folder), func(file string, entry fs.DirEntry, err error) error {
				if err != nil || !entry.Type().IsRegular() {
					return err
				}
				if ok, _ := path.Match(m.Pattern.ValueString(), entry.Name()); !ok && !m.Pattern.IsNull() {
					return nil
				}
				relative, err := filepath.Rel(d.root, file)
				if err != nil {
					return err
				}
				if left == 0 || !push(l.result(ctx, req, d, filepath.ToSlash(relative))) {
					return errEnough
				}
				left--
				return nil
			})
			switch {
			case errors.Is(err, errEnough):
				return nil
			case errors.Is(err, fs.ErrNotExist):
				return errors.New("there is no folder " + folder)
			}
			return err
		})
		if len(diags) > 0 {
			push(list.ListResult{Diagnostics: diags})
		}
	}
}

// result describes a file. A file that can't be read is a warning and not an error.
func (l *fileList) result(ctx context.Context, req list.ListRequest, d disk, file string) list.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = path.Base(file)
	out.Diagnostics.Append(out.Identity.Set(ctx, pathIdentity{Path: types.StringValue(file)})...)
	if !req.IncludeResource {
		return out
	}
	c, err := d.read(file)
	if err != nil {
		out.Diagnostics.AddWarning("Cannot read "+file, err.Error())
		return out
	}
	m := fileModel{Path: types.StringValue(file), Content: types.StringValue(c.text), Overwrite: types.BoolValue(false)}
	m.observe(c)
	out.Diagnostics.Append(out.Resource.Set(ctx, &m)...)
	return out
}

var _ list.ListResource = (*fileList)(nil)

// folderNames returns the names in a folder, or nothing if it doesn't exist.
func folderNames(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
