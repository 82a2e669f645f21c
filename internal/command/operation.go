package command

import (
	"context"
	"time"

	"tofu/internal/backend"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// The names of operations, as lock information has them.
const (
	operationPlan    = "OperationTypePlan"
	operationApply   = "OperationTypeApply"
	operationRefresh = "OperationTypeRefresh"
)

// operation is a run of the engine: a configuration, the state it starts from, and the providers.
type operation struct {
	app       *App
	cfg       *loaded
	place     *place
	state     *openedState
	providers *runningProviders
	env       *engine.Env
	variables map[string]engine.Variable
}

// startOperation does what comes before planning: it loads the configuration, gets the variables' values, opens the backend, locks
// and reads the state, and checks the providers. The caller closes the operation, which gives back the lock, unless there are errors.
func (a *App) startOperation(ctx context.Context, f *operationFlags, name string) (*operation, tfdiags.Diagnostics) {
	root, diags := a.loadRootModule(ctx, f.varFlags)
	if diags.HasErrors() {
		return nil, diags
	}
	req := stateRequest{paths: f.stateFlags, lock: f.lockFlags, operation: name}
	p, more := a.openPlace(ctx, root, req)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	if maker, ok := p.store.(backend.Maker); ok && f.State == "" {
		if err := maker.Make(ctx, p.workspace); err != nil {
			return nil, diags.Append(err)
		}
	}
	if name != operationApply {
		diags = diags.Append(a.encryptionWarnings(root))
	}
	op := &operation{app: a, place: p}
	op.cfg, more = a.loadConfigGiven(ctx, root.given)
	diags = diags.Append(more)
	if more.HasErrors() { // in a directory that was never initialized, packages are missing as well as modules
		return nil, diags.Append(a.missingPackages())
	}
	op.variables, more = op.cfg.variables(ctx, a, needValues)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return nil, diags
	}
	diags = diags.Append(op.open(ctx, req))
	if diags.HasErrors() {
		return nil, diags
	}
	if more := op.state.create(ctx); more.HasErrors() {
		op.close()
		return nil, diags.Append(more)
	}
	return op, diags
}

// open locks and reads the state and checks the providers. With errors it leaves nothing open.
func (op *operation) open(ctx context.Context, req stateRequest) tfdiags.Diagnostics {
	var diags, more tfdiags.Diagnostics
	op.state, diags = op.app.readState(ctx, op.place, req)
	if diags.HasErrors() {
		return diags
	}
	op.state.use(op.app.adopted(op.state.State(), op.cfg.Config))
	// Providers that only the state needs are checked after planning, which is more to the point about what they serve.
	op.providers, more = op.app.openProviders(requirements(op.cfg.Config, nil))
	diags = diags.Append(more)
	if more.HasErrors() {
		return diags.Append(op.state.close())
	}
	op.env = op.app.environment(op.providers, op.place.workspace)
	op.env.Known = &graph.Known{}
	return diags
}

// environment is what the engine finds around it.
func (a *App) environment(running *runningProviders, workspace string) *engine.Env {
	return &engine.Env{
		Provider: running.Provider, Schema: running.Schema, Provisioner: running.provisioners.byType,
		Observe: a.Printer.Event, Timings: a.timings, Workspace: workspace, WorkDir: a.WorkDir, RootModule: a.rootDir,
		Stop: a.Interrupts.Stop, Kill: a.Interrupts.Kill,
	}
}

// close ends the providers and gives back the lock.
func (op *operation) close() {
	if op.providers != nil {
		op.providers.close(op.app)
	}
	if op.state != nil {
		op.app.Printer.Diagnostics(op.state.close())
	}
}

// plan checks the configuration, plans and shows the plan. A plan with errors is shown too as far as it got, and given back; when it got
// to no object, that is shown to those who want nothing but a plan.
func (op *operation) plan(ctx context.Context, opts *engine.PlanOptions, toApply bool) (*plans.Plan, tfdiags.Diagnostics) {
	plan, diags := op.planQuietly(ctx, opts)
	if op.app.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted", "The operation was interrupted while planning. Nothing was changed."))
	}
	if plan != nil && (!diags.HasErrors() || hasChanges(plan) || opts.Mode != plans.Destroy && (!toApply || len(plan.Changes.Instances) > 0)) {
		op.showPlan(ctx, plan, false)
	}
	return plan, diags
}

// quietEnv is for what is worked out without being shown.
func (op *operation) quietEnv() *engine.Env {
	quiet := *op.env
	quiet.Observe = nil
	return &quiet
}

