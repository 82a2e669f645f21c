package configs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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

// LoadOptions configures loading. A nil *LoadOptions means a new parser, no variables and no
// installed modules.
type LoadOptions struct {
	Parser *Parser // nil means a new parser that reads the operating system's files
	// Part selects what is read of the root module. LoadRoot needs at least all of it.
	Part Part
	// Resolve finds the directory of a module call; nil means that no module is installed.
	Resolve Resolver
	// Variables holds the values set for root module variables. Static evaluation converts the
	// values that it needs.
	Variables map[string]Given
	// Incomplete is the reason why Variables may lack values or have wrong ones, or nil. Static
	// evaluation returns it instead of the value of any root module variable.
	Incomplete error
	// Ask prompts for a required root module variable that static evaluation needs. If Variables is
	// not nil, the answer is added to it, so that the user is asked only once. If Ask is nil, a
	// missing value is an error.
	Ask func(*Variable) (Given, error)
	// Unset makes root module variables without a value unknown in static evaluation, for commands
	// that show a configuration without evaluating it. Nobody is asked for a value.
	Unset bool
	// Moves evaluates moved blocks with for_each even if a root variable has no value, which is then asked
	// for. Without it, such blocks are ignored until all variables have values.
	Moves bool

	Workspace string // terraform.workspace; "" means "default"
	WorkDir   string // path.cwd: the directory in which the command was started
	// Base is the directory to which paths in the configuration are relative; "" means the working
	// directory. The directory of the root module, and the directories that Resolve returns, are
	// relative to the working directory, not to Base.
	Base string

	// Read, if not nil, is called with the path of each file that static evaluation reads; see funcs.Options.
	Read func(path string)

	// InitCommand is the command that installs modules, for advice; "" means "tofu init".
	InitCommand string

	Overlay *Overlay // nil means no changes
	// Called loads the module as if another module called it, so the rules for root modules don't
	// apply.
	Called bool
}

// A Resolver finds, or installs, the module of a call. If it returns an empty Dir, the module is
// not loaded.
type Resolver func(context.Context, *ModuleRequest) (ResolvedModule, error)

// ResolvedModule is the module that a call refers to.
type ResolvedModule struct {
	Dir     string
	Version string // "" if the source has no versions
}

// ModuleRequest is an evaluated module call.
type ModuleRequest struct {
	Path   addrs.Module // path of the called module
	Parent *Config
	Call   *ModuleCall
	// Source is zero if it could not be evaluated. Loading reports the error.
	Source       addrs.ModuleSource
	SourceText   string // the source as written
	Version      string // constraints as written; "" if absent
	Constraints  constraints.IntersectionSpec
	VersionRange hcl.Range
	// Unknown reports whether the source or the version depends on a variable without a value; see
	// LoadOptions.Unset.
	Unknown bool

	initCommand string // see LoadOptions
}

// RunInit returns the last sentence of a message, which advises the user to install modules.
func (r *ModuleRequest) RunInit() string {
	return fmt.Sprintf("Run %q, which installs the modules.", cmp.Or(r.initCommand, "tofu init"))
}

// RelativeDir returns dir relative to base. Both arguments are relative to the working directory.
// It returns dir unchanged if base is "" or dir is absolute.
func RelativeDir(base, dir string) string {
	if base == "" || filepath.IsAbs(dir) {
		return dir
	}
	rel, err := filepath.Rel(base, dir)
	if err != nil {
		return dir
	}
	return rel
}

// LoadRoot loads the root module in dir and all modules below it. Even if there are errors, the
// result can be used for reports; it is nil only if the directory can't be read.
func LoadRoot(ctx context.Context, dir string, opts *LoadOptions, warn tfdiags.Sink) (*Config, error) {
	root, err := LoadRootModule(dir, opts, warn)
	if root == nil {
		return nil, err
	}
	if opts == nil {
		opts = &LoadOptions{}
	}
	if err == nil && len(root.Module.dynamic) > 0 {
		var resolved *Module
		resolved, err = root.withRequirements(root.Module, opts.Part)
		root.Module = opts.Overlay.root(resolved)
	}
	if err := tfdiags.Join(err, root.evaluateLate(), root.EvaluateStatics()); err != nil {
		return root, err
	}
	l := &loader{opts: opts, parser: root.static.env.parser, warn: warn}
	// The providers of an incomplete tree are not checked, because that would cause follow-up errors.
	// The rules for the providers of root modules don't apply to called modules.
	if err := l.tree(ctx, root); err != nil || opts.Called {
		return root, err
	}
	return root, root.checkProviders(warn)
}

