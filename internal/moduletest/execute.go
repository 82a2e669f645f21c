package moduletest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/refresh"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// execution is the execution of one run block.
type execution struct {
	*fileRun
	run     *configs.TestRun
	subject *subject

	overlay *configs.Overlay
	mocks   *mocks
	given   map[string]configs.Given
	values  map[string]engine.Variable
	config  *configs.Config
	vars    *variables

	asserts []*assertion
	checks  *checks.Results
	// ephemeral holds the module's ephemeral outputs, which are not part of its state.
	ephemeral outputs
}

// execute executes the run and returns its result.
func (e *execution) execute(ctx context.Context) RunDone {
	done := RunDone{Path: e.file.Name, Run: e.run.Name, Status: Pass}
	diags := e.perform(ctx, &done)
	if diags.Err() != nil {
		done.Status, done.Plan, done.State = Error, nil, nil
	} else {
		for _, a := range e.asserts {
			done.Status, diags = max(done.Status, a.status), append(diags, a.diags...)
		}
	}
	done.Diagnostics, done.Config = diags, e.config
	if e.mocks != nil {
		done.Uninvoked = slices.Sorted(maps.Keys(e.mocks.uninvoked))
	}
	return done
}

// perform prepares the run and executes it. It returns all diagnostics, except failures that the
// run expects.
func (e *execution) perform(ctx context.Context, done *RunDone) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	expected, err := expectations(e.run)
	if err == nil {
		err = e.prepare(ctx, diags.Add)
	}
	if err == nil && !e.validated[e.subject] {
		e.validated[e.subject] = true
		err = engine.Validate(ctx, e.config, e.env(diags.Add))
	}
	if err != nil {
		return diags.AppendError(err)
	}
	return append(diags, e.operate(ctx, done, expected)...)
}

// prepare determines the values, provider configurations and overrides of the run, and loads the
// configuration with them.
func (e *execution) prepare(ctx context.Context, warn tfdiags.Sink) error {
	e.vars = newVariables(e.fileRun, e.run, e.subject.config.Module)
	if err := e.findProviders(); err != nil {
		return err
	}
	var err error
	e.values, err = e.vars.forModule()
	if err != nil {
		return err
	}
	e.given = make(map[string]configs.Given, len(e.values))
	for name, v := range e.values {
		e.given[name] = configs.Given{Val: v.Value}
	}
	if err = e.findOverrides(warn); err != nil {
		return err
	}
	e.config, err = e.load(ctx, e.overlay, warn)
	if err != nil {
		return err
	}
	e.mocks.attach(e.config)
	return e.analyzeAsserts()
}

// load loads the module under test for this run.
func (e *execution) load(
	ctx context.Context, overlay *configs.Overlay, warn tfdiags.Sink,
) (*configs.Config, error) {
	opts := e.Suite.opts
	opts.Variables, opts.Ask, opts.Overlay = e.given, nil, overlay
	if e.subject.path != "" {
		opts.Resolve = opts.Resolve.Within(e.subject.path)
	}
	opts.Resolve = orLocal(opts.Resolve, opts.Parser)
	config, err := configs.LoadRoot(ctx, e.subject.dir, &opts, warn)
	if config != nil {
		config.Called = true // the test can read the outputs, as a calling module could
	}
	return config, err
}

// orLocal returns a resolver that also finds local modules that are not installed. Runs may have
// other sources than those with which init was run, and each call is installed once.
func orLocal(resolve configs.Resolver, parser *configs.Parser) configs.Resolver {
	return func(ctx context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
		found, err := resolve(ctx, req)
		if err == nil || req.Source.Kind != addrs.LocalModule || !parser.IsModuleDir(req.LocalDir()) {
			return found, err
		}
		return configs.ResolvedModule{Dir: req.LocalDir()}, nil
	}
}

// env returns the environment of the engine for this run.
func (e *execution) env(warn tfdiags.Sink) *engine.Env {
	env := e.Env
	env.Warn = warn
	env.Mocks, env.RootModule, env.Observe = e.mocks, e.subject.dir, nil
	return &env
}

// operate plans and, if the run applies, applies the plan. It returns all diagnostics, except
// failures that the run expects.
func (e *execution) operate(ctx context.Context, done *RunDone, expected []*expectation) tfdiags.Diagnostics {
	opts, err := e.planOptions()
	if err != nil {
		return tfdiags.FromError(err)
	}
	var found tfdiags.Diagnostics
	if err := e.vars.checkDeclared(ctx, e.env(found.Add)); err != nil {
		found = found.AppendError(err)
		if e.run.Plan {
			return judge(found, nil, expected)
		}
		return append(found, unreachable(found, expected)...)
	}
	module, err := e.module(ctx)
	if err != nil {
		return tfdiags.FromError(err)
	}
	attempt := module.prepare(e)
	if e.run.Plan {
		opts.Inspect = e.inspection(e.evaluateAsserts)
	} else {
		opts.Inspect = e.inspection(nil)
	}
	plan, err := e.plan(ctx, attempt.prior, e.env(found.Add), opts)
	if stopped(e.Env.Stop) && err == nil {
		err = tfdiags.Errorf("Test interrupted", "The run was interrupted. The objects that the test file has created will be destroyed.")
	}
	found = found.AppendError(err)
	if plan != nil {
		e.checks = plan.Checks
	}
	if e.run.Plan {
		done.Plan = plan
		e.record(plannedOutputs(attempt.prior, plan), cty.DynamicVal)
		return judge(found, e.checks, expected)
	}
	if err != nil {
		return append(found, unreachable(found, expected)...)
	}
	found = withoutPending(found)
	st, err := e.applyRounds(ctx, module, attempt, plan, opts, found.Add)
	done.State, e.checks = st, st.Checks
	return judge(found.AppendError(err), e.checks, expected)
}

