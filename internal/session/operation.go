package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/lint"
	"tofu/internal/moves"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/refresh"
	"tofu/internal/repeat"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/progress"
)

// Names of operations in lock information.
const (
	OperationPlan    = "OperationTypePlan"
	OperationApply   = "OperationTypeApply"
	OperationRefresh = "OperationTypeRefresh"
	// OperationRead is for operations that change nothing: they take no lock.
	OperationRead = ""
)

// Operation is a run of the engine with a configuration, an initial state, and providers.
type Operation struct {
	Name      string // one of the constants above, such as OperationPlan
	Session   *Session
	Config    *Config
	Location  *Location
	State     *OpenedState
	Providers *Providers
	Env       *engine.Env
	Variables map[string]engine.Variable

	options OperationOptions
	started time.Time
	drifted []string      // objects whose values in the last plan are not those in the state
	ages    *refresh.Ages // nil until the state is read
	run     *lastRun      // what the applies of the operation have changed; nil for nothing
	begun   bool          // whether the data directory has what an apply that has not ended changes
	data    *refresh.Data // nil if data sources are not remembered
	retry   *repeat.Retry
}

// OperationOptions holds the options that all operations share.
type OperationOptions struct {
	Variables Variables
	// RestOf, if not nil, is a saved plan, whose values of variables are used as in an apply of it.
	RestOf *plans.Plan
	Paths  StatePaths
	Lock   LockOptions
	// Limits limit the calls of providers. Slots, if not nil, has the limits already: several operations
	// share them.
	Limits pace.Limits
	Slots  *pace.Slots
	// Found, if not nil, gets the names in Limits and Refresh that one of several operations has.
	Found *sync.Map
	// Refresh selects the objects that plans read. UsualRefresh says that the CLI configuration decides
	// whether plans read only what they must.
	Refresh      refresh.Options
	UsualRefresh bool
	// Retries says how often failed steps of an apply are tried again, if that is safe.
	Retries int
	// Memory, if not nil, has what earlier plans of the root module have found out. When objects were last
	// read is then not recorded.
	Memory *Memory
	// Lint selects rules whose findings are warnings. It may be nil.
	Lint *lint.Selection
}

// StartOperation prepares an operation: it loads the configuration, reads the values of variables,
// opens the backend, locks and reads the state, and checks the providers. If there is no error, the
// caller must close the operation, which releases the lock.
func (s *Session) StartOperation(ctx context.Context, opts OperationOptions, name string) (_ *Operation, err error) {
	s.Live.Phase("Loading the configuration", 0)
	defer s.Live.Phase("", 0)
	if opts.Memory != nil {
		s.reads = &planReads{}
		s.FileRead = s.reads.file
	}
	given, err := s.collectRest(opts.RestOf, opts.Variables)
	if err != nil {
		return nil, err
	}
	root, err := s.LoadRootModuleWith(ctx, given)
	if err != nil {
		return nil, err
	}
	op := &Operation{Name: name, Session: s, Providers: s.prepareProviders(ctx), options: opts}
	defer func() {
		if err != nil && op.Providers != nil {
			op.Providers.Close()
		}
	}()
	req := StateRequest{Paths: opts.Paths, Lock: opts.Lock, Operation: name}
	p, err := s.Locate(ctx, root, req)
	if err != nil {
		return nil, err
	}
	if runner, ok := p.Store.(backend.Runner); ok {
		if err := runner.LocalOperations(ctx, p.Workspace); err != nil {
			return nil, tfdiags.Errorf("The operation can't run here", "%s", tfdiags.Sentence(err))
		}
	}
	if maker, ok := p.Store.(backend.Maker); ok && opts.Paths.State == "" && name != OperationRead {
		if err := maker.Make(ctx, p.Workspace); err != nil {
			return nil, err
		}
	}
	if name != OperationApply {
		s.Encryption.Check(root, s.Warnings.Add)
	}
	op.Location = p
	op.Config, err = s.LoadConfig(ctx, root.Given)
	if err != nil {
		// Report missing providers together with missing modules.
		if locked, lockErr := readPackages(s, tfdiags.Drop); lockErr == nil {
			err = tfdiags.Join(err, locked.missing())
		}
		return nil, err
	}
	s.Warnings.Add(lint.Check(op.Config.Config, s.Parser, opts.Lint)...)
	op.Variables, err = op.Config.Variables(ctx, s, NeedValues)
	if err != nil {
		return nil, err
	}
	if err := op.Open(ctx, req); err != nil {
		return nil, err
	}
	if name == OperationRead {
		return op, nil
	}
	if err := op.State.CreateIfMissing(ctx, s.Warnings.Add); err != nil {
		op.Close()
		op.Providers = nil // closed
		return nil, err
	}
	return op, nil
}

