package moduletest

import (
	"context"
	"errors"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// execution is one run.
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
}

// execute executes the run and returns its result.
func (e *execution) execute(ctx context.Context) RunDone {
	done := RunDone{Path: e.file.Name, Run: e.run.Name, Status: Pass}
	expected, diags := expectations(e.run)
	if !diags.HasErrors() {
		diags = append(diags, e.prepare(ctx)...)
	}
	if !diags.HasErrors() && !e.validated[e.subject] {
		e.validated[e.subject] = true
		diags = append(diags, engine.Validate(ctx, e.config, e.env())...)
	}
	if !diags.HasErrors() {
		diags = append(diags, e.operate(ctx, &done, expected)...)
	}
	if !diags.HasErrors() {
		var status Status
		var more tfdiags.Diagnostics
		for _, a := range e.asserts {
			status, more = max(status, a.status), append(more, a.diags...)
		}
		done.Status, diags = max(done.Status, status), append(diags, more...)
	} else {
		done.Status, done.Plan, done.State = Error, nil, nil
	}
	done.Diagnostics, done.Config = diags, e.config
	return done
}

// prepare determines the values, provider configurations and overrides of the run, and loads the
// configuration with them.
func (e *execution) prepare(ctx context.Context) tfdiags.Diagnostics {
	diags := e.findProviders()
	if diags.HasErrors() {
		return diags
	}
	e.vars = newVariables(e.fileRun, e.run, e.subject.config.Module)
	var more tfdiags.Diagnostics
	e.values, more = e.vars.forModule()
	diags = append(diags, more...)
	if more.HasErrors() {
		return diags
	}
	e.given = make(map[string]configs.Given, len(e.values))
	for name, v := range e.values {
		e.given[name] = configs.Given{Val: v.Value}
	}
	diags = append(diags, e.findOverrides()...)
	if diags.HasErrors() {
		return diags
	}
	e.config, more = e.load(ctx, e.overlay)
	diags = append(diags, more...)
	if more.HasErrors() {
		return diags
	}
	e.mocks.attach(e.config)
	return append(diags, e.analyseAsserts()...)
}

// load loads the module under test for this run.
func (e *execution) load(ctx context.Context, overlay *configs.Overlay) (*configs.Config, tfdiags.Diagnostics) {
	opts := e.Suite.opts
	opts.Variables, opts.Ask, opts.Overlay = e.given, nil, overlay
	if e.subject.path != "" {
		opts.Resolve = opts.Resolve.Within(e.subject.path)
	}
	var diags tfdiags.Diagnostics
	cfg, err := configs.LoadRoot(ctx, e.subject.dir, &opts, diags.Add)
	return cfg, diags.AppendError(err)
}

// env returns the environment of the run's operations.
func (e *execution) env() *engine.Env {
	env := e.Env
	env.Mocks, env.RootModule, env.Observe = e.mocks, e.subject.dir, nil
	return &env
}

// operate plans and, if the run applies, applies.
func (e *execution) operate(ctx context.Context, done *RunDone, expected []*expectation) tfdiags.Diagnostics {
	opts, diags := e.planOptions()
	if diags.HasErrors() {
		return diags
	}
	module := e.module()
	attempt := module.prepare(e)
	if e.run.Plan {
		e.planned[e.run.Name] = true
		delete(e.outputs, e.run.Name)
		opts.Inspect = e.inspection(true)
	} else {
		opts.Inspect = e.inspection(false)
	}
	plan, more := engine.Plan(ctx, e.config, attempt.prior, e.env(), opts)
	diags = append(diags, more...)
	if stopped(e.Env.Stop) && !diags.HasErrors() {
		diags = append(diags, errInterrupted())
	}
	if plan != nil {
		e.checks = plan.Checks
	}
	if e.run.Plan {
		done.Plan = plan
		return judge(diags, e.checks, expected)
	}
	if diags.HasErrors() {
		return append(diags, unreachable(diags, expected)...)
	}
	st, more := e.apply(ctx, module, attempt, plan)
	done.State, e.checks = st, st.Checks
	return judge(append(withoutPending(diags), more...), e.checks, expected)
}

func errInterrupted() tfdiags.Diagnostic {
	return tfdiags.Errorf("Test interrupted", "The run was interrupted. Its objects are destroyed.")
}

// apply applies the plan and keeps the resulting state, even after errors.
func (e *execution) apply(
	ctx context.Context, module *moduleState, attempt *attempt, plan *plans.Plan,
) (*states.State, tfdiags.Diagnostics) {
	opts := &engine.ApplyOptions{Variables: e.values}
	targeted := len(plan.Targets) > 0
	if !targeted {
		opts.Inspect = e.inspection(true)
	}
	st, diags := engine.Apply(ctx, e.config, plan, e.env(), opts)
	module.take(e, attempt, st)
	e.outputs[e.run.Name] = outputsOf(st)
	delete(e.planned, e.run.Name)
	if targeted && !diags.HasErrors() {
		// Assertions may refer to objects that the targets excluded.
		scope, more := engine.Eval(ctx, e.config, st, e.env(), e.values)
		diags = append(diags, more...)
		if !more.HasErrors() && scope != nil {
			scope.Data = partData{scope.Data, e.config.Module, st}
			e.evaluateAsserts(scope)
		}
	}
	return st, diags
}

// planOptions returns the options in the plan_options block.
func (e *execution) planOptions() (*engine.PlanOptions, tfdiags.Diagnostics) {
	opts := &engine.PlanOptions{SkipRefresh: e.run.Options.SkipRefresh, Variables: e.values}
	if e.run.Options.RefreshOnly {
		opts.Mode = plans.RefreshOnly
	}
	var diags tfdiags.Diagnostics
	for _, tr := range e.run.Options.Targets {
		target, err := addrs.ParseTarget(tr)
		diags = diags.AppendError(err)
		opts.Targets = append(opts.Targets, target)
	}
	for _, tr := range e.run.Options.Replace {
		addr, more := instanceAddress(tr)
		diags = append(diags, more...)
		opts.ForceReplace = append(opts.ForceReplace, addr)
	}
	return opts, diags
}

// instanceAddress parses the address of a managed resource instance.
func instanceAddress(tr hcl.Traversal) (addrs.AbsInstance, tfdiags.Diagnostics) {
	target, diags := addrs.ParseTarget(tr)
	if diags != nil {
		return addrs.AbsInstance{}, tfdiags.FromError(diags)
	}
	var err error
	switch {
	case target.IsModule():
		err = errors.New("a module can't be replaced; name its resource instances")
	case target.Resource.Mode != addrs.Managed:
		err = errors.New("only managed resources can be replaced")
	}
	if err != nil {
		return addrs.AbsInstance{},
			tfdiags.Errorf("Invalid address", "%s: %s.", target, err).At(tr.SourceRange()).List()
	}
	return addrs.AbsInstance{Module: target.Module, Resource: target.Resource, Key: target.Key}, nil
}
