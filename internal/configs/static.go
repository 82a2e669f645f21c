package configs

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/lang"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/marks"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// staticEnv is the environment of static evaluation, shared by all modules of a tree.
type staticEnv struct {
	parser    *Parser
	functions func() map[string]function.Function
	pure      func() map[string]function.Function
	given     map[string]Given
	missing   error // see LoadOptions.Incomplete
	ask       func(*Variable) (Given, error)
	workspace string
	workDir   string
	rootDir   string
	base      string     // see LoadOptions.Base
	unset     bool       // see LoadOptions.Unset
	moves     bool       // see LoadOptions.Moves
	unknown   bool       // some root variables are not known yet
	mu        sync.Mutex // held during evaluation, which caches results
	depth     int        // current nesting depth of symbol evaluation
}

func newStaticEnv(parser *Parser, rootDir string, opts *LoadOptions) *staticEnv {
	table := func(pure bool) func() map[string]function.Function {
		return sync.OnceValue(func() map[string]function.Function {
			return funcs.Table(funcs.Options{BaseDir: opts.Base, PureOnly: pure, Read: opts.Read})
		})
	}
	env := &staticEnv{
		parser: parser, given: opts.Variables, missing: opts.Incomplete, ask: opts.Ask, workspace: opts.Workspace,
		workDir: opts.WorkDir, rootDir: rootDir, base: opts.Base, unset: opts.Unset,
		moves:     opts.Moves,
		functions: table(false), pure: table(true),
	}
	for _, given := range opts.Variables {
		env.unknown = env.unknown || len(given.Unknown) > 0 || given.Val != cty.NilVal && !given.Val.IsWhollyKnown()
	}
	if env.workspace == "" {
		env.workspace = "default"
	}
	return env
}

// staticScope evaluates expressions that are needed before the engine runs, for one module of the
// tree. The expressions may refer to variables, local values and paths. Each variable and local
// value is evaluated at most once.
type staticScope struct {
	cfg  *Config
	env  *staticEnv
	memo map[addrs.Referenceable]*staticResult
	pure bool // functions that return another result for each call have unknown results
}

// staticResult is the static value of a variable or local value.
type staticResult struct {
	value cty.Value
	errs  tfdiags.Diagnostics
	busy  bool // evaluation is in progress
	// unsuitable reports whether the value has the wrong type. Only one diagnostic reports this;
	// expressions that use the symbol see an unknown value of the right type.
	unsuitable bool
}

func newStaticScope(cfg *Config, env *staticEnv) *staticScope {
	return &staticScope{cfg: cfg, env: env, memo: map[addrs.Referenceable]*staticResult{}}
}

// StaticEval evaluates an expression of this module and converts the result to want. The expression
// may use only variables, local values, paths and functions. user is the name of the setting that
// needs the value, such as "module.net.source", for messages. Sensitive and ephemeral values are
// errors, because the value may appear in public places.
func (c *Config) StaticEval(expr hcl.Expression, want cty.Type, user string) (cty.Value, error) {
	v, err := c.staticValue(expr, user)
	// The conversion's error message may contain the value, so the marks are checked first.
	if err = tfdiags.Join(err, refuseMarks(v, user, expr.Range())); err != nil {
		return cty.UnknownVal(want), err
	}
	return c.staticConvert(v, want, expr, user)
}

// StaticSecret is like StaticEval, for settings that may be secret, such as the configuration of
// encryption keys. The result has no marks.
func (c *Config) StaticSecret(expr hcl.Expression, want cty.Type, user string) (cty.Value, error) {
	v, err := c.staticValue(expr, user)
	if err != nil {
		return cty.UnknownVal(want), err
	}
	v, _ = v.UnmarkDeep()
	return c.staticConvert(v, want, expr, user)
}

func (c *Config) staticValue(expr hcl.Expression, user string) (cty.Value, error) {
	c.static.env.mu.Lock()
	defer c.static.env.mu.Unlock()
	return c.static.eval(expr, cty.DynamicPseudoType, user, expr.Range())
}

func (c *Config) staticConvert(v cty.Value, want cty.Type, expr hcl.Expression, user string) (cty.Value, error) {
	if err := c.static.env.checkKnown(v, user, expr.Range()); err != nil {
		return cty.UnknownVal(want), err
	}
	v, err := convert.Convert(v, want)
	if err != nil {
		return cty.UnknownVal(want),
			tfdiags.Errorf("Unsuitable value type", "Unsuitable value: %s.", tfdiags.FormatError(err)).At(expr.Range())
	}
	return v, nil
}

