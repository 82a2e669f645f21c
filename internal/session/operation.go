package session

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
	OperationPlan    = "OperationTypePlan"
	OperationApply   = "OperationTypeApply"
	OperationRefresh = "OperationTypeRefresh"
)

// operation is a run of the engine: a configuration, the state it starts from, and the providers.
type Operation struct {
	Session   *Session
	Config    *Config
	Location  *Location
	State     *OpenedState
	Providers *Providers
	Env       *engine.Env
	Variables map[string]engine.Variable
}

// OperationOptions are the options that all operations have in common.
type OperationOptions struct {
	Variables Variables
	Paths     StatePaths
	Lock      LockOptions
}

// startOperation does what comes before planning: it loads the configuration, gets the variables' values, opens the backend, locks
// and reads the state, and checks the providers. The caller closes the operation, which gives back the lock, unless there are errors.
func (s *Session) StartOperation(ctx context.Context, opts OperationOptions, name string) (*Operation, tfdiags.Diagnostics) {
	root, diags := s.LoadRootModule(ctx, opts.Variables)
	if diags.HasErrors() {
		return nil, diags
	}
	req := StateRequest{Paths: opts.Paths, Lock: opts.Lock, Operation: name}
	p, more := s.Locate(ctx, root, req)
	diags = diags.Append(more...)
	if diags.HasErrors() {
		return nil, diags
	}
	if maker, ok := p.Store.(backend.Maker); ok && opts.Paths.State == "" {
		if err := maker.Make(ctx, p.Workspace); err != nil {
			return nil, diags.AppendError(err)
		}
	}
	if name != OperationApply {
		diags = diags.Append(s.EncryptionWarnings(root)...)
	}
	op := &Operation{Session: s, Location: p}
	op.Config, more = s.LoadConfigWith(ctx, root.Given)
	diags = diags.Append(more...)
	if more.HasErrors() { // in a directory that was never initialized, packages are missing as well as modules
		return nil, diags.Append(s.missingPackages()...)
	}
	op.Variables, more = op.Config.Variables(ctx, s, NeedValues)
	diags = diags.Append(more...)
	if diags.HasErrors() {
		return nil, diags
	}
	diags = diags.Append(op.Open(ctx, req)...)
	if diags.HasErrors() {
		return nil, diags
	}
	if more := op.State.CreateIfMissing(ctx); more.HasErrors() {
		op.Close()
		return nil, diags.Append(more...)
	}
	return op, diags
}

// open locks and reads the state and checks the providers. With errors it leaves nothing open.
func (op *Operation) Open(ctx context.Context, req StateRequest) tfdiags.Diagnostics {
	var diags, more tfdiags.Diagnostics
	op.State, diags = op.Session.ReadState(ctx, op.Location, req)
	if diags.HasErrors() {
		return diags
	}
	op.State.Replace(op.Session.Adopt(op.State.State(), op.Config.Config))
	// Providers that only the state needs are checked after planning, which is more to the point about what they serve.
	op.Providers, more = op.Session.OpenProviders(Requirements(op.Config.Config, nil))
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags.Append(op.State.Close()...)
	}
	op.Env = op.Session.Environment(op.Providers, op.Location.Workspace)
	op.Env.Known = &graph.Known{}
	return diags
}

// environment is what the engine finds around it.
func (s *Session) Environment(running *Providers, workspace string) *engine.Env {
	return &engine.Env{
		Provider: running.Provider, Schema: running.Schema, Provisioner: running.provisioners.byType,
		Observe: s.Printer.Event, Timings: s.Timings, Workspace: workspace, WorkDir: s.WorkDir, RootModule: s.RootDir,
		Stop: s.Interrupts.Stop, Kill: s.Interrupts.Kill,
	}
}

// close ends the providers and gives back the lock.
func (op *Operation) Close() {
	if op.Providers != nil {
		op.Providers.Close(op.Session)
	}
	if op.State != nil {
		op.Session.Printer.Diagnostics(op.State.Close())
	}
}

// plan checks the configuration, plans and shows the plan. A plan with errors is shown too as far as it got, and given back; when it got
// to no object, that is shown to those who want nothing but a plan.
func (op *Operation) Plan(ctx context.Context, opts *engine.PlanOptions, toApply bool) (*plans.Plan, tfdiags.Diagnostics) {
	plan, diags := op.PlanQuietly(ctx, opts)
	if op.Session.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted", "The operation was interrupted while planning. Nothing was changed."))
	}
	if plan != nil && (!diags.HasErrors() || HasChanges(plan) || opts.Mode != plans.Destroy && (!toApply || len(plan.Changes.Instances) > 0)) {
		op.ShowPlan(ctx, plan, false)
	}
	return plan, diags
}

