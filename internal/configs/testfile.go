package configs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// TestFile is the decoded content of a test file, such as main.tftest.hcl.
type TestFile struct {
	Name      string // path relative to the working directory
	Variables map[string]hcl.Expression
	// Declared are the variables from outside that the file declares.
	Declared map[string]*Variable
	// Providers are provider configurations for the modules under test, by their names in those
	// modules.
	Providers map[addrs.LocalProviderConfig]*Provider
	// Mocks are mocked provider configurations. They take precedence over Providers.
	Mocks     map[addrs.LocalProviderConfig]*MockProvider
	Overrides []*Override
	Runs      []*TestRun // run blocks in source order; names may repeat

	// parallel and skipCleanup are the values of runs without these arguments.
	parallel, skipCleanup bool
}

// TestRun is a run block: one plan or apply, and assertions on the result.
type TestRun struct {
	Name      string
	Plan      bool // whether the run only plans (command = plan)
	Options   TestOptions
	Variables map[string]hcl.Expression
	Module    *TestModule // the module under test; nil for the root module
	// Providers maps provider configurations of the module to those of the test file.
	Providers      Opt[[]PassedProvider]
	Asserts        []*CheckRule
	ExpectFailures []hcl.Traversal // objects whose conditions are expected to fail
	Overrides      []*Override
	// StateKey names the state of the run; runs with the same key share one. Without it, the runs of a
	// module share one.
	StateKey string
	// Parallel says that the run may be executed at the same time as its neighbors that are parallel,
	// too.
	Parallel bool
	// SkipCleanup says that the objects of the run's state are kept if the run was the last to change it.
	SkipCleanup bool
	Backend     *Backend // where the state of the run is kept; nil for a state that begins empty
	Range       hcl.Range
}

// TestOptions holds the plan_options of a run. Addresses are resolved when the run starts.
type TestOptions struct {
	RefreshOnly, SkipRefresh bool
	Targets, Replace         []hcl.Traversal
}

// TestModule is a module that a run block tests instead of the root module.
type TestModule struct {
	Call *ModuleCall // source and version
	Path addrs.Module
}

// OverrideKind is the kind of object that an override replaces.
type OverrideKind uint8

const (
	OverrideResource  OverrideKind = iota // instances of a managed resource
	OverrideData                          // results of a data source
	OverrideModule                        // outputs of a module
	OverrideEphemeral                     // results of an ephemeral resource
)

// Override is an override_resource, override_data, override_ephemeral or override_module block.
type Override struct {
	Kind        OverrideKind
	Target      addrs.Target // address without module instance keys
	Values      cty.Value    // an object; empty if not set
	During      MockTime
	TargetRange hcl.Range
	Range       hcl.Range
}

// MockTime says when the values of mocked resources become known.
type MockTime uint8

const (
	MockUnset   MockTime = iota // as the enclosing block says; without one, in the plan
	MockInPlan                  // planned values are known
	MockInApply                 // what providers compute is unknown in the plan of a creation
)

// MockProvider is a mock_provider block, with default values and overrides for its resources.
type MockProvider struct {
	*Provider
	Resources map[string]MockDefaults // by resource type
	Data      map[string]MockDefaults
	Ephemeral map[string]MockDefaults
	Overrides []*Override
	During    MockTime

	byTarget OverrideTable
	source   *hcl.Attribute // directory of mock files; nil if not set
}

// MockDefaults holds the default attribute values of a resource type.
type MockDefaults struct {
	Values cty.Value // an object
	During MockTime
	rng    hcl.Range
}

