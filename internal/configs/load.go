package configs

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// LoadOptions say what loading needs besides the directory; nil means a new parser, no variables and no installed modules.
type LoadOptions struct {
	Parser *Parser // nil: a new one that reads the machine's files
	// Resolve finds the directory of a module call; nil finds none.
	Resolve Resolver
	// Variables are the root values as they were given. Static evaluation converts the ones it needs.
	Variables map[string]Given
	// Ask is asked for a required root variable without a value that static evaluation needs; nil: such a one is an error. Answers
	// are added to Variables, unless that is nil, so that nobody is asked twice.
	Ask func(*Variable) (Given, error)

	Workspace string // terraform.workspace; "" means "default"
	WorkDir   string // path.cwd: where the command was started

	Overlay *Overlay // nil: the configuration as it is
	// Called: the module is only looked at as if it was called, so that rules for root modules don't apply.
	Called bool
}

// A Resolver finds, or installs, the module of a call. The directory is empty if there is nothing to load.
type Resolver func(context.Context, *ModuleRequest) (ResolvedModule, tfdiags.Diagnostics)

// ResolvedModule is the module that a call refers to.
type ResolvedModule struct {
	Dir     string
	Version string // "" if the source has no versions
}

// ModuleRequest is an evaluated module call.
type ModuleRequest struct {
	Path   addrs.Module // of the called module
	Parent *Config
	Call   *ModuleCall
	// Source is the zero ModuleSource when it could not be evaluated; diagnostics say why.
	Source       addrs.ModuleSource
	SourceText   string // the source as it was given
	Version      string // constraints as written; "" for none
	Constraints  constraints.IntersectionSpec
	VersionRange hcl.Range
}

// LoadRoot loads the root module in dir and everything it calls. The configuration is usable for reports even with errors; it is nil
// only when the directory can't be read.
func LoadRoot(ctx context.Context, dir string, opts *LoadOptions) (*Config, tfdiags.Diagnostics) {
	if opts == nil {
		opts = &LoadOptions{}
	}
	root, diags := loadRootModule(dir, opts)
	if root == nil || diags.HasErrors() {
		return root, diags
	}
	l := &loader{opts: opts, parser: root.static.env.parser}
	diags = append(diags, l.tree(ctx, root)...)
	if !diags.HasErrors() && !opts.Called { // in an incomplete tree much looks as if it was missing
		diags = append(diags, root.checkProviders()...)
	}
	return root, diags
}

// LoadRootModule loads the root module alone, for what has to be known before modules are installed: backend, encryption, variables,
// static values. The configuration has no children.
func LoadRootModule(dir string, opts *LoadOptions) (*Config, tfdiags.Diagnostics) {
	if opts == nil {
		opts = &LoadOptions{}
	}
	return loadRootModule(dir, opts)
}

func loadRootModule(dir string, opts *LoadOptions) (*Config, tfdiags.Diagnostics) {
	parser := opts.Parser
	if parser == nil {
		parser = NewParser(nil)
	}
	module, diags := parser.Module(dir)
	if module == nil {
		return nil, diags
	}
	root := &Config{Module: opts.Overlay.root(module), Children: map[string]*Config{}, Called: opts.Called}
	root.Root = root
	root.static = newStaticScope(root, newStaticEnv(parser, module.Dir, opts))
	return root, slices.Concat(diags, root.evaluateStatics())
}

// A module may call itself with other variables, but nothing makes sure that this ends.
const (
	maxRecursion = 8   // how often one directory may appear on the way from the root to a module
	maxSelfCalls = 256 // how many modules of a tree may lie below a module of the same directory
)

type loader struct {
	opts      *LoadOptions
	parser    *Parser
	selfCalls int
}

// tree loads the modules that cfg calls, and what they call.
func (l *loader) tree(ctx context.Context, cfg *Config) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(cfg.Module.Calls)) {
		child, more := l.child(ctx, cfg, cfg.Module.Calls[name])
		diags = append(diags, more...)
		if child != nil {
			cfg.Children[name] = child
			diags = append(diags, l.tree(ctx, child)...)
		}
	}
	return diags
}

// child loads the module of one call, without its own calls; nil when there is nothing to load.
func (l *loader) child(ctx context.Context, parent *Config, call *ModuleCall) (*Config, tfdiags.Diagnostics) {
	req := parent.requests[call.Name]
	if req == nil || l.opts.Resolve == nil {
		return nil, notInstalled(call, "").List()
	}
	found, diags := l.opts.Resolve(ctx, req)
	dir := found.Dir
	if diags.HasErrors() || dir == "" {
		return nil, diags
	}
	cfg := &Config{
		Path: req.Path, Root: parent.Root, Parent: parent, Call: call, Children: map[string]*Config{},
		Source: req.Source.String(), SourceText: req.SourceText, Version: found.Version,
	}
	recursion := cfg.recursion(filepath.Clean(dir))
	if recursion > 0 {
		l.selfCalls++
	}
	if recursion > maxRecursion || l.selfCalls > maxSelfCalls {
		return nil, append(diags, tfdiags.Errorf("Module calls itself",
			"The module in %s calls itself without end. Change the source, or make it depend on a variable so that the calls end.", dir).At(call.Range))
	}
	module, more := l.parser.Module(dir)
	if module == nil {
		return nil, append(diags, notInstalled(call, dir))
	}
	cfg.Module = l.opts.Overlay.module(cfg.Path, module)
	cfg.static = newStaticScope(cfg, parent.static.env)
	diags = slices.Concat(diags, more, cfg.childRules(), cfg.evaluateStatics())
	return cfg, diags
}

