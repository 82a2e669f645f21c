package fleet

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/memo"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// PlanSummary is the part of a plan that a run keeps in memory.
type PlanSummary struct {
	Counts    planview.Counts
	Changes   bool     // applying the plan would change something
	Records   bool     // no changes, but applying updates data source results in the state
	Warns     bool     // the plan has warnings
	Deferred  int      // number of changes that can't be planned yet
	Unknown   []string // names of unknown variables
	Waits     []string // see Planned.Waits
	Serial    uint64
	Lineage   string
	Workspace string
	// Looked says how much of the state the plan has read. Limited says that it is not all.
	Looked   plans.Looked
	Limited  bool
	Vanished []string // see plans.Plan
	At       time.Time
}

// left reports whether there are changes that can be planned only after the plan is applied.
func (s *PlanSummary) left() bool { return s.Deferred > 0 || len(s.Waits) > 0 }

// Shown reports whether views show the plan: whether it has changes, failed checks or warnings.
func (s *PlanSummary) Shown() bool {
	return s.Changes || s.Deferred > 0 || s.Counts.Checks > 0 || s.Warns
}

// row returns the root module of the given name as tables show it.
func (s *PlanSummary) row(name string) planview.Root {
	out := planview.Root{Name: name, Counts: s.Counts, Note: s.waitsFor()}
	out.Counts.Deferred = s.Deferred
	out.Unchanged = !s.Changes && out.Counts == planview.Counts{}
	return out
}

func (s *PlanSummary) waitsFor() string {
	if len(s.Waits) == 0 {
		return ""
	}
	return "it waits for deferred changes of " + strings.Join(s.Waits, ", ")
}

// Plan plans all root modules of the run and adds the plans to an archive.
func (run *Run) Plan(ctx context.Context, opts engine.PlanOptions, into *Archive) []*Result {
	p := run.planning(opts, into)
	for _, r := range run.Selected {
		p.selected[r] = true
	}
	return p.all(ctx)
}

func (run *Run) planning(opts engine.PlanOptions, into *Archive) *planning {
	return &planning{run: run, opts: opts, into: into, outputs: make(map[*roots.Root]*outputs),
		selected: make(map[*roots.Root]bool)}
}

// all plans the selected root modules of the run.
func (p *planning) all(ctx context.Context) []*Result {
	return p.run.each(ctx, planningRoots, p.opts.Mode == plans.Destroy, func(
		ctx context.Context, s *session.Session, r *roots.Root,
	) *Result {
		result := p.root(ctx, s, r)
		if result.Err != nil && p.into != nil {
			if err := p.into.fail(ctx, s, r, p.run.Options.Variables, result.Err); err != nil {
				result.Err = tfdiags.Join(result.Err, err)
			}
		}
		return result
	})
}

// planning is one run of Plan.
type planning struct {
	run      *Run
	opts     engine.PlanOptions
	into     *Archive
	selected map[*roots.Root]bool
	stored   memo.Map[*roots.Root, *outputs] // outputs in states

	mu      sync.Mutex
	outputs map[*roots.Root]*outputs // outputs of finished root modules
}

// outputs are the planned outputs of a root module.
type outputs struct {
	values map[string]cty.Value
	// undecided lists outputs that don't have their final values after the plan is applied, because
	// some changes are deferred.
	undecided []string
	// enforced is true if the root module enforces encryption.
	enforced bool
}

// planned returns the planned outputs of a root module, or nil if it is not planned yet.
func (p *planning) planned(r *roots.Root) *outputs {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outputs[r]
}

// root plans one root module.
func (p *planning) root(ctx context.Context, s *session.Session, r *roots.Root) *Result {
	result := &Result{Root: r, Err: r.Err}
	if r.Err != nil {
		return result
	}
	m := &Member{Root: r, p: p}
	if result.Err = m.Prepare(ctx, s); result.Err != nil {
		return result
	}
	op, err := s.StartOperation(ctx, p.run.Options, session.OperationPlan)
	if err != nil {
		result.Err = err
		return result
	}
	defer op.Close()
	if !p.run.Events {
		op.Env.Observe = p.run.observer(r, s.Printer)
	}
	opts := p.opts
	plan, err := op.PlanUnseen(ctx, &opts)
	if err != nil {
		result.Err = err
		return result
	}
	result.Plan = m.Planned(op, plan)
	if result.Plan.Changes || result.Plan.Deferred > 0 || result.Plan.Counts.Checks > 0 && !p.run.Events {
		op.ShowPlan(ctx, &ui.PlanView{Plan: plan})
	}
	result.Why = result.Plan.waitsFor()
	if p.into == nil {
		return result
	}
	result.Err = p.save(ctx, op, r, plan, result.Plan, &m.inputs)
	return result
}