var (
	testFileSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "run", LabelNames: []string{"name"}}, {Type: "variables"},
		{Type: "variable", LabelNames: []string{"name"}}, {Type: "provider", LabelNames: []string{"name"}},
		{Type: "mock_provider", LabelNames: []string{"name"}}, {Type: "override_resource"}, {Type: "override_data"},
		{Type: "override_ephemeral"}, {Type: "override_module"}, {Type: "test"},
	}}
	testBlockSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "parallel"},
		{Name: "skip_cleanup"}}}
	testRunSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "command"}, {Name: "providers"}, {Name: "expect_failures"},
			{Name: "state_key"}, {Name: "parallel"}, {Name: "skip_cleanup"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "plan_options"}, {Type: "assert"}, {Type: "variables"}, {Type: "module"},
			{Type: "backend", LabelNames: []string{"type"}},
			{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_ephemeral"}, {Type: "override_module"},
		},
	}
	testOptionsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "mode"}, {Name: "refresh"},
		{Name: "replace"}, {Name: "target"}}}
	testModuleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source", Required: true},
		{Name: "version"}}}
)

// overrideKinds maps block types to kinds.
var overrideKinds = map[string]OverrideKind{"override_resource": OverrideResource, "override_data": OverrideData,
	"override_ephemeral": OverrideEphemeral, "override_module": OverrideModule}

// testFile decodes the body of a test file.
func (d *decoder) testFile(name string, body hcl.Body) *TestFile {
	f := &TestFile{Name: name, Declared: map[string]*Variable{}, Providers: map[addrs.LocalProviderConfig]*Provider{},
		Mocks: map[addrs.LocalProviderConfig]*MockProvider{}}
	var variables, settings once
	content := d.content(body, testFileSchema)
	for _, block := range content.Blocks.OfType("test") {
		if settings.accept(d, block, "Multiple \"test\" blocks", "This test file") {
			attrs := d.content(block.Body, testBlockSchema).Attributes
			if attr, ok := attrs["parallel"]; ok {
				d.constant(attr, &f.parallel)
			}
			if attr, ok := attrs["skip_cleanup"]; ok {
				d.constant(attr, &f.skipCleanup)
			}
		}
	}
	for _, block := range content.Blocks {
		switch block.Type {
		case "test": // decoded above, because runs depend on it
		case "run":
			if run := d.testRun(f, block); run != nil {
				f.Runs = append(f.Runs, run)
			}
		case "variables":
			if variables.accept(d, block, "Multiple \"variables\" blocks", "This test file") {
				f.Variables = d.testVariables(block)
			}
		case "variable":
			decodeVariable(d, block)
		case "provider":
			d.testProvider(f, block)
		case "mock_provider":
			d.mockProvider(f, block)
		default:
			f.Overrides = d.testOverride(f.Overrides, block)
		}
	}
	for _, v := range d.file.variables {
		if before := f.Declared[v.Name]; before != nil {
			d.errorf(v.Range, "Duplicate variable declaration", "This test file has already declared a variable named %q, at %s.",
				v.Name, tfdiags.Place(before.Range))
			continue
		}
		f.Declared[v.Name] = v
	}
	return f
}

func (d *decoder) testVariables(block *hcl.Block) map[string]hcl.Expression {
	attrs, diags := block.Body.JustAttributes()
	d.addHCL(diags)
	out := make(map[string]hcl.Expression, len(attrs))
	for name, attr := range attrs {
		out[name] = attr.Expr
	}
	return out
}

