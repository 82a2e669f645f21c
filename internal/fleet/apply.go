package fleet

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Apply applies the plans of an archive. The selected root modules must be the ones in the archive.
// Apply skips root modules whose plans are already applied according to rec. Where an earlier run has begun,
// only the objects in agreed are destroyed beyond the plan; see Losses. The results include root modules
// that have no plan in the archive because they could not be planned.
func (run *Run) Apply(
	ctx context.Context, opts engine.ApplyOptions, from *Saved, rec *Record, agreed []Loss,
) []*Result {
	a := newApplying(run, opts, from, rec)
	a.agreed = agreed
	results := a.all(ctx)
	for _, f := range from.Failed {
		result := &Result{Root: &roots.Root{Name: f.Name, Dir: f.Dir}, Skipped: true, Unplanned: true, Why: f.why()}
		run.Show(result.Root, result, nil)
		results = append(results, result)
	}
	return results
}

// all applies the plans of the selected root modules.
func (a *applying) all(ctx context.Context) []*Result {
	return a.run.each(ctx, applyingRoots, a.from.Mode == plans.Destroy, a.root)
}

// applying is one run of Apply.
type applying struct {
	run     *Run
	opts    engine.ApplyOptions
	from    *Saved
	rec     *Record
	agreed  []Loss
	planned map[string]*Planned

	mu      sync.Mutex
	outputs map[string]map[string]cty.Value // outputs of finished root modules, by root module name
}

func newApplying(run *Run, opts engine.ApplyOptions, from *Saved, rec *Record) *applying {
	a := &applying{run: run, opts: opts, from: from, rec: rec, planned: make(map[string]*Planned, len(from.Roots)),
		outputs: make(map[string]map[string]cty.Value)}
	for _, p := range from.Roots {
		a.planned[p.Name] = p
	}
	return a
}

// root applies the plan of one root module, unless the plan waits or rec says that it is done.
func (a *applying) root(ctx context.Context, s *session.Session, r *roots.Root) *Result {
	p := a.planned[r.Name]
	result := &Result{Root: r, Plan: p.summary(), Why: p.WaitsFor(), applying: true}
	if result.Why != "" {
		return result
	}
	before := a.rec.last(r.Name)
	if before == stepDone {
		result.Done = true
		return result
	}
	if !p.Changes && !p.Records {
		result.Err = a.rec.set(r.Name, stepDone)
		return result
	}
	saved, err := a.open(ctx, s, r)
	if err == nil {
		err = a.checkInputs(ctx, s, p, saved)
	}
	if err != nil {
		result.Err = a.refused(r.Name, before, err)
		return result
	}
	if a.rec.begun(r.Name) {
		result.Err = a.again(ctx, s, saved, result)
	} else {
		result.Err = a.apply(ctx, s, saved, result)
	}
	return result
}

// open reads the plan of a root module. s is its session.
func (a *applying) open(ctx context.Context, s *session.Session, r *roots.Root) (*session.SavedPlan, error) {
	if err := a.setVariables(ctx, s, r); err != nil {
		return nil, err
	}
	return a.from.Plan(ctx, s, a.planned[r.Name], a.run.Options.Variables)
}

// apply applies the plan exactly as it was approved.
func (a *applying) apply(ctx context.Context, s *session.Session, saved *session.SavedPlan, result *Result) error {
	op, err := saved.Open(ctx, s, a.run.Options)
	if err != nil {
		return a.refused(result.Root.Name, "", err)
	}
	defer op.Close()
	return a.carryOut(ctx, op, saved.Plan, saved.ID, result)
}

// again creates and applies a new plan for a root module that an earlier run started but did not
// finish.
func (a *applying) again(ctx context.Context, s *session.Session, saved *session.SavedPlan, result *Result) error {
	op, plan, lost, err := a.left(ctx, s, result.Root, saved)
	if err != nil {
		return err
	}
	defer op.Close()
	s.Warnings.Add(s.Warnings.Take().Filter(func(d tfdiags.Diagnostic) bool { // the apply evaluates conditions again
		_, condition := d.Extra.(tfdiags.CheckRule)
		return !condition
	})...)
	if err := notAgreed(lost, a.agreed, a.rec.advice()); err != nil {
		return err
	}
	// A plan without changes is carried out, too: it writes what is only in the journal so far.
	return a.carryOut(ctx, op, plan, "", result)
}