// quietEnv is for what is worked out without being shown.
func (op *Operation) QuietEnv() *engine.Env {
	quiet := *op.Env
	quiet.Observe = nil
	return &quiet
}

// planQuietly checks the configuration and plans. What is wrong in the configuration itself is said before anything is read.
func (op *Operation) PlanQuietly(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, tfdiags.Diagnostics) {
	diags := engine.Validate(EngineContext(ctx), op.Config.Config, op.QuietEnv())
	if diags.HasErrors() {
		return nil, diags
	}
	opts.Variables = op.Variables
	plan, more := engine.Plan(EngineContext(ctx), op.Config.Config, op.State.State(), op.Env, opts)
	said := diags.Map(func(d *tfdiags.Diagnostic) { d.Address = "" }) // of whole resources, where planning names instances
	diags = diags.Append(more.Dedup(said)...)
	if !diags.HasErrors() {
		diags = diags.Append(op.Providers.check(Requirements(nil, op.State.State()))...)
		if diags.HasErrors() {
			plan = nil
		}
	}
	return plan, diags
}

// hasChanges tells whether something would be done to an object.
func HasChanges(plan *plans.Plan) bool {
	for _, c := range plan.Changes.Instances {
		if c.Action != plans.NoOp {
			return true
		}
	}
	return false
}

func (op *Operation) ShowPlan(ctx context.Context, plan *plans.Plan, saved bool) {
	defer op.Session.Timings.Phase("output")()
	var ignored tfdiags.Diagnostics // whatever is planned has its schema
	op.Session.Printer.Plan(&ui.PlanView{
		Plan: plan, Config: op.Config.Config, Schemas: op.Providers.Schemas(EngineContext(ctx), &ignored), Saved: saved,
	})
}

// apply applies a plan and saves the state, which it does in any case: after errors and interrupts there is something to save too.
func (op *Operation) Apply(ctx context.Context, plan *plans.Plan, planID string, opts *engine.ApplyOptions) (*states.State, *ui.Tally, tfdiags.Diagnostics) {
	defer op.Session.Interrupts.Record()()
	if err := op.State.Begin(ctx, &statemgr.Run{State: plan.Prior, PlanID: planID}); err != nil {
		return nil, nil, tfdiags.FromError(err)
	}
	tally := &ui.Tally{}
	tally.Expect(plan)
	env := *op.Env
	env.Observe = func(e engine.Event) {
		journal(op.State.Manager, e)
		tally.Observe(e)
		op.Session.Printer.Event(e)
	}
	st, diags := engine.Apply(EngineContext(ctx), op.Config.Config, plan, &env, opts)
	if op.Session.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted", "The operation was interrupted. What was done before is in the state; plan again to see what is left."))
	}
	if st == plan.Prior && diags.HasErrors() {
		return st, tally, diags // refused before anything was begun; unlocking ends the record of it
	}
	return st, tally, diags.Append(op.Save(ctx, st)...)
}

// save writes the final state. When it can be saved nowhere it is printed, as the last thing that can be done for it.
func (op *Operation) Save(ctx context.Context, st *states.State) tfdiags.Diagnostics {
	end := op.Session.Timings.Phase("saving the state")
	diags := op.State.Store(ctx, st)
	end()
	for _, d := range diags {
		if unsaved, ok := d.Extra.(statemgr.Unsaved); ok {
			_, _ = op.Session.Err.Write(append(unsaved.Data, '\n'))
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
func EngineContext(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// lockPlan locks for a plan, which only reads: another plan's lock does not keep it from running.
func (s *Session) lockPlan(ctx context.Context, m *statemgr.Manager, timeout time.Duration, progress func(statemgr.Waiting)) tfdiags.Diagnostics {
	diags := m.Lock(ctx, OperationPlan, 0, nil)
	for _, d := range diags {
		if held, ok := d.Extra.(*backend.LockInfo); ok && held != nil && held.Operation == OperationPlan {
			return nil
		}
	}
	if diags.HasErrors() && timeout > 0 {
		return m.Lock(ctx, OperationPlan, timeout, progress)
	}
	return diags
}

// outputs are the root outputs of a state by name.
func Outputs(st *states.State) map[string]*states.Output {
	out := make(map[string]*states.Output)
	for _, name := range st.OutputNames() {
		out[name] = st.Output(name)
	}
	return out
}