func (d *decoder) testRun(file *TestFile, block *hcl.Block) *TestRun {
	run := &TestRun{Name: block.Labels[0], Range: block.DefRange, Parallel: file.parallel,
		SkipCleanup: file.skipCleanup}
	if !d.identifier(run.Name, block.LabelRanges[0], "run block name") {
		return nil
	}
	content := d.content(block.Body, testRunSchema)
	if attr, ok := content.Attributes["command"]; ok {
		switch hcl.ExprAsKeyword(attr.Expr) {
		case "apply":
		case "plan":
			run.Plan = true
		default:
			d.errorf(attr.Expr.Range(), "Invalid \"command\" keyword",
				"The \"command\" argument must be one of the keywords apply and plan, without quotes.")
		}
	}
	if attr, ok := content.Attributes["parallel"]; ok {
		d.constant(attr, &run.Parallel)
	}
	if attr, ok := content.Attributes["skip_cleanup"]; ok {
		d.constant(attr, &run.SkipCleanup)
	}
	if attr, ok := content.Attributes["state_key"]; ok && d.constant(attr, &run.StateKey) && run.StateKey == "" {
		d.errorf(attr.Expr.Range(), "Invalid \"state_key\"", "The key of a state must not be empty. Leave the argument "+
			"out to use the state of the module.")
	}
	if attr, ok := content.Attributes["providers"]; ok {
		run.Providers = Opt[[]PassedProvider]{Value: d.passedProviders(attr), Set: true}
	}
	if attr, ok := content.Attributes["expect_failures"]; ok {
		run.ExpectFailures = d.traversals(attr)
	}
	var options, variables, module, store once
	for _, inner := range content.Blocks {
		switch inner.Type {
		case "plan_options":
			if options.accept(d, inner, "Multiple \"plan_options\" blocks", "This run") {
				run.Options = d.testOptions(inner)
			}
		case "backend":
			if store.accept(d, inner, "Duplicate backend blocks", "This run") {
				run.Backend = newBackend(inner)
			}
		case "assert":
			if rule, ok := d.checkRule(inner); ok {
				run.Asserts = append(run.Asserts, rule)
			}
		case "variables":
			if variables.accept(d, inner, "Multiple \"variables\" blocks", "This run") {
				run.Variables = d.testVariables(inner)
			}
		case "module":
			if module.accept(d, inner, "Multiple \"module\" blocks", "This run") {
				run.Module = d.testModule(file.Name, run.Name, inner)
			}
		default:
			run.Overrides = d.testOverride(run.Overrides, inner)
		}
	}
	return run
}

func (d *decoder) testOptions(block *hcl.Block) TestOptions {
	var o TestOptions
	attrs := d.content(block.Body, testOptionsSchema).Attributes
	if attr, ok := attrs["mode"]; ok {
		switch hcl.ExprAsKeyword(attr.Expr) {
		case "normal":
		case "refresh-only":
			o.RefreshOnly = true
		default:
			d.errorf(attr.Expr.Range(), "Invalid \"mode\" keyword",
				"The \"mode\" argument must be one of the keywords normal and refresh-only, without quotes.")
		}
	}
	if attr, ok := attrs["refresh"]; ok {
		refresh := true
		d.constant(attr, &refresh)
		o.SkipRefresh = !refresh
		if o.SkipRefresh && o.RefreshOnly {
			d.errorf(attr.Range, "Incompatible plan options",
				"A refresh-only plan without refresh would do nothing. Remove refresh = false or mode = "+
					"refresh-only.")
		}
	}
	if attr, ok := attrs["target"]; ok {
		o.Targets = d.traversals(attr)
	}
	if attr, ok := attrs["replace"]; ok {
		o.Replace = d.traversals(attr)
	}
	return o
}

// testModule decodes a run's module block. The module's path in the modules manifest consists of
// the name of the file and the name of the run.
func (d *decoder) testModule(file, run string, block *hcl.Block) *TestModule {
	attrs := d.content(block.Body, testModuleSchema).Attributes
	call := &ModuleCall{Name: run, Config: hcl.EmptyBody(), Range: block.DefRange}
	if attr, ok := attrs["source"]; ok {
		call.SourceExpr, call.SourceRange = attr.Expr, attr.Expr.Range()
	}
	if attr, ok := attrs["version"]; ok {
		call.VersionExpr = attr.Expr
	}
	return &TestModule{Call: call, Path: testModulePath(file, run)}
}

// testProvider decodes a provider block. Names in it are resolved in the module that the run tests.
func (d *decoder) testProvider(f *TestFile, block *hcl.Block) {
	inner := &decoder{file: &file{}, warn: d.warn}
	decodeProvider(inner, block)
	d.errs.Add(inner.errs...)
	for _, p := range inner.file.providers {
		if before := f.Providers[p.Local()]; before != nil {
			d.duplicateProvider(p, before.Range)
			continue
		}
		f.Providers[p.Local()] = p
	}
}

func (d *decoder) duplicateProvider(p *Provider, before hcl.Range) {
	d.errorf(p.Range, "Duplicate provider configuration",
		"This file already has a configuration of the provider %s at %s.", p.Local(), tfdiags.Place(before))
}