// LoadRootModule loads only the root module, for settings that are needed before modules are
// installed: backend, encryption and variables. The result has no children, and nothing in it is
// evaluated yet, so no variable needs a value. It is nil only if the directory can't be read.
func LoadRootModule(dir string, opts *LoadOptions, warn tfdiags.Sink) (*Config, error) {
	if opts == nil {
		opts = &LoadOptions{}
	}
	parser := opts.Parser
	if parser == nil {
		parser = NewParser(nil)
	}
	module, err := parser.module(moduleKey{dir: dir, part: opts.Part}, warn)
	if module == nil {
		return nil, err
	}
	return newRoot(opts.Overlay.root(module), parser, opts), err
}

func newRoot(module *Module, parser *Parser, opts *LoadOptions) *Config {
	root := &Config{Module: module, Children: map[string]*Config{}, Called: opts.Called}
	root.Root = root
	root.static = newStaticScope(root, newStaticEnv(parser, module.Dir, opts))
	return root
}

// OnlyVariables returns a root module in dir that has only the given variables. opts.Parser must be set.
func OnlyVariables(dir string, variables map[string]*Variable, opts *LoadOptions) *Config {
	return newRoot(&Module{Dir: dir, Variables: variables}, opts.Parser, opts)
}

// A module may call itself with different variables. These limits stop endless recursion.
const (
	maxRecursion = 8   // maximum number of modules above a module that have the same directory
	maxSelfCalls = 256 // maximum number of modules in a tree that have a module with the same directory above them
)

type loader struct {
	opts      *LoadOptions
	parser    *Parser
	selfCalls int
	warn      tfdiags.Sink
}

// tree loads the modules below cfg.
func (l *loader) tree(ctx context.Context, cfg *Config) error {
	var errs tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(cfg.Module.Calls)) {
		child, err := l.child(ctx, cfg, cfg.Module.Calls[name])
		errs = errs.AppendError(err)
		if child != nil {
			cfg.Children[name] = child
			errs = errs.AppendError(l.tree(ctx, child))
		}
	}
	return errs.Err()
}

// child loads the module of one call, but not the modules that it calls in turn. It returns nil if
// the module can't be loaded, or if the resolver returns no directory. A module with errors is
// returned together with an error, because the modules that it calls must be loaded as well.
func (l *loader) child(ctx context.Context, parent *Config, call *ModuleCall) (*Config, error) {
	req := parent.requests[call.Name]
	if req == nil {
		req = &ModuleRequest{Call: call}
	}
	req.initCommand = l.opts.InitCommand
	if req.Parent == nil || l.opts.Resolve == nil {
		return nil, notInstalled(req, "")
	}
	found, err := l.opts.Resolve(ctx, req)
	dir := found.Dir
	if err != nil || dir == "" {
		return nil, err
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
		return nil, tfdiags.Errorf("Module calls itself",
			"The module in %s calls itself too many times, directly or through other modules. Change the source, or "+
				"make it depend on a variable that ends the recursion sooner.", dir).At(call.Range)
	}
	module, err := l.parser.Module(dir, l.warn)
	if module == nil {
		return nil, notInstalled(req, dir)
	}
	cfg.Module = l.opts.Overlay.module(cfg.Path, module)
	cfg.static = newStaticScope(cfg, parent.static.env)
	if len(module.dynamic) > 0 {
		resolved, more := cfg.withRequirements(module, Whole)
		cfg.Module, err = l.opts.Overlay.module(cfg.Path, resolved), tfdiags.Join(err, more)
	}
	err = tfdiags.Join(err, cfg.evaluateLate())
	cfg.checkCalledModule(l.warn)
	return cfg, tfdiags.Join(err, cfg.EvaluateStatics())
}

// recursion returns the number of modules above c whose directory is dir.
func (c *Config) recursion(dir string) int {
	n := 0
	for p := c.Parent; p != nil; p = p.Parent {
		if p.Module.Dir == dir {
			n++
		}
	}
	return n
}

func notInstalled(req *ModuleRequest, dir string) tfdiags.Diagnostic {
	switch {
	case dir != "" && req.Source.Kind == addrs.LocalModule:
		return tfdiags.Errorf("Module not installed",
			"The directory %s of the module can't be read. Check the source, and whether the directory is readable.",
			dir).At(req.Call.Range)
	case dir != "":
		return tfdiags.Errorf("Module not installed",
			"The directory %s of the module can't be read. %s", dir, req.RunInit()).At(req.Call.Range)
	}
	return tfdiags.Errorf("Module not installed",
		"This module is not yet installed. %s", req.RunInit()).At(req.Call.Range)
}

// checkCalledModule warns about settings that have no effect in a called module.
func (c *Config) checkCalledModule(warn tfdiags.Sink) {
	if b := c.Module.Backend; b != nil {
		warn(tfdiags.Warningf("Backend configuration ignored",
			"Only the backend of the root module is used, so the backend block in %s has no effect.",
			c.Path).At(b.Range))
	}
	if b := c.Module.Cloud; b != nil {
		warn(tfdiags.Warningf("Cloud configuration ignored",
			"Only the cloud block of the root module is used, so the one in %s has no effect.", c.Path).At(b.Range))
	}
}

