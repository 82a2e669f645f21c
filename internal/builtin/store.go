package builtin

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// storeBlock is the name of the block of terraform_data that stores a value which may be ephemeral.
const storeBlock = "store"

// storeOutputs are the attributes of the block that have the stored value, one of them null.
var storeOutputs = []string{"output", "sensitive_output"}

func storeSchema() *configschema.NestedBlock {
	return &configschema.NestedBlock{
		Nesting: configschema.NestingSingle,
		Block: configschema.Block{Attributes: map[string]*configschema.Attribute{
			"input":            {Type: cty.DynamicPseudoType, Optional: true, WriteOnly: true},
			"replace":          {Type: cty.Bool, Optional: true},
			"sensitive":        {Type: cty.Bool, Optional: true},
			"version":          {Type: cty.DynamicPseudoType, Optional: true},
			"output":           {Type: cty.DynamicPseudoType, Computed: true},
			"sensitive_output": {Type: cty.DynamicPseudoType, Computed: true, Sensitive: true},
		}},
	}
}

// storeOf returns the store block of an object, or a null value if it has no such block.
func storeOf(object cty.Value) cty.Value {
	if object.IsNull() || !object.Type().HasAttribute(storeBlock) {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return object.GetAttr(storeBlock)
}

// planStore plans the store block. Its input is write-only, so a change shows in the outputs: the value is
// stored again if it differs from the stored one or, with a version, if the version differs. With
// "replace", that replaces the object.
func planStore(prior, proposed, config cty.Value) (planned cty.Value, replace []cty.Path) {
	if proposed.IsNull() || !proposed.IsKnown() {
		return proposed, nil
	}
	vals := proposed.AsValueMap()
	input := config.GetAttr("input")
	vals["input"] = cty.NullVal(cty.DynamicPseudoType)
	target, other := storeOutputs[0], storeOutputs[1]
	sensitive := config.GetAttr("sensitive")
	if sensitive.IsKnown() && !sensitive.IsNull() && sensitive.True() {
		target, other = other, target
	}
	if !prior.IsNull() && !storedAnew(prior, config, input, target, other) {
		return cty.ObjectVal(vals), nil
	}
	vals[other] = cty.NullVal(cty.DynamicPseudoType)
	vals[target] = cty.NullVal(input.Type())
	switch {
	case !sensitive.IsKnown():
		vals[target], vals[other] = cty.DynamicVal, cty.DynamicVal
	case !input.IsKnown() || !input.IsNull():
		vals[target] = cty.UnknownVal(input.Type())
	}
	if want := config.GetAttr("replace"); !prior.IsNull() && want.IsKnown() && !want.IsNull() && want.True() {
		at := cty.GetAttrPath(storeBlock)
		replace = []cty.Path{at.GetAttr(target)}
		if !prior.GetAttr(other).IsNull() {
			replace = append(replace, cty.GetAttrPath(storeBlock).GetAttr(other))
		}
	}
	return cty.ObjectVal(vals), replace
}

// storedAnew reports whether the input is stored in place of a prior value.
func storedAnew(prior, config, input cty.Value, target, other string) bool {
	version := config.GetAttr("version")
	switch {
	case !prior.GetAttr(other).IsNull(): // it is sensitive now, or not any more
		return true
	case !version.IsNull():
		return !prior.GetAttr("version").RawEquals(version)
	}
	return !prior.GetAttr(target).RawEquals(input)
}

// applyStore stores the input where the plan has an unknown output.
func applyStore(planned, config cty.Value) cty.Value {
	if planned.IsNull() {
		return planned
	}
	vals := planned.AsValueMap()
	none := cty.NullVal(cty.DynamicPseudoType)
	if !vals["output"].IsKnown() && !vals["sensitive_output"].IsKnown() { // it was not known whether it is sensitive
		vals["output"] = none
		if s := config.GetAttr("sensitive"); s.IsNull() || s.False() {
			vals["output"], vals["sensitive_output"] = cty.DynamicVal, none
		}
	}
	for _, name := range storeOutputs {
		if !vals[name].IsKnown() {
			vals[name] = config.GetAttr("input")
		}
	}
	return cty.ObjectVal(vals)
}
