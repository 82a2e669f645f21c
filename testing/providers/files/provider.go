package files

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/statestore"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"tofu/testing/providers/faults"
)

// Options select a variant of the provider.
type Options struct {
	Version string

	// Protocol5 omits what protocol 5 does not support: state stores, nested attributes, and the
	// resource type files_tree, which has nested attributes.
	Protocol5 bool
}

// New returns the provider.
func New(o Options) provider.Provider {
	plan, err := faults.FromEnv("FILES")
	return &filesProvider{options: o, env: &env{faults: plan}, envErr: err}
}

type filesProvider struct {
	options Options
	env     *env
	envErr  error
}

// env is the data that the provider shares with its resources. It holds the faults and, after the
// provider was configured, the root directory.
type env struct {
	disk   *disk // nil while the root directory is unknown
	faults *faults.Plan
}

// around runs an operation that needs the root directory, and injects the faults.
func (e *env) around(ctx context.Context, diags *diag.Diagnostics, op, name string, do func(disk) error) {
	err := e.faults.Around(ctx, op, name, func() error {
		if e.disk == nil {
			return errUnknownRoot
		}
		return do(*e.disk)
	})
	if err != nil {
		diags.AddError("Cannot "+op+" "+name, err.Error())
	}
}

// check injects the faults of an operation that accesses no files.
func (e *env) check(ctx context.Context, diags *diag.Diagnostics, op, name string) {
	nothing := func() error { return nil }
	if err := e.faults.Around(ctx, op, name, nothing); err != nil {
		diags.AddError("Cannot "+op+" "+name, err.Error())
	}
}

var errUnknownRoot = errors.New("the provider's root folder is unknown; apply the objects that it depends on first")

type providerModel struct {
	Root types.String `tfsdk:"root"`
}

func (p *filesProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "files"
	resp.Version = p.options.Version
}

func (p *filesProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "Files and folders on this machine.",
		Attributes: map[string]schema.Attribute{
			"root": schema.StringAttribute{
				Optional: true,
				Description: "The base directory of all paths. The default is the environment variable " +
					"FILES_ROOT, then the working directory.",
			},
		},
	}
}

func (p *filesProvider) Configure(ctx context.Context, req provider.ConfigureRequest,
	resp *provider.ConfigureResponse) {
	if p.envErr != nil {
		resp.Diagnostics.AddError("Invalid environment", p.envErr.Error())
		return
	}
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	root := m.Root.ValueString()
	if root == "" {
		root = os.Getenv("FILES_ROOT")
	}
	if root == "" {
		root = "."
	}
	if m.Root.IsUnknown() && os.Getenv("FILES_DEFER") != "" && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		return
	}
	p.env.check(ctx, &resp.Diagnostics, "configure", root)
	if !m.Root.IsUnknown() {
		if info, err := os.Stat(root); err == nil && !info.IsDir() {
			resp.Diagnostics.AddAttributeError(path.Root("root"), "Cannot use the root folder", root+" is not a folder")
		}
		p.env.disk = &disk{root: root}
	}
}

func (p *filesProvider) Resources(context.Context) []func() resource.Resource {
	all := []func() resource.Resource{
		func() resource.Resource { return &fileResource{env: p.env} },
		func() resource.Resource { return &folderResource{env: p.env} },
		func() resource.Resource { return &documentResource{env: p.env} },
	}
	if !p.options.Protocol5 {
		all = append(all, func() resource.Resource { return &treeResource{env: p.env} })
	}
	return all
}

func (p *filesProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &fileData{env: p.env} },
		func() datasource.DataSource { return &folderData{env: p.env} },
	}
}

func (p *filesProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return &secret{env: p.env} },
	}
}

func (p *filesProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		func() function.Function { return sha256Of{} },
		func() function.Function { return joinPath{} },
		func() function.Function { return frontMatter{} },
	}
}

func (p *filesProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{func() list.ListResource { return &fileList{env: p.env} }}
}

func (p *filesProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{func() action.Action { return &appendAction{env: p.env} }}
}

func (p *filesProvider) StateStores(context.Context) []func() statestore.StateStore {
	if p.options.Protocol5 {
		return nil
	}
	return []func() statestore.StateStore{func() statestore.StateStore { return &folderStore{env: p.env} }}
}
