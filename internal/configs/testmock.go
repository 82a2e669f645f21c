package configs

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

var (
	mockProviderSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "for_each"}, {Name: "source"},
			{Name: "override_during"}},
		Blocks: mockFileSchema.Blocks,
	}
	mockFileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "mock_resource", LabelNames: []string{"type"}}, {Type: "mock_data", LabelNames: []string{"type"}},
		{Type: "mock_ephemeral", LabelNames: []string{"type"}},
		{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_ephemeral"},
	}}
	mockDefaultsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "defaults"},
		{Name: "override_during"}}}
	overrideSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target", Required: true},
		{Name: "values"}, {Name: "override_during"}}}
	overrideModuleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target", Required: true},
		{Name: "outputs"}, {Name: "override_during"}}}
)

// mockExtensions lists the extensions of files with the blocks of mock providers.
var mockExtensions = extensions{{".tfmock.hcl", ""}, {".tfmock.json", ""}}

func newMockProvider(p *Provider) *MockProvider {
	return &MockProvider{Provider: p, Resources: map[string]MockDefaults{}, Data: map[string]MockDefaults{},
		Ephemeral: map[string]MockDefaults{}, byTarget: OverrideTable{}}
}

func (d *decoder) mockProvider(f *TestFile, block *hcl.Block) {
	m := newMockProvider(&Provider{Name: block.Labels[0], Config: hcl.EmptyBody(), NameRange: block.LabelRanges[0],
		Range: block.DefRange, Mock: true})
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
	m.During, m.source = d.mockTime(content.Attributes), content.Attributes["source"]
	d.mockBlocks(m, content.Blocks)
	if before := f.Mocks[m.Local()]; before != nil {
		d.duplicateProvider(m.Provider, before.Range)
		return
	}
	f.Mocks[m.Local()] = m
}

// mockTime decodes the argument override_during.
func (d *decoder) mockTime(attrs hcl.Attributes) MockTime {
	attr, ok := attrs["override_during"]
	if !ok {
		return MockUnset
	}
	switch hcl.ExprAsKeyword(attr.Expr) {
	case "plan":
		return MockInPlan
	case "apply":
		return MockInApply
	}
	d.errorf(attr.Expr.Range(), "Invalid \"override_during\" keyword",
		"The \"override_during\" argument must be one of the keywords plan and apply, without quotes.")
	return MockUnset
}

// mockBlocks decodes the blocks of a mock provider or of a mock file.
func (d *decoder) mockBlocks(m *MockProvider, blocks hcl.Blocks) {
	for _, inner := range blocks {
		switch inner.Type {
		case "mock_resource":
			d.mockDefaults(m, m.Resources, inner)
		case "mock_data":
			d.mockDefaults(m, m.Data, inner)
		case "mock_ephemeral":
			d.mockDefaults(m, m.Ephemeral, inner)
		default:
			before := len(m.Overrides)
			m.Overrides = d.testOverride(m.Overrides, inner)
			for _, o := range m.Overrides[before:] {
				if first := m.byTarget.Add(o); first != nil {
					d.errorf(m.Range, "Duplicated override", "%s is overridden twice for this provider, at %s and at %s.",
						o.Target, tfdiags.Place(first.TargetRange), tfdiags.Place(o.TargetRange))
				}
			}
		}
	}
}

func (d *decoder) mockDefaults(m *MockProvider, into map[string]MockDefaults, block *hcl.Block) {
	typ := block.Labels[0]
	if before, dup := into[typ]; dup {
		d.errorf(m.Range, "Duplicated "+block.Type+" block", "There are %s blocks for the type %q at %s and at %s.",
			block.Type, typ, tfdiags.Place(before.rng), tfdiags.Place(block.DefRange))
	}
	attrs := d.content(block.Body, mockDefaultsSchema).Attributes
	out := MockDefaults{Values: cty.EmptyObjectVal, During: d.mockTime(attrs), rng: block.DefRange}
	if attr, ok := attrs["defaults"]; ok {
		out.Values = d.constantObject(attr)
	}
	into[typ] = out
}

// addMockFiles adds the blocks of the mock files that a mock_provider block names as its source. Its own
// blocks take precedence. The source is relative to the root module or, if that has no such
// directory, to the directory of the test file.
func (p *Parser) addMockFiles(d *decoder, root string, m *MockProvider) {
	var source string
	if m.source == nil || !d.constant(m.source, &source) {
		return
	}
	dir := filepath.Join(root, filepath.FromSlash(source))
	entries, err := p.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Join(filepath.Dir(d.file.name), filepath.FromSlash(source))
		entries, err = p.fs.ReadDir(dir)
	}
	names := mockExtensions.among(entries)
	switch {
	case err != nil:
		d.errorf(m.source.Expr.Range(), "Mock files can't be read", "The source of a mock provider is a directory with "+
			"files *.tfmock.hcl or *.tfmock.json, relative to the root module: %s.", err)
	case len(names) == 0:
		d.errorf(m.source.Expr.Range(), "No mock files", "The directory %s has no files *.tfmock.hcl or *.tfmock.json.",
			dir)
	}
	shared := newMockProvider(m.Provider)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		inner := &decoder{file: &file{name: filepath.Join(dir, name)}, warn: d.warn}
		parsed, err := p.ParseFile(inner.file.name)
		inner.addError(err)
		if parsed != nil {
			inner.mockBlocks(shared, inner.content(parsed.Body, mockFileSchema).Blocks)
		}
		d.errs.Add(inner.errs...)
	}
	for _, tables := range [][2]map[string]MockDefaults{{m.Resources, shared.Resources}, {m.Data, shared.Data},
		{m.Ephemeral, shared.Ephemeral}} {
		own := maps.Clone(tables[0])
		maps.Copy(tables[0], tables[1])
		maps.Copy(tables[0], own)
	}
	for _, o := range shared.Overrides {
		if m.byTarget.at(o) == nil {
			m.Overrides = append(m.Overrides, o)
			m.byTarget.Add(o)
		}
	}
}

// testOverride decodes an override block.
func (d *decoder) testOverride(list []*Override, block *hcl.Block) []*Override {
	kind := overrideKinds[block.Type]
	schema, argument := overrideSchema, "values"
	if kind == OverrideModule {
		schema, argument = overrideModuleSchema, "outputs"
	}
	attrs := d.content(block.Body, schema).Attributes
	o := &Override{Kind: kind, Values: cty.EmptyObjectVal, During: d.mockTime(attrs), Range: block.DefRange}
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

// at returns the override that has the same target as o, or nil.
func (t OverrideTable) at(o *Override) *Override {
	return t[o.Target.Resource.In(o.Target.Module.Module())][o.Target.Key]
}

// Of returns the override of an instance or of its whole resource, or nil.
func (t OverrideTable) Of(addr addrs.AbsInstance) *Override {
	byKey := t[addr.Config()]
	if o := byKey[addr.Key]; o != nil {
		return o
	}
	return byKey[addrs.NoKey]
}

// Defaults returns the default attribute values for resources of r's type. Without defaults, the
// values are an empty object.
func (m *MockProvider) Defaults(r addrs.Resource) MockDefaults {
	if m == nil {
		return MockDefaults{Values: cty.EmptyObjectVal}
	}
	table := map[addrs.ResourceMode]map[string]MockDefaults{addrs.Managed: m.Resources, addrs.Data: m.Data,
		addrs.Ephemeral: m.Ephemeral}[r.Mode]
	out, ok := table[r.Type]
	if !ok {
		out.Values = cty.EmptyObjectVal
	}
	out.During = cmp.Or(out.During, m.During)
	return out
}
