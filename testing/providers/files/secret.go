package files

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var (
	_ ephemeral.EphemeralResourceWithRenew = (*secret)(nil)
	_ ephemeral.EphemeralResourceWithClose = (*secret)(nil)
)

// secret implements the ephemeral resource type files_secret: a file that exists while the resource
// is open.
type secret struct{ env *env }

type secretModel struct {
	Path         types.String `tfsdk:"path"`
	Value        types.String `tfsdk:"value"`
	RenewSeconds types.Int64  `tfsdk:"renew_seconds"`
}

// secretPrivate is the private data that Renew and Close need.
type secretPrivate struct {
	Path         string `json:"path"`
	RenewSeconds int64  `json:"renew_seconds"`
}

const secretKey = "secret"

func (s *secret) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = "files_secret"
}

func (s *secret) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A secret in a file that exists while it is open.",
		Attributes: map[string]schema.Attribute{
			"path": schema.StringAttribute{Required: true,
				Description: "The path of the file, relative to the root folder.",
				Validators:  []validator.String{relativePath}},
			"value": schema.StringAttribute{Optional: true, Computed: true, Sensitive: true,
				Description: "The secret. The default is random."},
			"renew_seconds": schema.Int64Attribute{Optional: true,
				Description: "The number of seconds after which it must be renewed. The default is never."},
		},
	}
}

func (s *secret) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m secretModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	p := secretPrivate{m.Path.ValueString(), m.RenewSeconds.ValueInt64()}
	s.env.around(ctx, &resp.Diagnostics, "open", p.Path, func(d disk) error {
		if m.Value.IsNull() {
			m.Value = types.StringValue(rand.Text())
		}
		if err := d.write(p.Path, content{text: m.Value.ValueString(), mode: "0600"}); err != nil {
			return err
		}
		data, err := json.Marshal(p)
		if err != nil {
			return err
		}
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, secretKey, data)...)
		resp.RenewAt = p.renewAt()
		resp.Diagnostics.Append(resp.Result.Set(ctx, &m)...)
		return nil
	})
}

func (s *secret) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	p := readSecret(ctx, req.Private, &resp.Diagnostics)
	s.env.around(ctx, &resp.Diagnostics, "renew", p.Path, func(disk) error {
		resp.RenewAt = p.renewAt()
		return nil
	})
}

func (s *secret) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	p := readSecret(ctx, req.Private, &resp.Diagnostics)
	s.env.around(ctx, &resp.Diagnostics, "close", p.Path, func(d disk) error { return d.remove(p.Path) })
}

func readSecret(ctx context.Context, private private, diags *diag.Diagnostics) (p secretPrivate) {
	data, more := private.GetKey(ctx, secretKey)
	diags.Append(more...)
	if err := json.Unmarshal(data, &p); err != nil {
		diags.AddError("Invalid private data", err.Error())
	}
	return p
}

// renewAt returns the time of the next renewal, or the zero time if the secret needs no renewal.
func (p secretPrivate) renewAt() time.Time {
	if p.RenewSeconds == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(p.RenewSeconds) * time.Second)
}