// recursion counts the modules on the way to c that are in that directory.
func (c *Config) recursion(dir string) int {
	n := 0
	for p := c.Parent; p != nil; p = p.Parent {
		if p.Module.Dir == dir {
			n++
		}
	}
	return n
}

// RunInit says how modules get where they are missing.
const RunInit = "Run \"tofu init\", which installs the modules."

func notInstalled(call *ModuleCall, dir string) tfdiags.Diagnostic {
	if dir != "" {
		return tfdiags.Errorf("Module not installed",
			"The directory %s of the module can't be read. %s", dir, RunInit).At(call.Range)
	}
	return tfdiags.Errorf("Module not installed",
		"The directory has no copy of the module yet. %s", RunInit).At(call.Range)
}

// childRules says what is of no use or wrong in a module that is called.
func (c *Config) childRules() tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	if b := c.Module.Backend; b != nil {
		diags = append(diags, tfdiags.Warningf("Backend configuration ignored",
			"The backend of the root module serves the whole configuration, so the one in %s has no effect.", c.Path).At(b.Range))
	}
	if b := c.Module.Cloud; b != nil {
		diags = append(diags, tfdiags.Warningf("Cloud configuration ignored",
			"The cloud block of the root module serves the whole configuration, so the one in %s has no effect.", c.Path).At(b.Range))
	}
	if len(c.Module.Imports) > 0 {
		diags = append(diags, tfdiags.Errorf("Invalid import configuration",
			"There is an import block in %s. Move it to the root module, and put the module's path before the resource's address.", c.Path).At(c.Module.Imports[0].Range))
	}
	return diags
}

// request evaluates the source and version of a call.
func (c *Config) request(call *ModuleCall) (*ModuleRequest, tfdiags.Diagnostics) {
	req := &ModuleRequest{Path: c.Path.Child(call.Name), Parent: c, Call: call}
	name := addrs.ModuleCall{Name: call.Name}.String()
	var diags tfdiags.Diagnostics
	if call.VersionExpr != nil {
		diags = c.requestVersion(req, name)
	}
	if call.SourceExpr == nil {
		return req, diags
	}
	v, more := c.StaticEval(call.SourceExpr, cty.String, name+".source")
	diags = append(diags, more...)
	if more.HasErrors() || !v.IsKnown() {
		return req, diags
	}
	if v.IsNull() {
		return req, append(diags, tfdiags.Errorf("Unsuitable value type", "Unsuitable value: the source must not be null.").At(call.SourceRange))
	}
	source, err := addrs.ParseModuleSource(v.AsString(), req.Version != "" || versionFailed(call, diags))
	if err != nil {
		return req, append(diags, tfdiags.Errorf("Invalid module source address", "%s", tfdiags.Sentence(err)).At(call.SourceRange))
	}
	req.Source, req.SourceText = source, v.AsString()
	return req, diags
}

// versionFailed tells whether there is a version argument that could not be evaluated: the source is then of a registry all the same.
func versionFailed(call *ModuleCall, diags tfdiags.Diagnostics) bool {
	return call.VersionExpr != nil && diags.HasErrors()
}

// versionPrefix is the "v" that people write before versions of modules, as tags of repositories have it.
var versionPrefix = regexp.MustCompile(`\bv(\d)`)

func (c *Config) requestVersion(req *ModuleRequest, name string) tfdiags.Diagnostics {
	req.VersionRange = req.Call.VersionExpr.Range()
	v, diags := c.StaticEval(req.Call.VersionExpr, cty.DynamicPseudoType, name+".version")
	if diags.HasErrors() || v.IsNull() {
		return diags
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || !v.IsKnown() {
		return append(diags, tfdiags.Errorf("Invalid version constraint", "The version must be a string.").At(req.VersionRange))
	}
	spec, err := ParseConstraints(versionPrefix.ReplaceAllString(v.AsString(), "$1"))
	if err != nil {
		return append(diags, tfdiags.Errorf("Invalid version constraint",
			badConstraint, v.AsString()).At(req.VersionRange))
	}
	req.Version, req.Constraints = v.AsString(), spec
	return diags
}

// LocalDir is the directory that a local source means, seen from the calling module.
func (req *ModuleRequest) LocalDir() string {
	return filepath.Join(req.Parent.Module.Dir, filepath.FromSlash(req.Source.Address))
}

// Describe names a call and its place for messages that have no range.
func (req *ModuleRequest) Describe() string {
	return fmt.Sprintf("module %q at %s", strings.TrimPrefix(req.Path.String(), "module."), tfdiags.Place(req.Call.Range))
}

// AllModules calls yield for c and every module below it, callers before what they call, siblings by name, until yield says no.
func (c *Config) AllModules() func(yield func(*Config) bool) {
	return func(yield func(*Config) bool) { c.each(yield) }
}

func (c *Config) each(yield func(*Config) bool) bool {
	if !yield(c) {
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(c.Children)) {
		if !c.Children[name].each(yield) {
			return false
		}
	}
	return true
}

// Descendant gives the module at a path of the tree that c is part of; nil when there is none.
func (c *Config) Descendant(path addrs.Module) *Config {
	at := c.Root
	for _, name := range path.Names() {
		if at = at.Children[name]; at == nil {
			return nil
		}
	}
	return at
}
