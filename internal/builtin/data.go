package builtin

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

const dataType = "terraform_data"

func dataSchema(store bool) *configschema.Block {
	block := &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"input":            {Type: cty.DynamicPseudoType, Optional: true},
		"output":           {Type: cty.DynamicPseudoType, Computed: true},
		"triggers_replace": {Type: cty.DynamicPseudoType, Optional: true},
		"id":               {Type: cty.String, Computed: true},
	}}
	if store {
		block.BlockTypes = map[string]*configschema.NestedBlock{storeBlock: storeSchema()}
	}
	return block
}

func randomID() (string, error) {
	id, err := uuid.NewRandom()
	return id.String(), err
}

func validateData(config cty.Value) tfdiags.Diagnostics {
	if config.IsNull() {
		return nil
	}
	diags := readOnly(config, nil, "id", "output")
	if store := storeOf(config); !store.IsNull() && store.IsKnown() {
		diags = diags.Append(readOnly(store, cty.GetAttrPath(storeBlock), storeOutputs...)...)
	}
	return diags
}

// readOnly returns an error for each of the named attributes that is set in an object.
func readOnly(object cty.Value, path cty.Path, names ...string) (diags tfdiags.Diagnostics) {
	for _, name := range names {
		if !object.GetAttr(name).IsNull() {
			diags = diags.Append(tfdiags.Diagnostic{
				Severity: tfdiags.Error, Summary: fmt.Sprintf("%q attribute is read-only", name),
				Path: slices.Concat(path, cty.GetAttrPath(name)), Placeless: true,
				Detail: "It is decided when the change is applied; remove it from the configuration.",
			})
		}
	}
	return diags
}

// planData plans terraform_data. The output attribute gets the value of input during the apply. A
// change to triggers_replace replaces the object.
func planData(req providers.PlanRequest) providers.PlanResponse {
	resp := providers.PlanResponse{Planned: req.Proposed, Private: req.Private}
	if req.Proposed.IsNull() {
		return resp
	}
	vals := req.Proposed.AsValueMap()
	if _, ok := vals[storeBlock]; ok {
		vals[storeBlock], resp.RequiresReplace = planStore(storeOf(req.Prior), storeOf(req.Proposed), storeOf(req.Config))
		resp.Planned = cty.ObjectVal(vals)
	}
	input := vals["input"]
	if req.Prior.IsNull() {
		vals["id"] = cty.UnknownVal(cty.String).RefineNotNull()
		vals["output"] = cty.NullVal(input.Type())
		if !input.IsNull() {
			vals["output"] = cty.UnknownVal(input.Type())
		}
		resp.Planned = cty.ObjectVal(vals)
		return resp
	}
	if !req.Prior.GetAttr("triggers_replace").RawEquals(vals["triggers_replace"]) {
		resp.RequiresReplace = append(resp.RequiresReplace, cty.GetAttrPath("triggers_replace"))
	}
	if !req.Prior.GetAttr("input").RawEquals(input) {
		vals["output"] = cty.UnknownVal(input.Type())
		resp.Planned = cty.ObjectVal(vals)
	}
	return resp
}

func (p *provider) applyData(req providers.ApplyRequest) providers.ApplyResponse {
	resp := providers.ApplyResponse{New: req.Planned, Private: req.Private}
	if req.Planned.IsNull() {
		return resp
	}
	vals := req.Planned.AsValueMap()
	if !vals["output"].IsKnown() {
		vals["output"] = vals["input"]
	}
	if store, ok := vals[storeBlock]; ok {
		vals[storeBlock] = applyStore(store, storeOf(req.Config))
	}
	if !vals["id"].IsKnown() {
		id, err := p.opts.NewID()
		if err != nil {
			resp.New = req.Prior
			resp.Diagnostics = resp.Diagnostics.AppendError(fmt.Errorf("making the ID of a new object: %w", err))
			return resp
		}
		vals["id"] = cty.StringVal(id)
	}
	resp.New = cty.ObjectVal(vals)
	return resp
}

