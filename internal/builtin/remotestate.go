package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

const remoteStateType = "terraform_remote_state"

// RemoteState reads the states of other configurations.
type RemoteState struct {
	// Schema returns the schema of a backend's configuration. If the backend doesn't exist, it
	// returns an error whose text is a sentence for the user. If both results are nil, the backend
	// exists but its states can't be read: configurations may name it, and Outputs returns the
	// error.
	Schema func(backend string) (*configschema.Block, error)
	// Outputs reads the root outputs of the latest state of a workspace for the data source at
	// addr. found is false if there is no state. The configuration conforms to the schema of the
	// backend and has no marks. Outputs that depend on changes planned in the same run are unknown.
	Outputs func(
		ctx context.Context, addr addrs.AbsInstance, backend, workspace string, config cty.Value,
	) (outputs map[string]cty.Value, found bool, err error)
}

func remoteStateSchema() *configschema.Block {
	markdown := configschema.StringMarkdown
	return &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"backend": {Type: cty.String, Required: true, DescriptionKind: markdown,
			Description: "The type of the backend that keeps the state, such as `s3` or `http`."},
		"config": {Type: cty.DynamicPseudoType, Optional: true, DescriptionKind: markdown,
			Description: "The settings of the backend: an object with the arguments that a `backend` block of " +
				"this type would have."},
		"defaults": {Type: cty.DynamicPseudoType, Optional: true, DescriptionKind: markdown,
			Description: "Values for outputs that the state does not have."},
		"outputs": {Type: cty.DynamicPseudoType, Computed: true, DescriptionKind: markdown,
			Description: "The outputs of the root module in the state."},
		"workspace": {Type: cty.String, Optional: true, DescriptionKind: markdown,
			Description: "The workspace whose state is read; `default` if it is left out."},
	}}
}

func (p *provider) validateRemoteState(config cty.Value) tfdiags.Diagnostics {
	_, err := p.backendConfig(config)
	diags := tfdiags.FromError(err)
	if d := config.GetAttr("defaults"); d.IsKnown() && !d.IsNull() && !d.Type().IsObjectType() &&
		!d.Type().IsMapType() {
		diags = diags.Append(at("defaults", "Invalid default values",
			"The defaults must be an object or a map, with names of outputs as keys."))
	}
	return diags
}

func at(name, summary, detail string) tfdiags.Diagnostic {
	return tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: summary, Detail: detail, Path: cty.GetAttrPath(name)}
}

// backendConfig converts the argument "config" to the schema of the backend. It returns the
// argument unchanged if the states of the backend can't be read, and cty.NilVal if the name of the
// backend is unknown.
func (p *provider) backendConfig(config cty.Value) (cty.Value, error) {
	const summary = "Invalid backend configuration"
	backend := config.GetAttr("backend")
	switch {
	case !backend.IsKnown():
		return cty.NilVal, nil
	case backend.IsNull() || backend.AsString() == "":
		return cty.NilVal, at("backend", summary, "The name of the backend is missing.")
	case p.opts.RemoteState.Schema == nil || p.opts.RemoteState.Outputs == nil:
		return cty.NilVal, at("backend", summary, "The states of other configurations can't be read here.")
	}
	schema, err := p.opts.RemoteState.Schema(backend.AsString())
	if err != nil {
		return cty.NilVal, at("backend", summary, err.Error())
	}
	given := config.GetAttr("config")
	if schema == nil {
		return given, nil
	}
	if given.IsNull() {
		given = cty.EmptyObjectVal
	}
	val, err := schema.CoerceValue(given)
	if err != nil {
		d := at("config", summary, "The given configuration is not valid for backend \""+backend.AsString()+
			"\": "+tfdiags.FormatError(err)+".")
		if where, ok := errors.AsType[cty.PathError](err); ok {
			d.Path = append(d.Path, where.Path...)
		}
		return cty.NilVal, d
	}
	return val, nil
}

// readRemoteState returns the data source's object: its configuration, and the outputs of the
// state. Outputs missing from the state get their default values.
func (p *provider) readRemoteState(
	ctx context.Context, addr addrs.AbsInstance, config cty.Value,
) (resp providers.ReadDataResponse) {
	backend, err := p.backendConfig(config)
	if err != nil {
		return providers.ReadDataResponse{Diagnostics: tfdiags.FromError(err)}
	}
	if !config.IsWhollyKnown() {
		resp.Diagnostics = resp.Diagnostics.Append(at("config", "Invalid backend configuration",
			"A state can't be read before the configuration of its backend is known."))
		return resp
	}
	workspace := "default"
	if w := config.GetAttr("workspace"); !w.IsNull() && w.AsString() != "" {
		workspace = w.AsString()
	}
	outputs, found, err := p.opts.RemoteState.Outputs(ctx, addr, config.GetAttr("backend").AsString(),
		workspace, backend)
	resp.Diagnostics = tfdiags.FromError(err).Map(func(d *tfdiags.Diagnostic) {
		d.Placeless = true // the cause is not in the configuration, so the error has no source range
	})
	if !found && err == nil {
		err = at("workspace", "Unable to find remote state",
			fmt.Sprintf("The backend has no state for the workspace %q. Apply the configuration that it belongs to "+
				"first.", workspace))
		resp.Diagnostics = tfdiags.FromError(err)
	}
	if err != nil {
		resp.Diagnostics.Add(tfdiags.Diagnostic{Severity: tfdiags.Error,
			Summary: "Unable to read remote state", Placeless: true,
			Detail: addr.String() + " could not be read, so nothing that refers to its outputs can be evaluated."})
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
		plain, marked := v.UnmarkDeep()
		if len(marked) > 0 {
			resp.Hidden = append(resp.Hidden, cty.GetAttrPath("outputs").GetAttr(name))
		}
		merged[name] = plain
	}
	vals := config.AsValueMap()
	vals["outputs"] = cty.ObjectVal(merged)
	resp.State = cty.ObjectVal(vals)
	resp.Pending = !resp.State.IsWhollyKnown()
	return resp
}
