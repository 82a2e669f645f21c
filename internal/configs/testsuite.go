package configs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// DefaultTestDirectory is the directory that is searched for tests in addition to the root
// module's.
const DefaultTestDirectory = "tests"

var testExtensions = extensions{
	{".tofutest.hcl", ".tftest.hcl"},
	{".tofutest.json", ".tftest.json"},
	{".tftest.hcl", ""},
	{".tftest.json", ""},
}

// TestFiles reads the test files in the root module's directory and in testDir, which is relative
// to the root module's directory. It ignores an absolute testDir with a warning. The result is
// sorted by name, and omits files that can't be read.
func (p *Parser) TestFiles(root, testDir string, warn tfdiags.Sink) ([]*TestFile, error) {
	names := p.listTests(root)
	var errs tfdiags.Diagnostics
	switch dir := filepath.Join(root, testDir); {
	case filepath.IsAbs(testDir):
		warn(tfdiags.Warningf("Test directory must be relative",
			"The test directory %s is ignored. Use a path relative to the directory of the root module.", testDir))
	case filepath.Clean(dir) == filepath.Clean(root):
	default:
		switch _, err := p.fs.ReadDir(dir); {
		case err == nil || filepath.Clean(testDir) == DefaultTestDirectory && errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrNotExist):
			warn(tfdiags.Warningf("Test directory does not exist",
				"The requested test directory %s does not exist.", testDir))
		default:
			errs.Add(tfdiags.Errorf("Test directory can't be read",
				"The test directory can't be read: %s.", err)) // err contains the path
		}
		names = append(names, p.listTests(dir)...)
	}
	slices.Sort(names)
	var out []*TestFile
	for _, name := range names {
		d := &decoder{file: &file{name: name}, warn: warn}
		source, err := p.ParseFile(name)
		d.addError(err)
		if source != nil {
			f := d.testFile(name, source.Body)
			for _, local := range slices.SortedFunc(maps.Keys(f.Mocks), addrs.LocalProviderConfig.Compare) {
				p.addMockFiles(d, root, f.Mocks[local])
			}
			out = append(out, f)
		}
		errs.Add(d.errs...)
	}
	return out, errs.Err()
}

// listTests returns the paths of the test files in a directory, in no particular order.
func (p *Parser) listTests(dir string) []string {
	entries, err := p.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil // the caller reports the error if necessary
	}
	var out []string
	for name := range testExtensions.among(entries) {
		out = append(out, filepath.Join(dir, name))
	}
	return out
}

// testModulePath returns the path of a run's module in the modules manifest: "test", the file's
// path without extension, and the run's name.
func testModulePath(file, run string) addrs.Module {
	path := addrs.Module("test")
	for part := range strings.SplitSeq(filepath.ToSlash(strings.TrimSuffix(file, testExtensions.of(file))), "/") {
		path = path.Child(part)
	}
	return path.Child(run)
}

// Request evaluates the module source of a run, which must be constant. Local sources are relative
// to root.
func (m *TestModule) Request(root *Config) (*ModuleRequest, error) {
	req, err := root.request(m.Call)
	if err != nil {
		return nil, err
	}
	req.Path = m.Path
	return req, nil
}

// Within returns a resolver for a configuration other than the root module. The modules of this
// configuration are installed below path.
func (r Resolver) Within(path addrs.Module) Resolver {
	return func(ctx context.Context, req *ModuleRequest) (ResolvedModule, error) {
		below := *req
		below.Path = addrs.Module(strings.Join(append(path.Names(), req.Path.Names()...), "."))
		return r(ctx, &below)
	}
}

// Overlay changes a configuration while it is loaded, for tests.
type Overlay struct {
	// Providers replace the root module's provider configurations with the same names.
	Providers []*Provider
	// Outputs replaces modules: the modules in it are not evaluated and have the given outputs, by
	// name.
	Outputs map[addrs.Module]map[string]cty.Value
	// Unprotected removes what could keep objects from being destroyed: prevent_destroy arguments and
	// the validation rules of variables.
	Unprotected bool
}

// root returns the root module with the overlay's provider configurations, unprotected if
// o.Unprotected is set.
func (o *Overlay) root(m *Module) *Module {
	if o == nil {
		return m
	}
	m = o.unprotected(m)
	if len(o.Providers) == 0 {
		return m
	}
	out := *m
	out.Providers, out.LocalNames = maps.Clone(m.Providers), maps.Clone(m.LocalNames)
	for _, p := range o.Providers {
		configured := *p
		configured.Provider = m.ProviderByLocalName(p.Name)
		out.Providers[configured.Local()] = &configured
		if _, ok := out.LocalNames[configured.Provider]; !ok {
			out.LocalNames[configured.Provider] = p.Name
		}
	}
	return &out
}

// module returns a called module, changed by the overlay. If the overlay has outputs for the module,
// the result has only variables without validations, and outputs. Outputs that the overlay omits
// are null.
func (o *Overlay) module(path addrs.Module, m *Module) *Module {
	if o == nil {
		return m
	}
	if o.Outputs[path] == nil {
		return o.unprotected(m)
	}
	out := &Module{
		Dir: m.Dir, RequiredProviders: m.RequiredProviders, LocalNames: m.LocalNames, Variables: withoutRules(m.Variables),
		Outputs: map[string]*Output{},
		Files:   m.Files, arguments: m.arguments,
	}
	for name, output := range m.Outputs {
		value, ok := o.Outputs[path][name]
		if !ok {
			value = cty.NullVal(cty.DynamicPseudoType)
		}
		plain := *output
		plain.Expr, plain.Preconditions, plain.DependsOn = hcl.StaticExpr(value, output.Range), nil, nil
		out.Outputs[name] = &plain
	}
	return out
}

// withoutRules returns variables without their validation rules.
func withoutRules(variables map[string]*Variable) map[string]*Variable {
	out := make(map[string]*Variable, len(variables))
	for name, v := range variables {
		plain := *v
		plain.Validations = nil
		out[name] = &plain
	}
	return out
}

// unprotected returns the module without what o.Unprotected removes.
func (o *Overlay) unprotected(m *Module) *Module {
	if !o.Unprotected {
		return m
	}
	out := *m
	out.Variables = withoutRules(m.Variables)
	out.Resources = make(map[addrs.Resource]*Resource, len(m.Resources))
	for addr, r := range m.Resources {
		if r.Lifecycle.PreventDestroy != nil {
			plain, lifecycle := *r, *r.Lifecycle
			lifecycle.PreventDestroy = nil
			plain.Lifecycle = &lifecycle
			r = &plain
		}
		out.Resources[addr] = r
	}
	return &out
}
