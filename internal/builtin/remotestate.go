package builtin

import (
	"context"
	"errors"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

const remoteStateType = "terraform_remote_state"

// RemoteState reads the states of other configurations.
type RemoteState struct {
	// Schema gives the schema of a backend's configuration. Its error is a sentence that says why there is none.
	Schema func(backend string) (*configschema.Block, error)
	// Outputs reads the root outputs of the latest state of a workspace, for the data source at addr; found is false when there is no state. The
	// configuration conforms to the backend's schema and carries no marks.
	Outputs func(ctx context.Context, addr addrs.AbsInstance, backend, workspace string, config cty.Value) (outputs map[string]cty.Value, found bool, diags tfdiags.Diagnostics)
}

func remoteStateSchema() *configschema.Block {
	markdown := configschema.StringMarkdown
	return &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"backend": {Type: cty.String, Required: true, DescriptionKind: markdown,
			Description: "The remote backend to use, e.g. `remote` or `http`."},
		"config": {Type: cty.DynamicPseudoType, Optional: true, DescriptionKind: markdown,
			Description: "The configuration of the remote backend. Although this is optional, most backends require some configuration.\n\n" +
				"The object can use any arguments that would be valid in the equivalent `terraform { backend \"<TYPE>\" { ... } }` block."},
		"defaults": {Type: cty.DynamicPseudoType, Optional: true, DescriptionKind: markdown,
			Description: "Default values for outputs, in case the state file is empty or lacks a required output."},
		"outputs": {Type: cty.DynamicPseudoType, Computed: true, DescriptionKind: markdown,
			Description: "An object containing every root-level output in the remote state."},
		"workspace": {Type: cty.String, Optional: true, DescriptionKind: markdown,
			Description: "The OpenTofu workspace to use, if the backend supports workspaces."},
	}}
}

func (p *provider) validateRemoteState(config cty.Value) tfdiags.Diagnostics {
	_, diags := p.backendConfig(config)
	if d := config.GetAttr("defaults"); d.IsKnown() && !d.IsNull() && !d.Type().IsObjectType() && !d.Type().IsMapType() {
		diags = diags.Append(at("defaults", "Invalid default values", "Defaults must be given in an object value."))
	}
	return diags
}

func at(name, summary, detail string) tfdiags.Diagnostic {
	return tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Path: cty.GetAttrPath(name)}
}

// backendConfig checks the backend's configuration and brings it to the backend's schema, as far as it is known; cty.NilVal when
// it isn't known which backend is meant.
func (p *provider) backendConfig(config cty.Value) (cty.Value, tfdiags.Diagnostics) {
	const summary = "Invalid backend configuration"
	backend := config.GetAttr("backend")
	switch {
	case !backend.IsKnown():
		return cty.NilVal, nil
	case backend.IsNull() || backend.AsString() == "":
		return cty.NilVal, tfdiags.Diagnostics{at("backend", summary, "The name of the backend is missing.")}
	case p.opts.RemoteState.Schema == nil || p.opts.RemoteState.Outputs == nil:
		return cty.NilVal, tfdiags.Diagnostics{at("backend", summary, "The states of other configurations can't be read here.")}
	}
	schema, err := p.opts.RemoteState.Schema(backend.AsString())
	if err != nil {
		return cty.NilVal, tfdiags.Diagnostics{at("backend", summary, err.Error())}
	}
	given := config.GetAttr("config")
	if given.IsNull() {
		given = cty.EmptyObjectVal
	}
	val, err := schema.CoerceValue(given)
	if err != nil {
		d := at("config", summary, "The given configuration is not valid for backend \""+backend.AsString()+"\": "+tfdiags.FormatError(err)+".")
		var where cty.PathError
		if errors.As(err, &where) {
			d.Path = append(d.Path, where.Path...)
		}
		return cty.NilVal, tfdiags.Diagnostics{d}
	}
	return val, nil
}

// readRemoteState gives what is configured, and the outputs: those of the state before the defaults.
func (p *provider) readRemoteState(ctx context.Context, addr addrs.AbsInstance, config cty.Value) (resp providers.ReadDataResponse) {
	backend, diags := p.backendConfig(config)
	if diags.HasErrors() {
		return providers.ReadDataResponse{Diagnostics: diags}
	}
	if !config.IsWhollyKnown() {
		resp.Diagnostics = resp.Diagnostics.Append(at("config", "Invalid backend configuration", "A state can't be read before the configuration of its backend is known."))
		return resp
	}
	workspace := "default"
	if w := config.GetAttr("workspace"); !w.IsNull() && w.AsString() != "" {
		workspace = w.AsString()
	}
	outputs, found, diags := p.opts.RemoteState.Outputs(ctx, addr, config.GetAttr("backend").AsString(), workspace, backend)
	resp.Diagnostics = diags
	if diags.HasErrors() {
		return resp
	}
	if !found {
		resp.Diagnostics = resp.Diagnostics.Append(at("workspace", "Unable to find remote state",
			"No stored state was found for the given workspace in the given backend."))
		return resp
	}
	merged := make(map[string]cty.Value)
	if defaults := config.GetAttr("defaults"); !defaults.IsNull() && defaults.CanIterateElements() {
		merged = defaults.AsValueMap()
		if merged == nil {
			merged = make(map[string]cty.Value)
		}
	}
	for name, v := range outputs {
		v, _ = v.UnmarkDeep()
		merged[name] = v
	}
	vals := config.AsValueMap()
	vals["outputs"] = cty.ObjectVal(merged)
	resp.State = cty.ObjectVal(vals)
	return resp
}