// refused returns err. If err says that the plan of a root module can no longer be applied, and the
// root module was not started before, refused records this. before is the last recorded step of the
// root module, or "".
func (a *applying) refused(root string, before step, err error) error {
	if before == "" && isStale(err) {
		return tfdiags.Join(err, a.rec.set(root, stepStale))
	}
	return err
}

// carryOut applies a plan, and records the start and the end of this in the record of the run.
func (a *applying) carryOut(
	ctx context.Context, op *session.Operation, plan *plans.Plan, planID string, result *Result,
) error {
	root := result.Root.Name
	if err := a.rec.set(root, stepStarted); err != nil {
		return err
	}
	err := a.change(ctx, op, plan, planID, result)
	last := stepDone
	if err != nil {
		last = stepFailed
	}
	return tfdiags.Join(err, a.rec.set(root, last))
}

// change applies a plan and keeps the resulting outputs for other root modules.
func (a *applying) change(
	ctx context.Context, op *session.Operation, plan *plans.Plan, planID string, result *Result,
) error {
	opts := a.opts
	opts.Variables = op.Variables
	st, tally, err := op.Apply(ctx, plan, planID, &opts)
	if tally != nil && result.Plan.Changes {
		result.Applied = &ui.Applied{Counts: tally.Counts(), Destroy: plan.Mode == plans.Destroy}
	}
	if err != nil {
		return err
	}
	a.keep(result.Root.Name, st.OutputValues())
	op.Session.Printer.Diagnostics(op.Session.Warnings.Take())
	if result.Applied != nil {
		op.Session.Printer.Message(*result.Applied)
	}
	return nil
}

// keep stores the outputs of a finished root module for the root modules that read them.
func (a *applying) keep(root string, outputs map[string]cty.Value) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.outputs[root] = outputs
}

// checkInputs returns an error if the present outputs of other root modules contradict those from
// which a plan was created. It sets the state that the plan expects.
func (a *applying) checkInputs(ctx context.Context, s *session.Session, p *Planned, saved *session.SavedPlan) error {
	in, moved, err := a.from.inputs(ctx, s, p)
	if err != nil {
		return err
	}
	saved.Moved = moved
	var errs tfdiags.Diagnostics
	for _, root := range slices.Sorted(maps.Keys(in)) {
		actual, err := a.actual(ctx, s, root, in[root].read)
		if err == nil {
			err = contradictions(root, in[root].values, actual)
		}
		errs = errs.AppendError(err)
	}
	return errs.Err()
}

// actual returns the present outputs of a root module. If a data source has read them for the plan,
// actual reads them in the same way. s is the session of the root module with the data source.
func (a *applying) actual(
	ctx context.Context, s *session.Session, root string, read *session.RemoteState,
) (map[string]cty.Value, error) {
	a.mu.Lock()
	out, ok := a.outputs[root]
	a.mu.Unlock()
	if ok {
		return out, nil
	}
	if read != nil {
		out, _, err := s.ReadRemote(ctx, read)
		if err == nil {
			a.keep(root, out)
		}
		return out, err
	}
	r := a.run.Estate.ByName(root)
	if r == nil {
		return nil, tfdiags.Errorf("A root module is missing",
			"The plan depends on outputs of the root module %s, which was not found. Restore its directory, or make "+
				"a new plan.", root)
	}
	own := a.run.open(r, io.Discard, a.run.Session.Timings)
	defer own.Close()
	open, err := own.OpenState(ctx, session.StateRequest{Vars: a.run.Options.Variables})
	if err != nil {
		return nil, err
	}
	defer open.Close()
	out = open.State().OutputValues()
	a.keep(root, out)
	return out, nil
}