// Open locks and reads the state, and checks the providers. If it returns an error, it has released
// the lock.
func (op *Operation) Open(ctx context.Context, req StateRequest) (err error) {
	op.Session.Live.Phase("Reading the state", 0)
	op.State, err = op.Session.ReadState(ctx, op.Location, req)
	if err != nil {
		return err
	}
	op.Session.Live.Phase("Checking the providers", 0)
	if e := op.Session.Estate; e != nil && e.Prior != nil {
		op.State.Replace(e.Prior)
	}
	op.State.Replace(Adopt(op.State.State(), op.Config.Config, op.Session.Env))
	if err := op.checkLimits(); err != nil {
		return tfdiags.Join(err, op.State.Close())
	}
	// Providers that only the state needs are checked after planning. The error can then say which
	// objects need them.
	needs := Requirements(op.Config.Config, nil)
	if op.Providers == nil {
		op.Providers, err = op.Session.OpenProviders(needs)
	} else {
		err = op.Session.useProviders(op.Providers, needs)
	}
	if err != nil {
		return tfdiags.Join(err, op.State.Close())
	}
	op.Env = op.Session.Environment(op.Providers, op.Location.Workspace)
	op.started = time.Now()
	op.loadAges(ctx)
	op.loadData(ctx)
	op.Env.Known = &graph.Known{}
	op.limitCalls()
	return nil
}

// checkLimits returns an error for the first provider in the options for limits that is not used.
func (op *Operation) checkLimits() error {
	var used []string
	for p := range Requirements(op.Config.Config, op.State.State()) {
		used = append(used, p.String())
	}
	for _, name := range op.options.Limits.Names() {
		known := slices.ContainsFunc(used, func(p string) bool { return pace.Matches(name, p) })
		if op.missing(name, known) {
			return UnknownProvider(name, "neither the configuration nor the state uses", suggest.DidYouMean(name, types(used)))
		}
	}
	return nil
}

// checkTypes warns of options for types that match nothing in the state.
func (op *Operation) checkTypes(st *states.State) {
	var used []string
	for r := range st.Resources() {
		used = append(used, r.Addr.Resource.Type)
	}
	for _, pattern := range op.options.Refresh.Patterns() {
		if op.missing(pattern, st.Empty() || refresh.Matches(pattern, st)) {
			op.Session.Warnings.Add(UnknownType(pattern, "the state", suggest.DidYouMean(pattern, used)))
		}
	}
}

// UnknownProvider returns the error for a name in the options for limits. uses is what was found out, such as "nothing
// uses"; hint may be "".
func UnknownProvider(name, uses, hint string) tfdiags.Diagnostic {
	return tfdiags.Errorf("Unknown provider in an option", "-parallelism or -provider-rate names the provider %q, which %s.%s",
		name, uses, hint)
}

// UnknownType returns the warning for a name in the options for the types that are read. where is what was searched;
// hint may be "".
func UnknownType(name, where, hint string) tfdiags.Diagnostic {
	return tfdiags.Warningf("No such type", "An option for the types that are read names %q, which is neither a type nor a "+
		"provider of any resource in %s.%s", name, where, hint)
}

// missing reports whether a name in an option is a mistake. If other operations share the options, that is not known
// yet.
func (op *Operation) missing(name string, known bool) bool {
	if found := op.options.Found; found != nil {
		if known {
			found.Store(name, true)
		}
		return false
	}
	return !known
}

// types returns the types in addresses of providers.
func types(providers []string) []string {
	out := make([]string, len(providers))
	for i, p := range providers {
		out[i] = p[strings.LastIndex(p, "/")+1:]
	}
	return out
}

