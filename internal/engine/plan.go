package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/graph"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang/marks"
	"tofu/internal/moves"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Plan returns the changes that make the objects in prior match the configuration. If there are
// errors, the plan is marked as errored and holds everything that could be planned. It is nil if
// nothing could be planned, for example because the graph could not be built.
func Plan(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, opts *PlanOptions,
) (*plans.Plan, error) {
	if opts == nil {
		opts = &PlanOptions{}
	}
	if prior == nil {
		prior = states.New()
	}
	defer env.Timings.Phase("plan")()
	own := *env
	if own.Known == nil {
		own.Known = &graph.Known{} // a plan may build more than one graph
	}
	if own.Warn == nil {
		own.Warn = func(...tfdiags.Diagnostic) {}
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if err := opts.checkInvoke(cfg); err != nil {
		return nil, err
	}
	if len(opts.Invoke) > 0 {
		invoking := *opts
		invoking.Mode, invoking.Targets, invoking.callers, opts = plans.RefreshOnly, nil, opts.Targets, &invoking
	}
	if opts.Mode == plans.Destroy {
		return planDestroy(ctx, cfg, prior, &own, opts)
	}
	return planNormal(ctx, cfg, prior, &own, opts)
}

func (o *PlanOptions) check() error {
	switch {
	case len(o.Targets) > 0 && len(o.Excludes) > 0:
		return tfdiags.Errorf("Incompatible plan options", "-target and -exclude can't be used together.")
	case o.Mode == plans.RefreshOnly && o.SkipRefresh:
		return tfdiags.Errorf("Incompatible plan options",
			"A refresh-only plan without refreshing would do nothing: leave out -refresh=false or -refresh-only.")
	case o.Mode != plans.Normal && o.Past != nil:
		return tfdiags.Errorf("Incompatible plan options", "-against can't be used with -destroy or -refresh-only.")
	case o.Mode != plans.Normal && len(o.ForceReplace) > 0:
		return tfdiags.Errorf("Incompatible plan options", "-replace can't be used with -destroy or -refresh-only.")
	}
	return nil
}

// maxLeftOut is the largest number of addresses that the warning about targets lists.
const maxLeftOut = 10

// warnOfTargets warns that a plan has targets or exclusions. The warning lists the changes that are
// left out because of them.
func (o *PlanOptions) warnOfTargets(left []graph.LeftOut, warn tfdiags.Sink) {
	if len(o.Targets)+len(o.Excludes) == 0 || len(o.Imports) > 0 || o.preDestroy || warn == nil {
		return
	}
	text := "With -target or -exclude the plan may not cover all changes that the configuration requires. " +
		"These options are for exceptional situations, such as recovering from errors. Run a plan " +
		"without them afterwards."
	if len(left) > 0 {
		reason := "they refer to what is excluded"
		switch {
		case len(o.Targets) > 0:
			reason = "no target includes them, although they refer to what is planned"
		case o.Mode == plans.Destroy:
			reason = "what is excluded depends on them"
		}
		text += "\n\nLeft out because " + reason + ":"
		for _, l := range left[:min(maxLeftOut, len(left))] {
			text += "\n  - " + l.What
			if l.Why != "" {
				text += " " + l.Why
			}
		}
		if more := len(left) - maxLeftOut; more > 0 {
			text += fmt.Sprintf("\n  - and %d more", more)
		}
	}
	warn(tfdiags.Warningf(TargetsWarning, "%s", text))
}

func (o *PlanOptions) operation(cfg *configs.Config, prior *states.State, env *Env) *operation {
	op := newOperation(phase.Plan, cfg, prior, env)
	op.Mode, op.Targets, op.Excludes, op.CommandImports, op.Generate = o.Mode, o.Targets, o.Excludes, o.Imports,
		o.GenerateConfig
	op.Invoke, op.callers = o.Invoke, o.callers
	op.defers = o.Defer && o.Mode != plans.Destroy
	op.refresh, op.answers, op.data, op.readDone = o.Refresh, o.Answers, o.Data, o.ReadDone
	op.remembers = o.LeaveOut
	op.omits = (o.SkipRefresh || o.Refresh != nil) && o.NotSaved || o.LeaveOut
	op.skipRefresh, op.variables, op.timestamp = o.SkipRefresh, o.Variables, env.now().UTC().Truncate(time.Second)
	if o.RestOf != nil {
		op.setDeferred(o.RestOf)
	}
	op.inspect(o.Inspect)
	if len(o.ForceReplace) > 0 {
		op.forceReplace = map[addrs.AbsInstance]bool{}
		op.forceWhole = map[addrs.ConfigResource][]addrs.AbsInstance{}
		for _, addr := range o.ForceReplace {
			op.forceReplace[addr] = true
			if at := addr.Config(); addr.Key == addrs.NoKey {
				op.forceWhole[at] = append(op.forceWhole[at], addr)
			}
		}
	}
	return op
}

// planNormal plans the changes that make the objects match the configuration. In a refresh-only
// plan, it only records changes made outside of OpenTofu.
func planNormal(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, opts *PlanOptions,
) (*plans.Plan, error) {
	op, err := opts.normalOperation(cfg, prior, env)
	if err != nil {
		return nil, err
	}
	w, err := newWalk(ctx, op, op.Prior)
	if err != nil {
		opts.warnOfTargets(nil, env.Warn)
		return nil, err
	}
	return w.plan(ctx, opts)
}

// normalOperation applies moved blocks to the state and returns the operation of planNormal.
func (o *PlanOptions) normalOperation(cfg *configs.Config, prior *states.State, env *Env) (*operation, error) {
	if err := moves.Validate(cfg); err != nil {
		return nil, err
	}
	moved, results := moves.Apply(cfg, prior, env.Warn)
	if o.Mode == plans.Normal {
		if err := moves.ValidateRemoved(cfg); err != nil {
			return nil, err
		}
	}
	if !o.preDestroy {
		if err := results.CheckKeys(cfg); err != nil {
			return nil, err
		}
	}
	op := o.operation(cfg, moved, env)
	op.moves, op.PreDestroy, op.ByInstance = results, o.preDestroy, true
	if o.Past != nil {
		op.past = newPastObjects(cfg, o.Past, moved, results)
	}
	if err := op.checkMovedTargets(); err != nil {
		o.warnOfTargets(nil, env.Warn)
		return nil, err
	}
	return op, nil
}

// plan walks the graph of a plan and returns the resulting plan.
func (w *walk) plan(ctx context.Context, opts *PlanOptions) (*plans.Plan, error) {
	op, env := w.op, w.op.env
	opts.warnOfTargets(w.graph.LeftOut, env.Warn)
	w.out.prevRun = op.Prior.Clone()
	err := w.run(ctx)
	f := finisher{w}
	f.removeOutputs()
	f.checkAddresses(opts)
	undone := moves.CheckInstances(op.Config, f.moduleInstances, f.declares)
	if op.moves.Cycle != nil {
		if undone == nil { // the errors in undone explain the cycle better
			undone = op.moves.Cycle
		}
		return nil, undone
	}
	err = tfdiags.Join(undone, err) // undone comes first, because it may have caused err
	f.deferNeeded()
	f.planCheckReads()
	f.checkImportedOnce()
	f.warnOfMissing()
	f.setUndecided()
	if err == nil && !opts.preDestroy {
		err = f.checkInvoked()
	}
	plan := f.plan(opts, err != nil)
	if generateErr := f.writeGenerated(plan); generateErr != nil {
		err = tfdiags.Join(err, generateErr)
		plan.Errored, plan.Applyable = true, false
	}
	if err == nil && opts.Mode == plans.Normal && !opts.preDestroy && plan.Destroys() && generatedChanges(plan) == nil {
		// Report cycles now instead of during apply. Only deletions can cause a cycle.
		defer env.Timings.Phase("order of the changes")()
		_, err = graph.Build(ctx, &applyOperation(op.Config, plan, env, nil).Operation)
		plan.Errored = err != nil
		plan.Applyable = plan.Applyable && !plan.Errored
	}
	if err == nil {
		w.recordUnchanged(plan)
	}
	return plan, err
}

// moduleInstances returns the addresses of a module's instances.
func (f finisher) moduleInstances(path addrs.Module) []addrs.ModuleInstance {
	w := f.w
	m := w.graph.Modules[path]
	if m == nil || m.Config == nil {
		return nil
	}
	instances := w.modules.of(m)
	out := make([]addrs.ModuleInstance, len(instances))
	for i, in := range instances {
		out[i] = in.addr
	}
	return out
}

// declares reports whether the configuration declares the given resource instance.
func (f finisher) declares(addr addrs.AbsInstance) bool {
	w := f.w
	r := w.graph.Resource(addr.Config())
	if r == nil || r.Config == nil {
		return false
	}
	in := w.modules.at(r.Module, addr.Module)
	if in == nil {
		return false
	}
	_, ok := in.resources[r.Slot].has(addr.Key)
	return ok
}

// checkMovedTargets returns an error unless the targets or exclusions select both addresses of each
// move.
func (o *operation) checkMovedTargets() error {
	if !o.Selective() {
		return nil
	}
	sel := reads.SelectOthers(o.Excludes)
	if len(o.Targets) > 0 {
		sel = reads.Select(o.Targets)
	}
	var missing []string
	for to, from := range o.moves.From {
		for _, addr := range []addrs.AbsInstance{from, to} {
			if !sel.Has(addr) {
				missing = append(missing, addr.String())
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	advice, bullet := "Add these options:", "\n  - -target="
	if len(o.Excludes) > 0 {
		advice, bullet = "Don't exclude these addresses or modules that contain them:", "\n  - "
	}
	return tfdiags.Errorf("Moved resource instances excluded by targeting",
		"Objects in the state are moved to new addresses, but the plan doesn't include both addresses of each move. "+
			"%s%s%s", advice, bullet, strings.Join(slices.Compact(missing), bullet))
}

// finisher turns the results of a walk into a plan or a state.
type finisher struct{ w *walk }

// removeOutputs plans the removal of root outputs that are no longer declared, or of all root
// outputs if everything is destroyed. Plans with targets or exclusions, and plans that restore an
// earlier state, remove none.
func (f finisher) removeOutputs() {
	w := f.w
	if w.op.Selective() || w.op.past != nil {
		return
	}
	for _, name := range w.op.Prior.OutputNames() {
		if w.op.Config.Module.Outputs[name] != nil && w.op.Mode != plans.Destroy {
			continue
		}
		prior := w.op.Prior.Output(name)
		change := &plans.OutputChange{Name: name, Action: plans.Delete, Before: prior.Value,
			After: cty.NullVal(cty.DynamicPseudoType), Sensitive: prior.Sensitive}
		if prior.Sensitive {
			change.Before = change.Before.Mark(marks.Sensitive)
		}
		w.out.changes.AddOutput(change)
	}
}

// plan builds the plan from the results of the walk.
func (f finisher) plan(opts *PlanOptions, errored bool) *plans.Plan {
	w := f.w
	w.out.state.PruneSince(w.op.Prior)
	if w.out.prevRun != nil {
		w.out.prevRun.Prune()
	}
	plan := &plans.Plan{
		Mode: opts.Mode, Errored: errored, Timestamp: w.op.timestamp,
		Complete: !w.op.Selective() && opts.Past == nil && len(w.out.deferred)+len(w.deferrals.modules) == 0,
		Deferred: w.out.deferred, DeferredModules: w.deferrals.modules,
		Variables: map[string]cty.Value{}, EphemeralVariables: map[string]bool{},
		VariableSources: map[string]string{},
		Targets:         opts.Targets, Excludes: opts.Excludes, ForceReplace: opts.ForceReplace,
		Changes: w.out.changes, PrevRun: w.out.prevRun, Prior: w.out.state, Checks: w.out.checks,
	}
	for name, v := range w.op.Config.Module.Variables {
		given, ok := opts.Variables[name]
		switch {
		case v.Ephemeral.Value:
			plan.EphemeralVariables[name] = ok
		case ok && given.Value != cty.NilVal:
			plan.Variables[name], plan.VariableSources[name] = given.Value, given.From
		}
	}
	plan.Changes.Sort()
	plans.SortDeferred(plan.Deferred)
	slices.Sort(plan.DeferredModules)
	for _, c := range plan.Changes.Instances {
		if c.Action == plans.CreateThenDelete {
			c.ReplaceDeposed = newDeposedKey(w.out.state.Instance(c.Addr))
		}
	}
	plan.Applyable = !errored && (f.changesAnything() || plan.Mode == plans.RefreshOnly && f.refreshed())
	if w.out.prevRun != nil {
		f.repairDependencies(w.out.prevRun)
		w.out.prevRun.RepairDependencies(states.DependencyRepair{Before: w.out.prevRun, Moved: w.op.moves.All(),
			Present: w.out.state})
	}
	plan.Past = f.past(opts)
	plan.Drift = f.drift()
	if w.out.prevRun != nil && w.op.moves != nil {
		// An apply needs PrevRun with the new addresses in dependencies. The displayed and stored
		// dependencies keep the old ones.
		w.out.prevRun.RenameDependencies(w.op.moves.From)
	}
	if !opts.NotSaved || len(plan.Drift) > 0 {
		plan.RelevantAttributes = f.relevantAttributes()
	}
	if len(plan.Drift) > 0 {
		plan.Read = f.traceReads().found.sorted()
	}
	if opts.Refresh != nil {
		plan.Cone = f.cone()
	}
	return plan
}

// changesAnything reports whether the plan has anything to apply: an action, a move, an import or
// the change of an output. Removing a data source from the state does not count.
func (f finisher) changesAnything() bool {
	w := f.w
	for _, c := range w.out.changes.Instances {
		if c.Action != plans.NoOp && !(c.Action == plans.Delete && c.Addr.Resource.Mode == addrs.Data) ||
			c.MovedFrom != nil || c.Importing != nil {
			return true
		}
	}
	return len(w.out.changes.Invoked) > 0 || slices.ContainsFunc(w.out.changes.Outputs,
		func(o *plans.OutputChange) bool { return o.Action != plans.NoOp })
}

// newDeposedKey returns a key that no deposed object of the instance has.
func newDeposedKey(inst *states.Instance) addrs.DeposedKey {
	for {
		var b [4]byte
		if _, err := rand.Read(b[:]); err != nil {
			panic("unreachable: the system's random source does not fail: " + err.Error())
		}
		key := addrs.DeposedKey(hex.EncodeToString(b[:]))
		if inst == nil || inst.Deposed[key] == nil {
			return key
		}
	}
}

// planDestroy refreshes everything with a normal plan, and then plans to destroy all existing
// objects.
func planDestroy(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, opts *PlanOptions,
) (*plans.Plan, error) {
	held := &tfdiags.Diagnostics{} // warnings to report after the one about targets
	warn := env.Warn
	env.Warn = func(warnings ...tfdiags.Diagnostic) {
		if held != nil {
			held.Add(warnings...)
			return
		}
		warn(warnings...)
	}
	w, prevRun, err := destroyWalk(ctx, cfg, prior, env, opts)
	var left []graph.LeftOut
	if w != nil {
		left = w.graph.LeftOut
	}
	opts.warnOfTargets(left, warn)
	warn(*held...)
	held = nil
	if err != nil {
		return nil, err
	}
	err = w.run(ctx)
	w.out.prevRun = prevRun
	f := finisher{w}
	f.removeOutputs()
	f.checkAddresses(opts)
	return f.plan(opts, err != nil), err
}

// destroyWalk refreshes everything with a normal plan, unless the state is empty or refreshing is
// disabled. It returns the walk that plans to destroy all existing objects, and the state as it was
// before the refresh.
func destroyWalk(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *Env, opts *PlanOptions,
) (w *walk, prevRun *states.State, err error) {
	start, prevRun := prior, prior
	var results *moves.Results
	var refreshed map[*states.Object]objectState
	if opts.SkipRefresh || prior.Empty() {
		start, results = moves.Apply(cfg, prior, env.Warn)
		if results.Cycle != nil {
			return nil, nil, results.Cycle
		}
		prevRun = start.Clone()
	} else {
		refresh := *opts
		refresh.Mode, refresh.preDestroy = plans.Normal, true
		own := *env
		var warnings tfdiags.Diagnostics
		own.Warn = warnings.Add // of changes that this plan doesn't make, unless it ends here
		plan, err := planNormal(ctx, cfg, prior, &own, &refresh)
		if err != nil {
			env.Warn(warnings...)
			return nil, nil, err // without the refresh, it is unknown which objects still exist
		}
		start, prevRun, refreshed = plan.Prior, plan.PrevRun, refreshedObjects(plan)
	}
	if opts.SkipRefresh || len(opts.Targets)+len(opts.Excludes) > 0 {
		start = opts.withLostInstances(ctx, cfg, start, env)
	}
	op := opts.operation(cfg, start, env)
	op.Phase, op.moves, op.refreshed = phase.PlanDestroy, results, refreshed
	w, err = newWalk(ctx, op, start)
	if err == nil && !start.Empty() {
		err = newEarlyValues(op, w.graph).validateVariables()
	}
	return w, prevRun, err
}

// refreshedObjects returns the values of managed objects that a plan has read and that it keeps or
// changes.
func refreshedObjects(plan *plans.Plan) map[*states.Object]objectState {
	out := make(map[*states.Object]objectState, len(plan.Changes.Instances))
	for _, c := range plan.Changes.Instances {
		if obj := plan.Prior.Object(c.Addr, c.Deposed); obj != nil && c.Addr.Resource.Mode == addrs.Managed {
			out[obj] = objectState{value: c.Before, identity: c.BeforeIdentity, obj: obj}
		}
	}
	return out
}

// TargetsWarning is the summary of the warning about targets and exclusions.
const TargetsWarning = "Resource targeting is in effect"
