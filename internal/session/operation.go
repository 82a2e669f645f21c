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
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Names of operations in lock information.
const (
	OperationPlan    = "OperationTypePlan"
	OperationApply   = "OperationTypeApply"
	OperationRefresh = "OperationTypeRefresh"
)

// Operation is a run of the engine with a configuration, its initial state, and providers.
type Operation struct {
	Session   *Session
	Config    *Config
	Location  *Location
	State     *OpenedState
	Providers *Providers
	Env       *engine.Env
	Variables map[string]engine.Variable
}

// OperationOptions are the options that all operations share.
type OperationOptions struct {
	Variables Variables
	Paths     StatePaths
	Lock      LockOptions
}

// StartOperation prepares an operation: it loads the configuration, reads the values of variables,
// opens the backend, locks and reads the state, and checks the providers. Unless there are errors,
// the caller must close the operation, which releases the lock.
func (s *Session) StartOperation(
	ctx context.Context, opts OperationOptions, name string,
) (*Operation, tfdiags.Diagnostics) {
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
	if more.HasErrors() { // packages may be missing as well as modules: report both
		return nil, diags.AppendError(s.missingPackages())
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

// Open locks and reads the state and checks the providers. It leaves nothing open if there are
// errors.
func (op *Operation) Open(ctx context.Context, req StateRequest) tfdiags.Diagnostics {
	var diags, more tfdiags.Diagnostics
	op.State, diags = op.Session.ReadState(ctx, op.Location, req)
	if diags.HasErrors() {
		return diags
	}
	op.State.Replace(op.Session.Adopt(op.State.State(), op.Config.Config))
	// Providers that only the state needs are checked after planning, where the error can say which
	// objects need them.
	op.Providers, more = op.Session.OpenProviders(Requirements(op.Config.Config, nil))
	diags = diags.Append(more...)
	if more.HasErrors() {
		return diags.AppendError(op.State.Close())
	}
	op.Env = op.Session.Environment(op.Providers, op.Location.Workspace)
	op.Env.Known = &graph.Known{}
	return diags
}

// Environment returns the environment of the engine.
func (s *Session) Environment(running *Providers, workspace string) *engine.Env {
	return &engine.Env{
		Provider: running.Provider, Schema: running.Schema, Provisioner: running.provisioners.byType,
		Observe: s.Printer.Event, Timings: s.Timings, Workspace: workspace, WorkDir: s.WorkDir, RootModule: s.RootDir,
		Stop: s.Interrupts.Stop,
	}
}

// Close ends the providers and releases the lock.
func (op *Operation) Close() {
	if op.Providers != nil {
		op.Providers.Close(op.Session)
	}
	if op.State != nil {
		op.Session.Release(op.State)
	}
}

// Plan validates the configuration, plans, and prints the plan. It also prints and returns a plan
// with errors, except that a plan without any objects is printed only if it is not going to be
// applied.
func (op *Operation) Plan(
	ctx context.Context, opts *engine.PlanOptions, toApply bool,
) (*plans.Plan, tfdiags.Diagnostics) {
	plan, diags := op.PlanQuietly(ctx, opts)
	if op.Session.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted",
			"The operation was interrupted while planning. Nothing was changed."))
	}
	if plan != nil && (!diags.HasErrors() || HasChanges(plan) || opts.Mode != plans.Destroy &&
		(!toApply || len(plan.Changes.Instances) > 0)) {
		op.ShowPlan(ctx, plan, false)
	}
	return plan, diags
}

// QuietEnv returns an environment without progress output.
func (op *Operation) QuietEnv() *engine.Env {
	quiet := *op.Env
	quiet.Observe = nil
	return &quiet
}

// PlanQuietly validates the configuration and plans without printing. Errors in the configuration
// are returned before anything is read.
func (op *Operation) PlanQuietly(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	quiet := op.QuietEnv()
	quiet.Warn = diags.Add
	if err := engine.Validate(terminal.UntilAbort(ctx), op.Config.Config, quiet); err != nil {
		return nil, diags.AppendError(err)
	}
	opts.Variables = op.Variables
	var planned tfdiags.Diagnostics
	env := *op.Env
	env.Warn = planned.Add
	plan, err := engine.Plan(terminal.UntilAbort(ctx), op.Config.Config, op.State.State(), &env, opts)
	// validation names resources, planning names instances
	said := diags.Map(func(d *tfdiags.Diagnostic) { d.Address = "" })
	diags = diags.Append(planned.AppendError(err).Dedup(said)...)
	if !diags.HasErrors() {
		diags = diags.AppendError(op.Providers.check(Requirements(nil, op.State.State())))
		if diags.HasErrors() {
			plan = nil
		}
	}
	return plan, diags
}

// HasChanges reports whether the plan changes any object.
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
	var ignored tfdiags.Diagnostics // every planned resource has a schema
	op.Session.Printer.Plan(&ui.PlanView{
		Plan: plan, Config: op.Config.Config, Schemas: op.Providers.Schemas(terminal.UntilAbort(ctx), &ignored),
		Saved: saved,
	})
}

// Apply applies a plan and saves the state, even after errors and interrupts.
func (op *Operation) Apply(
	ctx context.Context, plan *plans.Plan, planID string, opts *engine.ApplyOptions,
) (*states.State, *ui.Tally, tfdiags.Diagnostics) {
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
	var diags tfdiags.Diagnostics
	env.Warn = diags.Add
	st, err := engine.Apply(terminal.UntilAbort(ctx), op.Config.Config, plan, &env, opts)
	diags = diags.AppendError(err)
	if op.Session.Interrupts.Stopped() && !diags.HasErrors() {
		diags = diags.Append(tfdiags.Errorf("Execution halted",
			"The operation was interrupted. What was done before is in the state; plan again to see what is left."))
	}
	if st == plan.Prior && diags.HasErrors() {
		return st, tally, diags // refused before the first change; unlocking removes the journal
	}
	return st, tally, diags.AppendError(op.Save(ctx, st))
}

// Save writes the final state. If it can't be saved anywhere, Save prints it as a last resort.
func (op *Operation) Save(ctx context.Context, st *states.State) error {
	end := op.Session.Timings.Phase("saving the state")
	err := op.State.Store(ctx, st)
	end()
	for _, d := range tfdiags.FromError(err) {
		if unsaved, ok := d.Extra.(statemgr.Unsaved); ok {
			_, _ = op.Session.Err.Write(append(unsaved.Data, '\n'))
		}
	}
	return err
}

// journal records events durably before other observers receive them.
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
		if !e.Abandoned { // an abandoned call stays in the journal for the next command
			m.Ended(e.Addr, e.Deposed)
		}
	}
}

// lockPlan locks the state for a plan. Plans only read, so another plan's lock does not prevent
// them.
func (s *Session) lockPlan(
	ctx context.Context, m *statemgr.Manager, timeout time.Duration, progress func(statemgr.Waiting),
) error {
	err := m.Lock(ctx, OperationPlan, 0, nil)
	for _, d := range tfdiags.FromError(err) {
		if held, ok := d.Extra.(*backend.LockInfo); ok && held != nil && held.Operation == OperationPlan {
			return nil
		}
	}
	if err != nil && timeout > 0 {
		err = m.Lock(ctx, OperationPlan, timeout, progress)
	}
	return err
}

// Outputs returns the root outputs of a state by name.
func Outputs(st *states.State) map[string]*states.Output {
	out := make(map[string]*states.Output)
	for _, name := range st.OutputNames() {
		out[name] = st.Output(name)
	}
	return out
}