// withID returns the attributes of an object in which only the ID is set. All other attributes are
// null.
func (p *provider) withID(id cty.Value) map[string]cty.Value {
	vals := p.schema.Resources.Type(dataType).Block.EmptyValue().AsValueMap()
	vals["id"] = id
	return vals
}

func (p *provider) importData(req providers.ImportRequest) providers.ImportResponse {
	if req.ID == "" {
		return providers.ImportResponse{Diagnostics: tfdiags.Errorf("Missing import ID",
			"To import an object of type %s, specify the ID that it should have.", dataType).List()}
	}
	return providers.ImportResponse{Imported: []providers.ImportedObject{
		{Type: dataType, State: cty.ObjectVal(p.withID(cty.StringVal(req.ID)))},
	}}
}

// upgradeData decodes an object from the state. Missing attributes are null. There is only one
// schema version.
func (p *provider) upgradeData(req providers.UpgradeRequest) (resp providers.UpgradeResponse) {
	block := p.schema.Resources.Type(dataType).Block
	var stored map[string]json.RawMessage
	if err := json.Unmarshal(req.JSON, &stored); err != nil {
		return providers.UpgradeResponse{Diagnostics: badState(err)}
	}
	vals := make(map[string]cty.Value, len(block.Attributes))
	for name, attr := range block.Attributes {
		raw, ok := stored[name]
		if !ok {
			vals[name] = attr.EmptyValue()
			continue
		}
		v, err := states.Unmarshal(raw, attr.Type)
		if err != nil {
			return providers.UpgradeResponse{Diagnostics: badState(fmt.Errorf("%s: %w", name, err))}
		}
		vals[name] = v
	}
	for name, nested := range block.BlockTypes {
		ty := nested.Block.ImpliedType()
		vals[name] = cty.NullVal(ty)
		if raw, ok := stored[name]; ok && string(raw) != "[]" {
			v, err := states.Unmarshal(raw, ty)
			if err != nil {
				return providers.UpgradeResponse{Diagnostics: badState(fmt.Errorf("%s: %w", name, err))}
			}
			vals[name] = v
		}
	}
	resp.Value = cty.ObjectVal(vals)
	return resp
}

func badState(err error) tfdiags.Diagnostics {
	return tfdiags.Errorf("Invalid stored object", "The state has an object of type %s that can't be read: %s.",
		dataType, err).List()
}

// nullResource holds the attributes read from a null_resource, whose triggers correspond to
// triggers_replace.
type nullResource struct {
	ID       *string         `json:"id"`
	Triggers json.RawMessage `json:"triggers"`
}

func (p *provider) moveData(req providers.MoveRequest) (resp providers.MoveResponse) {
	if req.SourceType != "null_resource" {
		resp.Diagnostics = resp.Diagnostics.Append(tfdiags.Errorf("Unsupported move",
			"Objects of type %s can't become objects of type %s: only those of type null_resource can.",
			req.SourceType, dataType))
		return resp
	}
	var source nullResource
	if err := json.Unmarshal(req.SourceJSON, &source); err != nil || source.ID == nil {
		resp.Diagnostics = resp.Diagnostics.Append(tfdiags.Errorf("Invalid stored object",
			"The state has a null_resource that can't be read."))
		return resp
	}
	vals := p.withID(cty.StringVal(*source.ID))
	if raw := source.Triggers; len(raw) > 0 && string(raw) != "null" {
		ty, err := ctyjson.ImpliedType(raw)
		if err == nil {
			vals["triggers_replace"], err = states.Unmarshal(raw, ty)
		}
		if err != nil {
			resp.Diagnostics = resp.Diagnostics.Append(tfdiags.Errorf("Invalid stored object",
				"The state has a null_resource whose triggers can't be read: %s.", err))
			return resp
		}
	}
	resp.State = cty.ObjectVal(vals)
	return resp
}