// planQuietly checks the configuration and plans. What is wrong in the configuration itself is said before anything is read.
func (op *operation) planQuietly(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, tfdiags.Diagnostics) {
	diags := engine.Validate(engineContext(ctx), op.cfg.Config, op.quietEnv())
	if diags.HasErrors() {
		return nil, diags
	}
	opts.Variables = op.variables
	plan, more := engine.Plan(engineContext(ctx), op.cfg.Config, op.state.State(), op.env, opts)
	said := diags.Each(func(d *tfdiags.Diagnostic) { d.Address = "" }) // of whole resources, where planning names instances
	diags = diags.Append(more.Without(said))
	if !diags.HasErrors() {
		diags = diags.Append(op.providers.check(requirements(nil, op.state.State())))
		if diags.HasErrors() {
			plan = nil
		}
	}
	return plan, diags
}

// hasChanges tells whether something would be done to an object.
func hasChanges(plan *plans.Plan) bool {
	for _, c := range plan.Changes.Instances {
		if c.Action != plans.NoOp {
			return true
		}
	}
	return false
}

func (op *operation) showPlan(ctx context.Context, plan *plans.Plan, saved bool) {
	defer op.app.timings.Phase("output")()
	var ignored tfdiags.Diagnostics // whatever is planned has its schema
	op.app.Printer.Plan(&ui.PlanView{
		Plan: plan, Config: op.cfg.Config, Schemas: op.providers.schemas(engineContext(ctx), &ignored), Saved: saved,
	})
}

// apply applies a plan and saves the state, which it does in any case: after errors and interrupts there is something to save too.
func (op *operation) apply(ctx context.Context, plan *plans.Plan, planID string, opts *engine.ApplyOptions) (*states.State, *ui.Tally, tfdiags.Diagnostics) {
	defer op.app.Interrupts.Record()()
	if err := op.state.Begin(ctx, &statemgr.Run{State: plan.Prior, PlanID: planID}); err != nil {
		return nil, nil, tfdiags.Diagnostics{}.Append(err)
	}
	tally := &ui.Tally{}
	tally.Expect(plan)
	env := *op.env
	env.Observe = func(e engine.Event) {
		journal(op.state.Manager, e)
		tally.Observe(e)
		op.app.Printer.Event(e)
	}
	st, diags := engine.Apply(engineContext(ctx), op.cfg.Config, plan, &env, opts)
	if op.app.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted", "The operation was interrupted. What was done before is in the state; plan again to see what is left."))
	}
	if st == plan.Prior && diags.HasErrors() {
		return st, tally, diags // refused before anything was begun; unlocking ends the record of it
	}
	return st, tally, diags.Append(op.save(ctx, st))
}

// save writes the final state. When it can be saved nowhere it is printed, as the last thing that can be done for it.
func (op *operation) save(ctx context.Context, st *states.State) tfdiags.Diagnostics {
	end := op.app.timings.Phase("saving the state")
	diags := op.state.save(ctx, st)
	end()
	for _, d := range diags {
		if unsaved, ok := d.Extra.(statemgr.Unsaved); ok {
			_, _ = op.app.Err.Write(append(unsaved.Data, '\n'))
		}
	}
	return diags
}

// journal records what must not be forgotten, before anybody else hears of it.
func journal(m *statemgr.Manager, e engine.Event) {
	switch e := e.(type) {
	case engine.ApplyStart:
		m.Started(statemgr.Operation{
			Addr: e.Addr, Deposed: e.Deposed, Action: e.Action, Provider: e.Provider,
			Planned: states.MarkSensitive(e.Planned, e.Sensitive), Builtin: e.Builtin,
		})
	case engine.ObjectStored:
		m.Stored(e.Addr, e.Deposed, e.New, e.Provider)
	case engine.ObjectMoved:
		m.Moved(e.Addr, e.From, e.To, e.Object, e.Provider)
	case engine.ApplyDone:
		if !e.Abandoned { // else it stays open, for the next command to tell
			m.Ended(e.Addr, e.Deposed)
		}
	}
}

// engineContext frees an operation from the context that ends with the first interrupt: the engine ends what runs in its own way.
func engineContext(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// lockPlan locks for a plan, which only reads: another plan's lock does not keep it from running.
func (a *App) lockPlan(ctx context.Context, m *statemgr.Manager, timeout time.Duration, progress func(statemgr.Waiting)) tfdiags.Diagnostics {
	diags := m.Lock(ctx, operationPlan, 0, nil)
	for _, d := range diags {
		if held, ok := d.Extra.(*backend.LockInfo); ok && held != nil && held.Operation == operationPlan {
			return nil
		}
	}
	if diags.HasErrors() && timeout > 0 {
		return m.Lock(ctx, operationPlan, timeout, progress)
	}
	return diags
}

// outputs are the root outputs of a state by name.
func outputs(st *states.State) map[string]*states.Output {
	out := make(map[string]*states.Output)
	for _, name := range st.OutputNames() {
		out[name] = st.Output(name)
	}
	return out
}
