package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type treeModel struct {
	ID      types.String `tfsdk:"id"`
	Path    types.String `tfsdk:"path"`
	Files   types.Map    `tfsdk:"files"`
	Links   types.Set    `tfsdk:"links"`
	Limits  *treeLimits  `tfsdk:"limits"`
	Summary types.Object `tfsdk:"summary"`
}

type treeFile struct {
	Content types.String `tfsdk:"content"`
	Mode    types.String `tfsdk:"mode"`
	SHA256  types.String `tfsdk:"sha256"`
}

type treeLink struct {
	Name   types.String `tfsdk:"name"`
	Target types.String `tfsdk:"target"`
}

type treeLimits struct {
	MaxFiles types.Int64 `tfsdk:"max_files"`
}

type treeSummary struct {
	Count types.Int64 `tfsdk:"count"`
	Bytes types.Int64 `tfsdk:"bytes"`
}

var (
	fileType = types.ObjectType{AttrTypes: map[string]attr.Type{"content": types.StringType,
		"mode": types.StringType, "sha256": types.StringType}}
	linkType = types.ObjectType{AttrTypes: map[string]attr.Type{"name": types.StringType,
		"target": types.StringType}}
	summaryTypes = map[string]attr.Type{"count": types.Int64Type, "bytes": types.Int64Type}
)

func (r *treeResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A folder with its files and links, as one object.",
		Attributes: map[string]schema.Attribute{
			"id":   idAttribute(),
			"path": pathAttribute(),
			"files": schema.MapNestedAttribute{
				Required:    true,
				Description: "The files by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"content": schema.StringAttribute{Required: true, Description: "The text of the file."},
					"mode":    modeAttribute(defaultFileMode),
					"sha256":  schema.StringAttribute{Computed: true, Description: "The SHA-256 sum of the text."},
				}},
			},
			"links": schema.SetNestedAttribute{
				Optional:    true,
				Description: "Symbolic links.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name":   schema.StringAttribute{Required: true, Description: "The name of the link."},
					"target": schema.StringAttribute{Required: true, Description: "The target of the link."},
				}},
			},
			"limits": schema.SingleNestedAttribute{
				Optional:    true,
				Description: "Limits of the tree.",
				Attributes: map[string]schema.Attribute{
					"max_files": schema.Int64Attribute{Optional: true, Description: "The maximum number of files."},
				},
			},
			"summary": schema.SingleNestedAttribute{
				Computed:    true,
				Description: "The size of the tree.",
				Attributes: map[string]schema.Attribute{
					"count": schema.Int64Attribute{Computed: true, Description: "The number of files."},
					"bytes": schema.Int64Attribute{Computed: true, Description: "The total size of all files, in bytes."},
				},
			},
		},
	}
}

// contents holds the files and links in a directory, without those in subdirectories, by name.
type contents struct {
	files map[string]content
	links map[string]string
}

// contents reads a directory without its subdirectories.
func (d disk) contents(p string) (contents, error) {
	entries, err := os.ReadDir(d.path(p))
	if err != nil {
		return contents{}, err
	}
	c := contents{files: map[string]content{}, links: map[string]string{}}
	for _, e := range entries {
		name := path.Join(p, e.Name())
		switch {
		case e.Type().IsRegular():
			c.files[e.Name()], err = d.read(name)
		case e.Type()&os.ModeSymlink != 0:
			c.links[e.Name()], err = os.Readlink(d.path(name))
		}
		if err != nil {
			return contents{}, err
		}
	}
	return c, nil
}

func (f treeFile) content() content {
	return content{text: f.Content.ValueString(), mode: f.Mode.ValueString()}
}

func (m treeModel) files(ctx context.Context) (files map[string]treeFile, diags diag.Diagnostics) {
	diags = m.Files.ElementsAs(ctx, &files, false)
	return files, diags
}

func (m *treeModel) setFiles(ctx context.Context, files map[string]treeFile) (diags diag.Diagnostics) {
	m.Files, diags = types.MapValueFrom(ctx, fileType, files)
	return diags
}

// observe sets the attributes from the contents of the directory. If there are no links, their
// attribute stays null.
func (m *treeModel) observe(ctx context.Context, now contents) (diags diag.Diagnostics) {
	files := map[string]treeFile{}
	total := 0
	for name, c := range now.files {
		files[name] = treeFile{types.StringValue(c.text), types.StringValue(c.mode), types.StringValue(c.sha256())}
		total += len(c.text)
	}
	diags.Append(m.setFiles(ctx, files)...)
	var links []treeLink
	for name, target := range now.links {
		links = append(links, treeLink{types.StringValue(name), types.StringValue(target)})
	}
	if len(links) > 0 || !m.Links.IsNull() {
		set, more := types.SetValueFrom(ctx, linkType, links)
		m.Links = set
		diags.Append(more...)
	} else {
		m.Links = types.SetNull(linkType)
	}
	summary, more := types.ObjectValueFrom(ctx, summaryTypes,
		treeSummary{types.Int64Value(int64(len(files))), types.Int64Value(int64(total))})
	m.Summary = summary
	return append(diags, more...)
}

// write changes a directory to match the model and sets the computed attributes. now is the current
// content of the directory. If there is an error, the model describes what the directory then
// contains.
func (m *treeModel) write(ctx context.Context, d disk, now contents) (diags diag.Diagnostics) {
	files, diags := m.files(ctx)
	var links []treeLink
	diags.Append(m.Links.ElementsAs(ctx, &links, false)...)
	if diags.HasError() {
		return diags
	}
	base := m.Path.ValueString()
	wanted := map[string]bool{}
	var errs []error
	for name, f := range files {
		wanted[name] = true
		if err := checkPath(name); err != nil || path.Base(name) != name {
			errs = append(errs, fmt.Errorf("%q is not a file name", name))
		} else if old, ok := now.files[name]; !ok || old != f.content() {
			errs = append(errs, d.write(path.Join(base, name), f.content()))
		}
	}
	for _, l := range links {
		name, target := l.Name.ValueString(), l.Target.ValueString()
		wanted[name] = true
		if old, ok := now.links[name]; !ok || old != target {
			errs = append(errs, d.remove(path.Join(base, name)), os.Symlink(target, d.path(path.Join(base, name))))
		}
	}
	for name := range now.files {
		if !wanted[name] {
			errs = append(errs, d.remove(path.Join(base, name)))
		}
	}
	for name := range now.links {
		if !wanted[name] {
			errs = append(errs, d.remove(path.Join(base, name)))
		}
	}
	then, err := d.contents(base)
	if err = errors.Join(append(errs, err)...); err != nil {
		diags.AddError("Cannot write the tree "+base, err.Error())
	}
	return append(diags, m.observe(ctx, then)...)
}