// checkKnown returns an error if a value is not wholly known because it depends on root variables
// that are not known yet.
func (e *staticEnv) checkKnown(v cty.Value, user string, at hcl.Range) error {
	if !e.unknown || e.unset || v.IsWhollyKnown() {
		return nil
	}
	return tfdiags.Errorf("Unknown value not allowed",
		"%s must be known before anything is planned, and its value depends on a variable that isn't known yet. "+
			"Give that variable a value.", user).At(at)
}

// StaticBody decodes a body of this module according to a schema. Its expressions may use only what
// StaticEval allows, but may be sensitive or ephemeral: the value keeps its marks.
func (c *Config) StaticBody(body hcl.Body, schema *configschema.Block, user string) (cty.Value, error) {
	c.static.env.mu.Lock()
	defer c.static.env.mu.Unlock()
	analyzed := lang.AnalyzeBody(body, schema, addrs.ModuleScope)
	if err := analyzed.Refs.Problems.Err(); err != nil {
		return cty.UnknownVal(schema.ImpliedType()), err
	}
	v, err := c.static.scope(user, body.MissingItemRange()).EvalBody(analyzed)
	if err != nil {
		return v, err
	}
	return v, c.static.env.checkKnown(v, user, body.MissingItemRange())
}

// StaticScope returns an evaluation scope in which expressions may use only what StaticEval allows.
// It is for callers that decode bodies themselves. It doesn't refuse marked values.
func (c *Config) StaticScope(user string, at hcl.Range) *lang.Scope {
	return &lang.Scope{Data: lockedData{&staticData{c.static, c.static.name(user), at}},
		Functions: c.static.env.functions()}
}

// lockedData is a staticData that takes the lock. It is for evaluation that starts outside of this
// package.
type lockedData struct{ *staticData }

func (d lockedData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	d.scope.env.mu.Lock()
	defer d.scope.env.mu.Unlock()
	v, err := d.staticData.Value(subject, rng)
	if err != nil {
		return v, err
	}
	return v, d.scope.env.checkKnown(v, d.user, rng)
}

func refuseMarks(v cty.Value, user string, at hcl.Range) error {
	for _, one := range []struct {
		mark any
		name string
	}{{marks.Sensitive, "Sensitive"}, {marks.Ephemeral, "Ephemeral"}} {
		if marks.Contains(v, one.mark) {
			return tfdiags.Errorf(one.name+" value not allowed",
				"%s values, and values derived from them, can't be used as %s.", one.name, user).At(at)
		}
	}
	return nil
}

func (s *staticScope) scope(user string, at hcl.Range) *lang.Scope {
	functions := s.env.functions
	if s.pure {
		functions = s.env.pure
	}
	return &lang.Scope{Data: &staticData{s, s.name(user), at}, Functions: functions()}
}

// purely returns a scope in which the results of functions that return another result for each call
// are unknown. It has the same variables.
func (s *staticScope) purely() *staticScope {
	out := &staticScope{cfg: s.cfg, env: s.env, memo: maps.Clone(s.memo), pure: true}
	maps.DeleteFunc(out.memo, func(subject addrs.Referenceable, _ *staticResult) bool {
		_, variable := subject.(addrs.InputVariable)
		return !variable
	})
	return out
}

func (s *staticScope) eval(expr hcl.Expression, want cty.Type, user string,
	at hcl.Range) (cty.Value, error) {
	return s.scope(user, at).EvalExpr(expr, want)
}

// name returns the name of a symbol with its module, for messages.
func (s *staticScope) name(symbol string) string {
	if s.cfg.Path.IsRoot() {
		return symbol
	}
	return s.cfg.Path.String() + ":" + symbol
}

// EvaluateStatics evaluates the module's constant variables, the for_each arguments of its
// providers, and the sources and versions of its module calls.
func (c *Config) EvaluateStatics() error {
	var diags tfdiags.Diagnostics
	for _, name := range slices.Sorted(maps.Keys(c.Module.Variables)) {
		if v := c.Module.Variables[name]; v.Const.Value {
			diags = diags.AppendError(c.constant(v))
		}
	}
	diags = diags.AppendError(c.providerInstances())
	// All sources are evaluated before any module is resolved, so that all errors in them are
	// reported together.
	c.requests = make(map[string]*ModuleRequest, len(c.Module.Calls))
	for _, name := range slices.Sorted(maps.Keys(c.Module.Calls)) {
		req, more := c.request(c.Module.Calls[name])
		c.requests[name] = req
		diags = diags.AppendError(more)
	}
	return diags.Err()
}