// applyRounds applies a plan. If the plan defers changes, it plans and applies again until nothing
// is deferred.
func (e *execution) applyRounds(
	ctx context.Context, module *moduleState, attempt *attempt, plan *plans.Plan, opts *engine.PlanOptions,
	warn tfdiags.Sink,
) (*states.State, error) {
	st := attempt.prior
	final := warn
	warn = func(warnings ...tfdiags.Diagnostic) { final(withoutPending(warnings)...) } // later rounds evaluate them
	for rounds := (engine.Rounds{}); ; {
		err := rounds.Check(plan)
		if err != nil {
			return st, err
		}
		if !plan.Defers() {
			warn = final
		}
		st, err = e.apply(ctx, module, attempt, plan, warn)
		if err != nil || !plan.Defers() {
			return st, err
		}
		attempt, opts = module.prepare(e), rounds.Next(opts, plan)
		plan, err = e.plan(ctx, attempt.prior, e.env(warn), opts)
		if err != nil {
			return st, err
		}
	}
}

// plan plans the module under test.
func (e *execution) plan(
	ctx context.Context, prior *states.State, env *engine.Env, opts *engine.PlanOptions,
) (*plans.Plan, error) {
	if !e.Minimal || opts.Mode != plans.Normal {
		return engine.Plan(ctx, e.config, prior, env, opts)
	}
	run := &refresh.Run{Options: refresh.Options{Minimal: true}, Now: time.Now()}
	return run.Plan(ctx, e.config, prior, env, opts)
}

// apply applies the plan and keeps the resulting state, even after errors.
func (e *execution) apply(
	ctx context.Context, module *moduleState, attempt *attempt, plan *plans.Plan, warn tfdiags.Sink,
) (*states.State, error) {
	opts := &engine.ApplyOptions{Variables: e.values}
	targeted := len(plan.Targets) > 0
	if !targeted && !plan.Defers() {
		opts.Inspect = e.inspection(e.evaluateAsserts)
	}
	env := e.env(warn)
	st, err := engine.Apply(ctx, e.config, plan, env, opts)
	err = tfdiags.Join(err, module.take(ctx, e, attempt, st))
	defer func() { e.record(st.OutputValues(), cty.NullVal(cty.DynamicPseudoType)) }()
	if !targeted || err != nil || plan.Defers() {
		return st, err
	}
	// Assertions may refer to objects that the targets exclude, so they are evaluated separately.
	scope, err := engine.Eval(ctx, e.config, st, env, e.values)
	if err != nil {
		return st, err
	}
	scope.Data = partData{scope.Data, e.config.Module, st}
	e.evaluateAsserts(scope)
	return st, nil
}

// record keeps the values of the module's outputs for later runs. missing is the value of outputs
// without one.
func (e *execution) record(values outputs, missing cty.Value) {
	out := outputs{}
	for _, o := range e.config.Module.Outputs {
		out[o.Name] = missing
	}
	maps.Copy(out, values)
	maps.Copy(out, e.ephemeral)
	e.outputs[e.run.Name] = out
}

// plannedOutputs returns the values that outputs will have after a plan, which is nil if planning
// failed. Outputs that the plan leaves out keep their values.
func plannedOutputs(prior *states.State, plan *plans.Plan) outputs {
	if plan == nil {
		return nil
	}
	out := outputs(prior.OutputValues())
	for _, change := range plan.Changes.Outputs {
		out[change.Name] = change.After
		if change.Sensitive {
			out[change.Name] = change.After.Mark(marks.Sensitive)
		}
	}
	return out
}

// planOptions returns the options of the engine for the run's plan_options block.
func (e *execution) planOptions() (*engine.PlanOptions, error) {
	opts := &engine.PlanOptions{SkipRefresh: e.run.Options.SkipRefresh, Variables: e.values,
		Defer: e.Defer, AnyReplace: true}
	if e.run.Options.RefreshOnly {
		opts.Mode = plans.RefreshOnly
	}
	var errs tfdiags.Diagnostics
	for _, tr := range e.run.Options.Targets {
		target, err := addrs.ParseTarget(tr)
		errs = errs.AppendError(err)
		opts.Targets = append(opts.Targets, target)
	}
	for _, tr := range e.run.Options.Replace {
		addr, err := instanceAddress(tr)
		errs = errs.AppendError(err)
		opts.ForceReplace = append(opts.ForceReplace, addr)
	}
	return opts, errs.Err()
}

// instanceAddress parses the address of a managed resource instance.
func instanceAddress(tr hcl.Traversal) (addrs.AbsInstance, error) {
	target, err := addrs.ParseTarget(tr)
	if err != nil {
		return addrs.AbsInstance{}, err
	}
	problem := ""
	switch {
	case target.IsModule():
		problem = "a module can't be replaced; name its resource instances"
	case target.Resource.Mode != addrs.Managed:
		problem = "only managed resources can be replaced"
	}
	if problem != "" {
		return addrs.AbsInstance{},
			tfdiags.Errorf("Invalid address", "%s: %s.", target, problem).At(tr.SourceRange())
	}
	return addrs.AbsInstance{Module: target.Module, Resource: target.Resource, Key: target.Key}, nil
}
