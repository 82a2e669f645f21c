package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

var (
	mockProviderSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "for_each"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "mock_resource", LabelNames: []string{"type"}}, {Type: "mock_data", LabelNames: []string{"type"}},
			{Type: "mock_ephemeral", LabelNames: []string{"type"}},
			{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_ephemeral"},
		},
	}
	mockDefaultsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "defaults"}}}
	overrideSchema     = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target", Required: true},
		{Name: "values"}}}
	overrideModuleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target", Required: true},
		{Name: "outputs"}}}
)

func (d *decoder) mockProvider(f *TestFile, block *hcl.Block) {
	m := &MockProvider{Resources: map[string]cty.Value{}, Data: map[string]cty.Value{},
		Ephemeral: map[string]cty.Value{}}
	m.Provider = &Provider{Name: block.Labels[0], Config: hcl.EmptyBody(), NameRange: block.LabelRanges[0],
		Range: block.DefRange, Mock: true}
	if !d.providerName(m.Name, block.LabelRanges[0]) {
		return
	}
	content := d.content(block.Body, mockProviderSchema)
	if attr, ok := content.Attributes["alias"]; ok && d.constant(attr, &m.Alias) {
		rng := attr.Expr.Range()
		m.AliasRange = &rng
		if !hclsyntax.ValidIdentifier(m.Alias) {
			d.errorf(rng, "Invalid provider configuration alias", "%s", identifierRule)
		}
	}
	if attr, ok := content.Attributes["for_each"]; ok {
		m.ForEach = attr.Expr
		if m.AliasRange == nil {
			d.errorf(attr.Expr.Range(), "Alias required when using \"for_each\"",
				"A provider block with for_each has several instances, and references to them require an "+
					"alias.")
		}
	}
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "mock_resource":
			d.mockDefaults(m, m.Resources, inner)
		case "mock_data":
			d.mockDefaults(m, m.Data, inner)
		case "mock_ephemeral":
			d.mockDefaults(m, m.Ephemeral, inner)
		default:
			m.Overrides = d.testOverride(m.Overrides, inner)
		}
	}
	m.byTarget = OverrideTable{}
	for _, o := range m.Overrides {
		if m.byTarget.Add(o) != nil {
			d.errorf(m.Range, "Duplicated override",
				"%s is overridden twice in this mock_provider block, again at %s.",
				o.Target, tfdiags.Place(o.TargetRange))
		}
	}
	if before := f.Mocks[m.Local()]; before != nil {
		d.duplicateProvider(m.Provider, before.Range)
		return
	}
	f.Mocks[m.Local()] = m
}

func (d *decoder) mockDefaults(m *MockProvider, into map[string]cty.Value, block *hcl.Block) {
	typ := block.Labels[0]
	if _, dup := into[typ]; dup {
		d.errorf(m.Range, "Duplicated "+block.Type+" block",
			"There is another %s block for the type %q at %s.", block.Type, typ, tfdiags.Place(block.DefRange))
	}
	values := cty.EmptyObjectVal
	if attr, ok := d.content(block.Body, mockDefaultsSchema).Attributes["defaults"]; ok {
		values = d.constantObject(attr)
	}
	into[typ] = values
}

// testOverride decodes an override block.
func (d *decoder) testOverride(list []*Override, block *hcl.Block) []*Override {
	kind := overrideKinds[block.Type]
	schema, argument := overrideSchema, "values"
	if kind == OverrideModule {
		schema, argument = overrideModuleSchema, "outputs"
	}
	o := &Override{Kind: kind, Values: cty.EmptyObjectVal, Range: block.DefRange}
	attrs := d.content(block.Body, schema).Attributes
	if attr, ok := attrs[argument]; ok {
		o.Values = d.constantObject(attr)
	}
	attr, ok := attrs["target"]
	if !ok || !d.overrideTarget(o, attr) {
		return list
	}
	return append(list, o)
}

// overrideTarget decodes the address of a module call, resource or resource instance, and reports
// whether it is valid.
func (d *decoder) overrideTarget(o *Override, attr *hcl.Attribute) bool {
	o.TargetRange = attr.Expr.Range()
	expr := d.nativeExpr(attr.Expr)
	if expr == nil {
		return false
	}
	traversal, diags := hcl.AbsTraversalForExpr(withoutSplat(expr))
	if diags.HasErrors() {
		d.addHCL(diags)
		return false
	}
	target, err := addrs.ParseTarget(traversal)
	d.addError(err)
	if err != nil {
		return false
	}
	o.Target = target
	keyed := false
	for _, step := range target.Module.Steps() {
		keyed = keyed || step.Key != addrs.NoKey
	}
	switch {
	case keyed:
		d.errorf(o.TargetRange, "Invalid override target",
			"An override applies to all instances of a module. Remove the module's instance key.")
	case target.IsModule() != (o.Kind == OverrideModule):
		what := map[OverrideKind]string{OverrideResource: "resource", OverrideData: "data source",
			OverrideEphemeral: "ephemeral resource", OverrideModule: "module call"}[o.Kind]
		d.errorf(o.TargetRange, "Invalid override target",
			"The target must be the address of a %s; this is %s.", what, target)
	default:
		return true
	}
	return false
}

// withoutSplat returns TYPE.NAME for TYPE.NAME[*]: both refer to all instances.
func withoutSplat(expr hcl.Expression) hcl.Expression {
	if splat, ok := expr.(*hclsyntax.SplatExpr); ok {
		if _, last := splat.Each.(*hclsyntax.AnonSymbolExpr); last {
			return splat.Source
		}
	}
	return expr
}

// constantObject evaluates an object without references. After an error, it returns an empty object.
func (d *decoder) constantObject(attr *hcl.Attribute) cty.Value {
	v, diags := attr.Expr.Value(nil)
	d.addHCL(diags)
	switch {
	case diags.HasErrors():
	case v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType():
		d.errorf(attr.Expr.Range(), "Invalid "+attr.Name, "The argument %q must be an object.", attr.Name)
	default:
		return v
	}
	return cty.EmptyObjectVal
}

// OverrideOf returns the mock provider's override of an instance, or nil.
func (m *MockProvider) OverrideOf(addr addrs.AbsInstance) *Override { return m.byTarget.Of(addr) }

// OverrideTable holds overrides by resource and instance key. An override for all instances has the
// key NoKey.
type OverrideTable map[addrs.ConfigResource]map[addrs.InstanceKey]*Override

// Add adds an override. It returns the earlier override of the same target, or nil.
func (t OverrideTable) Add(o *Override) (before *Override) {
	r := o.Target.Resource.In(o.Target.Module.Module())
	if t[r] == nil {
		t[r] = map[addrs.InstanceKey]*Override{}
	}
	before = t[r][o.Target.Key]
	t[r][o.Target.Key] = o
	return before
}

// Of returns the override of an instance or of its whole resource, or nil.
func (t OverrideTable) Of(addr addrs.AbsInstance) *Override {
	byKey := t[addr.Config()]
	if o := byKey[addr.Key]; o != nil {
		return o
	}
	return byKey[addrs.NoKey]
}

// Defaults returns the default attribute values for resources of r's type. Without defaults, it
// returns an empty object.
func (m *MockProvider) Defaults(r addrs.Resource) cty.Value {
	if m == nil {
		return cty.EmptyObjectVal
	}
	table := map[addrs.ResourceMode]map[string]cty.Value{addrs.Managed: m.Resources, addrs.Data: m.Data,
		addrs.Ephemeral: m.Ephemeral}[r.Mode]
	if v, ok := table[r.Type]; ok {
		return v
	}
	return cty.EmptyObjectVal
}