// request evaluates the source and version of a module call.
func (c *Config) request(call *ModuleCall) (*ModuleRequest, error) {
	req := &ModuleRequest{Path: c.Path.Child(call.Name), Parent: c, Call: call}
	name := addrs.ModuleCall{Name: call.Name}.String()
	var versionErr error
	if call.VersionExpr != nil {
		versionErr = c.requestVersion(req, name)
	}
	if call.SourceExpr == nil {
		return req, versionErr
	}
	v, err := c.StaticEval(call.SourceExpr, cty.String, name+".source")
	if err != nil || !v.IsKnown() {
		req.Unknown = err == nil
		return req, tfdiags.Join(versionErr, err)
	}
	if v.IsNull() {
		return req, tfdiags.Join(versionErr, tfdiags.Errorf("Unsuitable value type",
			"Unsuitable value: the source must not be null.").At(call.SourceRange))
	}
	// A version argument that can't be evaluated still means that the source is a registry address.
	source, err := addrs.ParseModuleSource(v.AsString(), req.Version != "" || versionErr != nil || req.Unknown)
	if err != nil {
		return req, tfdiags.Join(versionErr, tfdiags.Errorf("Invalid module source address", "%s",
			tfdiags.Sentence(err)).At(call.SourceRange))
	}
	req.Source, req.SourceText = source, v.AsString()
	return req, versionErr
}

// versionPrefix matches the "v" that users put before module versions, as in repository tags.
var versionPrefix = regexp.MustCompile(`\bv(\d)`)

func (c *Config) requestVersion(req *ModuleRequest, name string) error {
	req.VersionRange = req.Call.VersionExpr.Range()
	v, err := c.StaticEval(req.Call.VersionExpr, cty.DynamicPseudoType, name+".version")
	if err != nil || v.IsNull() {
		return err
	}
	if c.static.env.unset && !v.IsKnown() {
		req.Unknown = true
		return nil
	}
	v, err = convert.Convert(v, cty.String)
	if err != nil || !v.IsKnown() {
		return tfdiags.Errorf("Invalid version constraint", "The version must be a string, and known before planning.").
			At(req.VersionRange)
	}
	spec, err := ParseConstraints(versionPrefix.ReplaceAllString(v.AsString(), "$1"))
	if err != nil {
		return tfdiags.Errorf("Invalid version constraint", badConstraint, v.AsString(), err).At(req.VersionRange)
	}
	req.Version, req.Constraints = v.AsString(), spec
	return nil
}

// LocalCalls returns the directories of the modules that a module calls by relative paths, and the
// calls whose source can't be evaluated, both sorted by the name of the call.
func (c *Config) LocalCalls() (dirs []string, unknown []*ModuleCall) {
	for _, name := range slices.Sorted(maps.Keys(c.Module.Calls)) {
		call := c.Module.Calls[name]
		switch req, _ := c.request(call); req.Source.Kind {
		case 0:
			unknown = append(unknown, call)
		case addrs.LocalModule:
			dirs = append(dirs, req.LocalDir())
		}
	}
	return dirs, unknown
}

// LocalDir returns the directory of a local source, relative to the working directory. The source
// itself is relative to the calling module.
func (req *ModuleRequest) LocalDir() string {
	return filepath.Join(req.Parent.Module.Dir, filepath.FromSlash(req.Source.Address))
}

// Describe returns the name and position of a call, for messages without a source range.
func (req *ModuleRequest) Describe() string {
	return fmt.Sprintf("module %q at %s", strings.TrimPrefix(req.Path.String(), "module."),
		tfdiags.Place(req.Call.Range))
}

// VersionText returns the version constraints of a module call as written, or "".
func (c *Config) VersionText(call string) string {
	if req := c.requests[call]; req != nil {
		return req.Version
	}
	return ""
}

// Local reports whether the module and all that it is called through are directories of the user,
// not downloaded copies.
func (c *Config) Local() bool {
	for ; c.Parent != nil; c = c.Parent {
		if !strings.HasPrefix(c.Source, "./") && !strings.HasPrefix(c.Source, "../") {
			return false
		}
	}
	return true
}

// AllModules iterates over c and all modules below it: callers before the modules they call,
// siblings sorted by name.
func (c *Config) AllModules() iter.Seq[*Config] {
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

// Descendant returns the module at the given path in c's module tree, or nil.
func (c *Config) Descendant(path addrs.Module) *Config {
	at := c.Root
	for _, name := range path.Names() {
		at = at.Children[name]
		if at == nil {
			return nil
		}
	}
	return at
}
