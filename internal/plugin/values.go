package plugin

import (
	"cmp"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/protobuf/types/known/timestamppb"

	"tofu/internal/configschema"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// encode encodes a value for the provider. It returns nil for cty.NilVal, and after errors.
func (x *exchange) encode(v cty.Value, ty cty.Type) *tfplugin.DynamicValue {
	if v == cty.NilVal || x.failed() {
		return nil
	}
	raw, err := msgpack.Marshal(v, ty)
	if err != nil {
		x.fail("Invalid value for provider", "A value can't be sent to the provider %s with the call %s: %s.",
			x.client.launch.Provider.ForDisplay(), x.method, tfdiags.FormatError(err))
		return nil
	}
	return &tfplugin.DynamicValue{Msgpack: raw}
}

// meta encodes the value of provider_meta. A provider that declares provider_meta expects a value
// in every call, so an unset value becomes null. For other providers, meta returns nil.
func (x *exchange) meta(v cty.Value) *tfplugin.DynamicValue {
	if x.failed() || x.schema.ProviderMeta == nil {
		return nil
	}
	ty := x.schema.ProviderMeta.ImpliedType()
	if v == cty.NilVal {
		v = cty.NullVal(ty)
	}
	return x.encode(v, ty)
}

// decode decodes a value from the provider. A missing value becomes null. An invalid value also
// becomes null, and adds an error.
func (x *exchange) decode(v *tfplugin.DynamicValue, ty cty.Type) cty.Value {
	out, err := decodeValue(v, ty)
	if err != nil {
		x.fail("Provider produced invalid object",
			"The provider %s answered the call %s with a value that doesn't fit its schema: %s.\n\n%s",
			x.client.launch.Provider.ForDisplay(), x.method, tfdiags.FormatError(err), providers.BugNotice)
		return cty.NullVal(ty)
	}
	return out
}

// writeOnlyErrors are the summaries of the error about a write-only attribute with a value, by call.
var writeOnlyErrors = map[method]string{
	upgradeState: "Invalid resource state upgrade",
	planChange:   "Provider produced invalid plan",
	importState:  "Import returned a non-null value for a write-only attribute",
	moveState:    "Provider returned invalid value",
}

// decodeObject decodes an object of a resource. Its write-only attributes must be null, because they must
// not be stored: one that isn't becomes null, and adds an error.
func (x *exchange) decodeObject(v *tfplugin.DynamicValue, schema *configschema.Block) cty.Value {
	out := x.decode(v, schema.ImpliedType())
	if !schema.ContainsWriteOnly() {
		return out
	}
	// The function returns no error, so Transform returns none.
	out, _ = cty.Transform(out, func(path cty.Path, v cty.Value) (cty.Value, error) {
		attr := schema.AttributeByPath(path)
		if attr == nil || !attr.WriteOnly || v.IsNull() || attr == schema.AttributeByPath(path[:len(path)-1]) {
			return v, nil
		}
		x.fail(cmp.Or(writeOnlyErrors[x.method], "Provider produced invalid object"),
			"The provider %s answered the call %s with a value for the write-only attribute %s, which must be null. The "+
				"value is not stored.\n\n%s", x.client.launch.Provider.ForDisplay(), x.method, tfdiags.FormatPath(path),
			providers.BugNotice)
		return cty.NullVal(v.Type()), nil
	})
	return out
}

func decodeValue(v *tfplugin.DynamicValue, ty cty.Type) (cty.Value, error) {
	switch {
	case len(v.GetMsgpack()) > 0:
		return states.UnmarshalPacked(v.Msgpack, ty)
	case len(v.GetJson()) > 0:
		return states.Unmarshal(v.Json, ty)
	}
	return cty.NullVal(ty), nil
}

func isMissing(v *tfplugin.DynamicValue) bool {
	return len(v.GetMsgpack()) == 0 && len(v.GetJson()) == 0
}

// encodeIdentity encodes an identity. It returns nil if v is not set or the type has no identity.
func (x *exchange) encodeIdentity(v cty.Value, schema *configschema.Object) *tfplugin.ResourceIdentityData {
	if v == cty.NilVal || schema == nil || v.IsNull() {
		return nil
	}
	return &tfplugin.ResourceIdentityData{IdentityData: x.encode(v, schema.ImpliedType())}
}

func (x *exchange) decodeIdentity(v *tfplugin.ResourceIdentityData, schema *configschema.Object) cty.Value {
	if v == nil || schema == nil || isMissing(v.IdentityData) {
		return cty.NilVal
	}
	return x.decode(v.IdentityData, schema.ImpliedType())
}

// addDiagnostics adds the diagnostics in a response.
func (x *exchange) addDiagnostics(in []*tfplugin.Diagnostic) {
	for _, d := range in {
		one := tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: d.Summary, Detail: d.Detail,
			Path: decodePath(d.Attribute)}
		if d.Severity == tfplugin.Diagnostic_WARNING {
			one.Severity = tfdiags.Warning
		}
		x.diags = x.diags.Append(one)
	}
}

func decodePath(in *tfplugin.AttributePath) cty.Path {
	var path cty.Path
	for _, step := range in.GetSteps() {
		switch sel := step.GetSelector().(type) {
		case *tfplugin.AttributePath_Step_AttributeName:
			path = path.GetAttr(sel.AttributeName)
		case *tfplugin.AttributePath_Step_ElementKeyString:
			path = path.IndexString(sel.ElementKeyString)
		case *tfplugin.AttributePath_Step_ElementKeyInt:
			path = path.Index(cty.NumberIntVal(sel.ElementKeyInt))
		default: // a step without a selector: the rest of the path can't be decoded
			return path
		}
	}
	return path
}

// deferReasons maps the reasons in responses to the constants of package providers.
var deferReasons = map[tfplugin.Deferred_Reason]string{
	tfplugin.Deferred_RESOURCE_CONFIG_UNKNOWN: providers.DeferredConfig,
	tfplugin.Deferred_PROVIDER_CONFIG_UNKNOWN: providers.DeferredProvider,
	tfplugin.Deferred_ABSENT_PREREQ:           providers.DeferredAbsent,
}

// deferred returns the reason why the provider has deferred an object, or "" if it hasn't.
func deferred(d *tfplugin.Deferred) string {
	if d == nil {
		return ""
	}
	return cmp.Or(deferReasons[d.Reason], providers.DeferredOther)
}

func decodeTime(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
