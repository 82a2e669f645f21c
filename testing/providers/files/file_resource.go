package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ resource.ResourceWithIdentity       = (*fileResource)(nil)
	_ resource.ResourceWithImportState    = (*fileResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*fileResource)(nil)
	_ resource.ResourceWithMoveState      = (*fileResource)(nil)
	_ resource.ResourceWithUpgradeState   = (*fileResource)(nil)
	_ resource.ResourceWithValidateConfig = (*fileResource)(nil)
)

// fileResource implements the resource type files_file.
type fileResource struct{ env *env }

func (r *fileResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "files_file"
}

// writtenKey is the key under which the private data contains the checksum of a write-only text.
// The state does not contain the text. Therefore the checksum is needed to detect that the file was
// changed manually.
const writtenKey = "written"

type written struct {
	SHA256 string `json:"sha256"`
}

// private is the interface of private data, which requests and responses implement.
type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func readWritten(ctx context.Context, p private, diags *diag.Diagnostics) (w written) {
	data, more := p.GetKey(ctx, writtenKey)
	diags.Append(more...)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &w); err != nil {
			diags.AddError("Invalid private data", err.Error())
		}
	}
	return w
}

// encode returns w as private data. If there is no checksum, it returns null, which removes an
// earlier checksum.
func (w written) encode() []byte {
	if w.SHA256 == "" {
		return []byte("null")
	}
	return []byte(`{"sha256":"` + w.SHA256 + `"}`)
}

// text returns the configured text, which may be unknown. config contains the write-only text.
func (m fileModel) text(config fileModel) types.String {
	for _, s := range []types.String{m.Content, m.SensitiveContent, config.ContentWO} {
		if !s.IsNull() {
			return s
		}
	}
	return types.StringValue("")
}

// observe sets the attributes that are computed from the file on disk.
func (m *fileModel) observe(c content) {
	m.ID = m.Path
	m.Mode = types.StringValue(c.mode)
	m.SHA256 = types.StringValue(c.sha256())
	m.Size = types.Int64Value(int64(len(c.text)))
}

// ModifyPlan computes the checksum and the size if the text is known. It plans to write a
// write-only text again if its version has changed or the file was changed manually.
func (r *fileResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest,
	resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	if req.Plan.Raw.IsNull() {
		var prior fileModel
		diags.Append(req.State.Get(ctx, &prior)...)
		r.env.check(ctx, diags, "plan", prior.Path.ValueString())
		return
	}
	var plan, config fileModel
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	if diags.HasError() {
		return
	}
	r.env.check(ctx, diags, "plan", plan.Path.ValueString())

	switch text := plan.text(config); {
	case !config.ContentWO.IsNull():
		if !req.State.Raw.IsNull() {
			var prior fileModel
			diags.Append(req.State.Get(ctx, &prior)...)
			drifted := readWritten(ctx, req.Private, diags).SHA256 != prior.SHA256.ValueString()
			if !drifted && prior.ContentWOVersion.Equal(plan.ContentWOVersion) {
				plan.SHA256, plan.Size = prior.SHA256, prior.Size
				break
			}
		}
		plan.SHA256, plan.Size = types.StringUnknown(), types.Int64Unknown()
	case text.IsUnknown():
		plan.SHA256, plan.Size = types.StringUnknown(), types.Int64Unknown()
	default:
		c := content{text: text.ValueString()}
		plan.SHA256, plan.Size = types.StringValue(c.sha256()), types.Int64Value(int64(len(c.text)))
	}
	diags.Append(resp.Plan.Set(ctx, &plan)...)
}

func (r *fileResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m, config fileModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "create", m.Path.ValueString(), func(d disk) error {
		c := content{text: m.text(config).ValueString(), mode: m.Mode.ValueString()}
		if err := d.create(m.Path.ValueString(), c, m.Overwrite.ValueBool()); err != nil {
			return err
		}
		m.observe(c)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, writtenKey, keepSum(config, c))...)
		return nil
	})
}

func keepSum(config fileModel, c content) []byte {
	if config.ContentWO.IsNull() {
		return written{}.encode()
	}
	return written{SHA256: c.sha256()}.encode()
}

func (r *fileResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m fileModel
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
		m.observe(c)
		if m.Overwrite.IsNull() {
			m.Overwrite = types.BoolValue(false) // the value is null after an import or a move
		}
		switch {
		case !m.SensitiveContent.IsNull():
			m.SensitiveContent = types.StringValue(c.text)
		case readWritten(ctx, req.Private, &resp.Diagnostics).SHA256 != "":
			// The text is write-only, so it must not be stored.
		case !m.Content.IsNull() || c.text != "":
			m.Content = types.StringValue(c.text)
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		return nil
	})
}

func (r *fileResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, config, prior fileModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &prior)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "update", m.Path.ValueString(), func(d disk) error {
		c := content{text: m.text(config).ValueString(), mode: m.Mode.ValueString()}
		if !config.ContentWO.IsNull() && m.SHA256.Equal(prior.SHA256) {
			// Only other attributes have changed, so the write-only text on disk is kept.
			now, err := d.read(m.Path.ValueString())
			if err != nil {
				return err
			}
			c.text = now.text
		}
		if err := d.write(m.Path.ValueString(), c); err != nil {
			return err
		}
		m.observe(c)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{m.Path})...)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, writtenKey, keepSum(config, c))...)
		return nil
	})
}

func (r *fileResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m fileModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.env.around(ctx, &resp.Diagnostics, "delete", m.Path.ValueString(), func(d disk) error {
		return d.remove(m.Path.ValueString())
	})
}

func (r *fileResource) ImportState(ctx context.Context, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	importPath(ctx, r.env, req, resp)
}

// importPath imports an object by ID or by identity. It sets only the path, and Read then sets the
// other attributes.
func importPath(ctx context.Context, e *env, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	p := req.ID
	if p == "" {
		var identity pathIdentity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		p = identity.Path.ValueString()
	}
	if err := checkPath(p); err != nil {
		resp.Diagnostics.AddError("Invalid path to import", err.Error())
	}
	e.check(ctx, &resp.Diagnostics, "import", p)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("path"), p)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, pathIdentity{types.StringValue(p)})...)
}