// limitCalls sets the slots for calls, and makes providers repeat calls that are safe to repeat.
func (op *Operation) limitCalls() {
	env := op.Env
	if env.Slots = op.options.Slots; env.Slots == nil {
		env.Slots = pace.New(op.options.Limits.Over(op.Session.CLI.Limits))
		op.Session.Timings.Limited(env.Slots.Report)
	}
	slots, start, reuse := env.Slots, env.Provider, env.Reuse
	op.retry = &repeat.Retry{Times: op.options.Retries, Stop: env.Stop, Tell: func(text string) { op.Session.Say("%s", text) }}
	repeats := func(addr addrs.Provider, impl providers.Interface) providers.Interface {
		if impl == nil || addr.IsBuiltin() {
			return impl
		}
		return repeat.Provider(impl, addr.ForDisplay(), slots, op.Session.Timings, op.retry)
	}
	env.Provider = func(ctx context.Context, addr addrs.Provider) (providers.Interface, error) {
		impl, err := start(ctx, addr)
		return repeats(addr, impl), err
	}
	env.Reuse = func(addr addrs.Provider, config cty.Value) providers.Interface {
		return repeats(addr, reuse(addr, config))
	}
}

// Environment returns the environment of the engine for a workspace.
func (s *Session) Environment(running *Providers, workspace string) *engine.Env {
	return &engine.Env{
		Provider: running.Provider, Reuse: running.Reuse, Schema: running.Schema, Provisioner: running.provisioners.byType,
		Observe: s.Printer.Event, Warn: s.Warnings.Add, Timings: s.Timings, Stop: s.Interrupts.Stop,
		Workspace: workspace, WorkDir: s.WorkDir, RootModule: s.RootDir, Base: s.Base,
		CheckReads: s.CheckReads, ProviderSecret: s.providerSecret(), FileRead: s.FileRead,
	}
}

// Close stops the providers and releases the lock.
func (op *Operation) Close() {
	if op.Providers != nil {
		op.Providers.Close()
	}
	if op.State != nil {
		op.saveAges()
		op.saveData()
		op.Session.Release(op.State)
	}
}

// Plan validates the configuration, plans, and prints the plan. After an error, it also returns and
// prints an incomplete plan, with two exceptions: an apply doesn't print a plan without instances,
// and a destroy plan is not printed if it has no changes.
func (op *Operation) Plan(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, error) {
	plan, err := op.PlanUnseen(ctx, opts)
	if plan != nil && (err == nil || HasChanges(plan) || opts.Mode != plans.Destroy &&
		(op.Name != OperationApply || len(plan.Changes.Instances) > 0)) {
		op.ShowPlan(ctx, &ui.PlanView{Plan: plan})
	}
	return plan, err
}

// PlanUnseen is like Plan, but doesn't print. It can return both a plan and an error.
func (op *Operation) PlanUnseen(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, error) {
	plan, err := op.PlanQuietly(ctx, opts)
	if op.Session.Interrupts.Stopped() && err == nil {
		err = tfdiags.Errorf("Execution halted", "The operation was interrupted while planning, so nothing of this "+
			"plan was applied.")
	}
	return plan, err
}

// QuietEnv returns an environment without progress output.
func (op *Operation) QuietEnv() *engine.Env {
	quiet := *op.Env
	quiet.Observe = nil
	return &quiet
}

// Defers reports whether a plan may defer changes that can't be planned yet. With
// TOFU_DEFER=off in the environment, such changes are errors, as in OpenTofu.
func Defers(getenv func(string) string) bool { return getenv("TOFU_DEFER") != "off" }