// save adds a plan to the archive.
func (p *planning) save(
	ctx context.Context, op *session.Operation, r *roots.Root, plan *plans.Plan, about *PlanSummary, in *inputs,
) error {
	var data []byte
	open := p.into.seal == nil && !planTarget(op.Session).Encrypts()
	onlyShown := !about.Changes && !about.Records // there is nothing to apply
	if !onlyShown || about.Shown() && (!open || len(in.guarded) == 0) {
		var err error
		if data, err = op.EncodePlan(terminal.UntilAbort(ctx), plan); err != nil {
			return err
		}
	}
	if moved := p.run.Moved[r]; moved != nil && !onlyShown {
		var err error
		if in.moved, err = session.StateSum(moved); err != nil {
			return err
		}
	}
	switch {
	case open && len(in.guarded) > 0 && data != nil:
		return in.inClearText(r.Name)
	case open:
		in.withoutGuarded() // nothing will be applied
	}
	from, err := in.encode(op.Session)
	if err != nil {
		return err
	}
	return p.into.add(r, data, about, from)
}

// onlyReads reports whether applying a plan only reads data sources. For example, the root module
// may read outputs of another root module that don't change.
func onlyReads(plan *plans.Plan) bool {
	reads := 0
	for _, c := range plan.Changes.Instances {
		switch {
		case c.MovedFrom != nil, c.Importing != nil:
			return false
		case c.Action == plans.Read:
			reads++
		case c.Action != plans.NoOp:
			return false
		}
	}
	for _, o := range plan.Changes.Outputs {
		if o.Action != plans.NoOp {
			return false
		}
	}
	return reads > 0 && plan.Applyable && plan.Mode == plans.Normal
}

// looked returns how much of the state a plan has read, and whether that is not all.
func looked(plan *plans.Plan) (l plans.Looked, limited bool) {
	if plan.Looked != nil {
		return *plan.Looked, true
	}
	if plan.PrevRun != nil {
		for r := range plan.PrevRun.Resources() {
			if r.Addr.Resource.Mode == addrs.Managed {
				l.Objects += len(r.Instances)
			}
		}
	}
	l.Read = l.Objects
	return l, false
}

func summarize(op *session.Operation, plan *plans.Plan) *PlanSummary {
	reads := onlyReads(plan)
	read, limited := looked(plan)
	return &PlanSummary{Looked: read, Limited: limited, Vanished: plan.Vanished, At: plan.Timestamp,
		Counts: planview.Count(plan), Changes: plan.Applyable && !reads,
		Records: reads || !plan.Applyable && plan.Mode == plans.Normal &&
			!(statefile.Equal(plan.Prior, op.State.State()) && statefile.SameProviders(plan.Prior, op.State.State())),
		Warns:    op.Session.Warnings.Any(),
		Deferred: len(plan.Deferred) + len(plan.DeferredModules), Unknown: plan.UnknownVariables(),
		Serial: op.State.Snapshot.Serial, Lineage: op.State.Snapshot.Lineage, Workspace: op.Location.Workspace}
}

// plannedOutputs returns the root outputs that the state will have after the plan is applied. about
// is the summary of the plan.
func plannedOutputs(plan *plans.Plan, about *PlanSummary) *outputs {
	out := &outputs{values: plan.Prior.OutputValues()}
	for _, o := range plan.Changes.Outputs {
		switch {
		case o.Action == plans.NoOp:
		case len(about.Waits) > 0, o.Undecided: // a plan that waits is not applied
			out.undecided = append(out.undecided, o.Name)
		}
		if o.Action == plans.Delete || o.After.IsNull() { // states have no null outputs
			delete(out.values, o.Name)
			continue
		}
		out.values[o.Name] = o.After
	}
	return out
}

// reader returns a function for reading the outputs in the states that a root module reads. The
// function returns the planned outputs of root modules in this run, and the present outputs of all
// others. It also adds the outputs that the root module uses to its inputs.
func (p *planning) reader(s *session.Session, reader *roots.Root, in *inputs) func(
	context.Context, *session.RemoteState, session.RemoteReader) (map[string]cty.Value, bool, error) {
	return func(
		_ context.Context, state *session.RemoteState, read session.RemoteReader,
	) (map[string]cty.Value, bool, error) {
		id, err := roots.Identify(s, state.Settings, state.Workspace)
		if err != nil {
			return nil, false, err
		}
		of := p.run.Estate.ByState(id)
		if of == nil || of == reader {
			return read()
		}
		planned, used := p.planned(of), reader.ReadBy(state.Data.Config())
		switch {
		case planned != nil:
			in.add(of.Name, used, planned)
			return planned.values, true, nil
		case p.selected[of] && !used.Empty():
			return nil, false, tfdiags.Errorf("The order of root modules was not known",
				"%s reads the state of %s, which is planned in the same run. That was not known before, because the "+
					"settings of the data source depend on values that only the plan knows. Declare in roots.tofu.hcl "+
					"that %s comes after %s, with the argument \"after\".", reader.Name, of.Name, reader.Name, of.Name)
		}
		values, found, err := read()
		switch {
		case err != nil:
		case !found && !p.selected[of]:
			err = neverApplied(reader, of)
		case found && !used.Empty():
			in.addRead(of.Name, used, values, state)
		}
		return values, found, err
	}
}