// constant checks that a variable with const = true has a static value.
func (c *Config) constant(v *Variable) error {
	c.static.env.mu.Lock()
	defer c.static.env.mu.Unlock()
	data := &staticData{scope: c.static, user: "The configuration"}
	if c.Call != nil {
		data.user, data.at = c.Path.String(), c.Call.Range
	}
	_, err := data.symbol(addrs.InputVariable{Name: v.Name})
	return err
}

// staticData is the lang.Data of one static expression.
type staticData struct {
	scope *staticScope
	user  string    // the setting that needs the value, for messages
	at    hcl.Range // position of that setting; errors in symbols are reported there too
}

func (d *staticData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	switch subject := subject.(type) {
	case addrs.InputVariable:
		v, ok := d.scope.cfg.Module.Variables[subject.Name]
		if !ok {
			return cty.DynamicVal, d.undefined("variable", subject, subject.Name,
				slices.Sorted(maps.Keys(d.scope.cfg.Module.Variables)), rng)
		}
		if v.Const.Set && !v.Const.Value {
			return cty.DynamicVal, tfdiags.Errorf("Unable to use variable in static context",
				"The variable %q can't be used here, because it is declared with const = false.", v.Name).At(rng)
		}
		return d.symbol(subject)
	case addrs.LocalValue:
		if _, ok := d.scope.cfg.Module.Locals[subject.Name]; !ok {
			return cty.DynamicVal, d.undefined("local value", subject, subject.Name,
				slices.Sorted(maps.Keys(d.scope.cfg.Module.Locals)), rng)
		}
		return d.symbol(subject)
	case addrs.PathAttr:
		return d.path(subject, rng)
	case addrs.TerraformAttr:
		return d.terraform(subject, rng)
	}
	return cty.DynamicVal, d.dynamic(subject, rng)
}

// Instances implements lang.Data. Resources have no static values.
func (d *staticData) Instances(addrs.Referenceable, lang.Instances) (cty.Value, bool) {
	return cty.NilVal, false
}

func (d *staticData) Module(call string, use lang.CallUse) (cty.Value, error) {
	if len(use.Outputs) == 0 {
		return cty.DynamicVal, d.dynamic(addrs.ModuleCall{Name: call}, use.Range)
	}
	return cty.DynamicVal, tfdiags.Errorf("Module output not supported in static context",
		"module.%s.%s can't be used here, because %s must be known before planning.", call, use.Outputs[0],
		d.user).At(use.Range)
}

func (d *staticData) Function(ref addrs.ProviderFunction, rng hcl.Range) (function.Function, error) {
	return function.Function{}, tfdiags.Errorf("Provider function in static context",
		"%s can't be used here, because %s must be known before providers are configured.", ref, d.user).At(rng)
}

func (d *staticData) dynamic(subject addrs.Referenceable, rng hcl.Range) error {
	return tfdiags.Errorf("Dynamic value in static context",
		"%s can't be used here, because %s must be known before planning. Only variables, local values, paths "+
			"and the workspace can be used.", subject, d.user).At(rng)
}

func (d *staticData) undefined(what string, subject addrs.Referenceable, name string, names []string,
	rng hcl.Range) error {
	return tfdiags.Errorf("Undefined "+what,
		"There is no %s in this module.%s", subject, suggest.DidYouMean(name, names)).At(rng)
}

func (d *staticData) path(subject addrs.PathAttr, rng hcl.Range) (cty.Value, error) {
	env := d.scope.env
	dirs := map[string]string{"module": RelativeDir(env.base, d.scope.cfg.Module.Dir),
		"root": RelativeDir(env.base, env.rootDir), "cwd": env.workDir}
	if dir, ok := dirs[subject.Name]; ok {
		return cty.StringVal(filepath.ToSlash(dir)), nil
	}
	return cty.DynamicVal, tfdiags.Errorf("Invalid \"path\" attribute",
		"The \"path\" object has no attribute %q.%s",
		subject.Name, suggest.DidYouMean(subject.Name, slices.Sorted(maps.Keys(dirs)))).At(rng)
}

func (d *staticData) terraform(subject addrs.TerraformAttr, rng hcl.Range) (cty.Value, error) {
	switch subject.Name {
	case "workspace":
		return cty.StringVal(d.scope.env.workspace), nil
	case "applying":
		return cty.DynamicVal, tfdiags.Errorf("Invalid attribute in static context",
			"%s is known only while planning and applying.", subject).At(rng)
	}
	return cty.DynamicVal, tfdiags.Errorf(fmt.Sprintf("Invalid %q attribute", subject.Alias),
		"There is no attribute %[1]s.%[2]s. Only %[1]s.workspace, the name of the selected workspace, can be used "+
			"here.", subject.Alias, subject.Name).At(rng)
}