// PlanQuietly validates the configuration and plans, without printing. It returns errors in the
// configuration before it reads objects. It can return both a plan and an error.
func (op *Operation) PlanQuietly(ctx context.Context, opts *engine.PlanOptions) (*plans.Plan, error) {
	live := op.Session.Live
	live.Phase("Validating", 0)
	defer live.Phase("", 0)
	var in *planInputs
	memory := op.options.Memory
	if memory != nil {
		in = op.inputs(opts)
		if k := memory.same(ctx, op, in); k != nil {
			op.Session.Warnings.Add(k.warnings...)
			return k.plan, op.Providers.packages.check(Requirements(nil, op.State.State()))
		}
		memory.begin()
	}
	var validated, planned, warnings tfdiags.Diagnostics
	warn := func(list ...tfdiags.Diagnostic) {
		warnings = append(warnings, list...)
		op.Session.Warnings.Add(list...)
	}
	quiet := op.QuietEnv()
	quiet.Warn = validated.Add
	same := op.findsUnchanged(ctx, opts)
	if same != nil {
		same.Warnings = func() tfdiags.Diagnostics { return slices.Concat(validated, planned) }
		quiet.Unchanged = same
	}
	err := engine.Validate(terminal.UntilAbort(ctx), op.Config.Config, quiet)
	warn(validated...)
	if err = tfdiags.Join(err, op.checkMoves()); err != nil {
		return nil, err
	}
	op.Session.remote.take() // drop the reads of an earlier plan
	opts.Variables = op.Variables
	opts.Defer = opts.Defer && Defers(op.Session.Env)
	env := op.observed(op.Env)
	if op.options.Memory != nil {
		again := *op.Env // without recording when objects were read
		env, opts.LeaveOut = &again, true
	}
	env.Warn, env.Unchanged = planned.Add, quiet.Unchanged
	phase := progress.Planning
	if opts.Mode == plans.RefreshOnly {
		phase = progress.Refreshing
	}
	live.Phase(phase, managedInstances(op.State.State()))
	run := &refresh.Run{Options: op.options.Refresh, Ages: op.ages, Data: op.data, Now: op.started,
		Answers: op.options.Memory.answered()}
	run.Minimal = run.Minimal || op.options.UsualRefresh && op.Session.CLI != nil && op.Session.CLI.MinimalRefresh
	plan, err := run.Plan(terminal.UntilAbort(ctx), op.Config.Config, op.State.State(), env, opts)
	if plan != nil && plan.PrevRun != nil {
		op.checkTypes(plan.PrevRun)
		op.drifted = refresh.Differing(plan)
		op.ages.Forget(op.drifted)
	}
	// Remove addresses before comparing: validation names resources, and planning names instances.
	reported := validated.Map(func(d *tfdiags.Diagnostic) { d.Address = "" })
	warn(planned.Dedup(reported)...)
	if err != nil {
		return plan, err
	}
	if same != nil {
		op.saveUnchanged(same, plan)
	}
	if err := op.Providers.packages.check(Requirements(nil, op.State.State())); err != nil {
		return nil, err
	}
	err = op.setFootprint(ctx, plan, opts)
	if memory != nil && err == nil {
		memory.remember(op, in, plan, warnings)
	}
	return plan, err
}

// managedInstances returns the number of managed instances in a state, all of which a plan visits.
func managedInstances(st *states.State) int {
	n := 0
	for r := range st.Resources() {
		if r.Addr.Resource.Mode == addrs.Managed {
			n += len(r.Instances)
		}
	}
	return n
}

// applySteps returns the number of steps that the progress display counts in an apply of the plan: two
// for a replacement, none for a change without a provider call, and one for any other and for each action.
func applySteps(plan *plans.Plan) int {
	n := 0
	for range plan.Changes.Invocations() {
		n++
	}
	for _, c := range plan.Changes.Instances {
		switch {
		case c.Action == plans.DeleteThenCreate, c.Action == plans.CreateThenDelete:
			n += 2
		case c.Action == plans.Delete && c.Addr.Resource.Mode == addrs.Data, c.Action == plans.NoOp,
			c.Action == plans.Forget:
		default:
			n++
		}
	}
	return n
}

// HasChanges reports whether the plan has a change of any instance, even one that leaves the object as
// it is, or invokes an action.
func HasChanges(plan *plans.Plan) bool {
	for _, c := range plan.Changes.Instances {
		if c.Action != plans.NoOp {
			return true
		}
	}
	return len(plan.Changes.Invoked) > 0
}

// ShowPlan prints a plan. It sets the configuration and the schemas of view.
func (op *Operation) ShowPlan(ctx context.Context, view *ui.PlanView) {
	defer op.Session.Timings.Phase("output")()
	view.Config = op.Config.Config
	// Drop warnings: every planned resource has a schema.
	view.Schemas = op.Providers.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)
	view.Plan.Warnings = op.Session.Warnings.planned() // they have the places of failed checks
	op.Session.Printer.Plan(view)
}

