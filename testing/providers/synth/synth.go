package synth

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Size is the size of the schema.
type Size struct {
	Types      int // number of resource types
	Attributes int // number of additional attributes in each resource type
}

// SizeFromEnv returns the size that SYNTH_TYPES and SYNTH_ATTRIBUTES set.
func SizeFromEnv() (Size, error) {
	size := Size{Types: 1500}
	for name, n := range map[string]*int{"SYNTH_TYPES": &size.Types, "SYNTH_ATTRIBUTES": &size.Attributes} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		var err error
		*n, err = strconv.Atoi(text)
		if err != nil || *n < 0 {
			return Size{}, fmt.Errorf("environment variable %s: %q is not a whole number, 0 or greater", name, text)
		}
	}
	return size, nil
}

// New returns the provider.
func New(size Size, version string) provider.Provider {
	return &synthProvider{size: size, version: version}
}

type synthProvider struct {
	size    Size
	version string
}

func (p *synthProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "synth"
	resp.Version = p.version
}

func (p *synthProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (p *synthProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p *synthProvider) Resources(context.Context) []func() resource.Resource {
	all := make([]func() resource.Resource, p.size.Types)
	for i := range all {
		all[i] = func() resource.Resource { return &thing{number: i, attributes: p.size.Attributes} }
	}
	return all
}

func (p *synthProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return echo{} }}
}

// thing implements the resource type synth_tN.
type thing struct{ number, attributes int }

func (t *thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "synth_t" + strconv.Itoa(t.number)
}

func (t *thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Computed: true, Description: "Derived from the name, known after apply.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
		},
		"name": schema.StringAttribute{
			Required: true, Description: "The name of the object. Changing it replaces the object.",
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		},
		"input":  schema.StringAttribute{Optional: true, Description: "Any text."},
		"output": schema.StringAttribute{Computed: true, Description: "The same text, known after apply."},
	}
	for i := range t.attributes {
		attributes["x"+strconv.Itoa(i)] = schema.StringAttribute{
			Optional: true,
			Description: fmt.Sprintf("Additional attribute number %d of this object, which accepts any text "+
				"and has no effect on others.", i),
		}
	}
	resp.Schema = schema.Schema{Description: "An object of type " + strconv.Itoa(t.number) + ".",
		Attributes: attributes}
}

func (t *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var name, input types.String
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("name"), &name)...)
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("input"), &input)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), "id-"+name.ValueString())...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("output"), input)...)
}

func (t *thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (t *thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var input types.String
	resp.State.Raw = req.Plan.Raw
	resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, path.Root("input"), &input)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("output"), input)...)
}

func (t *thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// echo implements the data source synth_echo.
type echo struct{}

type echoModel struct {
	Input  types.String `tfsdk:"input"`
	Output types.String `tfsdk:"output"`
}

func (echo) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "synth_echo"
}

func (echo) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataschema.Schema{
		Description: "Returns its input.",
		Attributes: map[string]dataschema.Attribute{
			"input":  dataschema.StringAttribute{Required: true, Description: "Any text."},
			"output": dataschema.StringAttribute{Computed: true, Description: "The same text."},
		},
	}
}

func (echo) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m echoModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	m.Output = m.Input
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