// Apply applies a plan and saves the resulting state, even after errors and interrupts. If it
// returns an error, it also returns the state, unless the apply could not begin.
func (op *Operation) Apply(
	ctx context.Context, plan *plans.Plan, planID string, opts *engine.ApplyOptions,
) (*states.State, *ui.Tally, error) {
	defer op.Session.Interrupts.Record()()
	claimed, err := op.claimed(ctx, plan)
	if err != nil {
		return nil, nil, err
	}
	op.State.MoveDoubts(func(st *states.State) *states.State {
		st, _ = moves.Apply(op.Config.Config, st, tfdiags.Drop) // the plan has warned
		return st
	})
	if err := op.State.Begin(ctx, &statemgr.Run{State: plan.Prior, PlanID: planID, Footprint: claimed}); err != nil {
		return nil, nil, err
	}
	op.beginRun(plan)
	tally := &ui.Tally{}
	tally.Expect(plan)
	env := *op.Env
	env.InDoubt = op.State.InDoubt
	env.Observe = func(e engine.Event) {
		op.ages.Observe(e, op.started)
		Journal(op.State.Manager, e)
		op.Session.Interrupts.Running.Add(runs(e))
		tally.Observe(e)
		op.Session.Printer.Event(e)
	}
	phase := progress.Applying
	if plan.Mode == plans.Destroy {
		phase = progress.Destroying
	}
	op.Session.Live.Phase(phase, applySteps(plan))
	op.Session.Live.Parallel(op.Env.Slots.Changes())
	defer op.Session.Live.Phase("", 0)
	op.retry.Begin()
	defer op.retry.End()
	st, err := engine.Apply(terminal.UntilAbort(ctx), op.Config.Config, plan, &env, opts)
	op.ages.Applied(plan)
	if op.Session.Interrupts.Stopped() && err == nil {
		err = tfdiags.Errorf("Execution halted",
			"The operation was interrupted. The state has the changes so far; plan again to see the remaining ones.")
	}
	op.Session.Incomplete = nil
	if err != nil {
		view := &ui.PlanView{Plan: plan, Config: op.Config.Config,
			Schemas: op.Providers.Schemas(terminal.UntilAbort(ctx), tfdiags.Drop)}
		done := tally.Incomplete(view, tfdiags.FromError(err))
		op.Session.Incomplete = &done
	}
	if st == plan.Prior && err != nil {
		// Nothing has changed, so there is nothing to save. Unlocking removes the journal.
		op.endRun()
		return st, tally, err
	}
	saveErr := op.Save(ctx, st)
	op.recordRun(plan, st) // even if the state wasn't saved: "state push" can do that later
	if saveErr == nil {
		op.endRun()
	}
	return st, tally, tfdiags.Join(err, saveErr)
}

// runs returns by how much an event changes the number of operations that run.
func runs(e engine.Event) int32 {
	switch e := e.(type) {
	case engine.ApplyStart:
		if e.Action != plans.Read {
			return 1
		}
	case engine.ApplyDone:
		if e.Action != plans.Read {
			return -1
		}
	}
	return 0
}

// Save saves the final state. If the state can't be stored anywhere, Save prints it as a last
// resort.
func (op *Operation) Save(ctx context.Context, st *states.State) error {
	op.Session.Live.Phase("Saving the state", 0)
	end := op.Session.Timings.Phase("saving the state")
	err := op.State.Store(ctx, st)
	end()
	if err == nil {
		op.ages.Renewed(op.drifted, op.started)
		op.State.Replace(st) // the next plan of the operation starts from st
	}
	for _, d := range tfdiags.FromError(err) {
		if unsaved, ok := d.Extra.(statemgr.Unsaved); ok {
			_, _ = op.Session.Err.Write(append(unsaved.Data, '\n'))
		}
	}
	return err
}

// Journal writes an event of an apply to the journal of a state. It must come before other observers.
func Journal(m *statemgr.Manager, e engine.Event) {
	switch e := e.(type) {
	case engine.ApplyStart:
		m.Started(statemgr.Operation{
			Addr: e.Addr, Deposed: stepKey(e.Object), Action: e.Action, Provider: e.Provider, From: e.From,
			Planned: states.MarkSensitive(e.Planned, e.Sensitive), Builtin: e.Builtin,
		})
	case engine.ObjectStored:
		m.Stored(e.Addr, e.Deposed, e.New, e.Provider)
	case engine.ObjectMoved:
		m.Moved(e.Addr, e.From, e.To, e.Object, e.Provider)
	case engine.ApplyDone:
		if !e.InDoubt { // otherwise the next commands report the step
			m.Ended(e.Addr, stepKey(e.Object))
		}
	}
}

// stepKey returns the key that distinguishes steps of one address: invocations of an action by different
// objects run at the same time.
func stepKey(o engine.Object) addrs.DeposedKey {
	if o.From == "" {
		return o.Deposed
	}
	sum := sha256.Sum256([]byte(o.From))
	return addrs.DeposedKey(hex.EncodeToString(sum[:4]))
}
