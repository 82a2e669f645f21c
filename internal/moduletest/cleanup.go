package moduletest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// cleanUp destroys everything that the runs of the file created, starting with the latest. It
// reports whether there were no errors and nothing is left. A first interrupt stops only the runs;
// a second one also stops cleanUp.
func (f *fileRun) cleanUp(ctx context.Context) bool {
	clean := true
	defer f.closeStates()
	list := slices.DeleteFunc(slices.Collect(maps.Values(f.modules)),
		func(m *moduleState) bool { return m.last == nil })
	slices.SortFunc(list, func(a, b *moduleState) int { return cmp.Compare(b.order, a.order) })
	for _, m := range list {
		if m.last.run.SkipCleanup {
			clean = f.skip(m) && clean
			continue
		}
		clean = f.destroy(ctx, m) && clean
	}
	return clean
}

// closeStates releases the locks of stored states, and reports errors.
func (f *fileRun) closeStates() {
	for _, m := range f.modules {
		if m.stored == nil {
			continue
		}
		if err := m.stored.Close(); err != nil {
			f.Observe(Cleaned{Path: f.file.Name, Diagnostics: tfdiags.FromError(err)})
		}
	}
}

// skip leaves the objects of a state, as its last run wants it. It reports whether their state is
// stored.
func (f *fileRun) skip(m *moduleState) bool {
	kept := m.kept()
	out := Skipped{Path: f.file.Name, Run: m.last.run.Name, Left: objects(kept)}
	if len(out.Left) == 0 {
		return true
	}
	var err error
	if m.stored == nil {
		out.StateFile, err = f.Keep(kept)
	}
	out.Diagnostics = tfdiags.FromError(err)
	f.Observe(out)
	return err == nil
}

// destroy destroys the objects that the runs of one module created. For the objects in the module's
// state, it uses the configuration of the last run. For each object that was set aside, it uses the
// configuration of the last run that used the object.
func (f *fileRun) destroy(ctx context.Context, m *moduleState) bool {
	var found tfdiags.Diagnostics
	if !m.state.Empty() {
		st, err := f.destroyAs(ctx, m.last, m.state, found.Add)
		found, m.state = found.AppendError(err), st
	}
	left := m.real()
	byRun := map[*execution]*states.State{}
	for addr, obj := range m.aside {
		if byRun[obj.last] == nil {
			byRun[obj.last] = states.New()
		}
		putBack(byRun[obj.last], addr, obj)
	}
	for _, e := range slices.SortedFunc(maps.Keys(byRun),
		func(a, b *execution) int { return strings.Compare(a.run.Name, b.run.Name) }) {
		st, err := f.destroyAs(ctx, e, byRun[e], found.Add)
		found = found.AppendError(err)
		for r := range st.Resources() {
			for key, inst := range r.Instances {
				putBack(left, r.Addr.Instance(key), realObject{instance: inst, provider: r.Provider})
			}
		}
	}
	if m.stored != nil {
		err := m.stored.Store(ctx, left)
		found = found.AppendError(err)
	}
	return f.report(ctx, m, left, found)
}

// report sends the problems found to the observer and saves the objects that remain. It returns
// true if there are neither errors nor remaining objects.
func (f *fileRun) report(ctx context.Context, m *moduleState, left *states.State, found tfdiags.Diagnostics) bool {
	rest := objects(left)
	if len(rest) == 0 {
		if len(found) > 0 {
			f.Observe(Cleaned{Path: f.file.Name, Run: m.last.run.Name, Diagnostics: found})
		}
		return found.Err() == nil
	}
	if ctx.Err() != nil {
		f.Observe(Abandoned{Path: f.file.Name, Run: m.last.run.Name, Left: rest})
	}
	var where string
	var err error
	if m.stored == nil {
		where, err = f.Keep(left)
	}
	f.Observe(Cleaned{Path: f.file.Name, Run: m.last.run.Name, Diagnostics: found.AppendError(err), Left: rest,
		StateFile: where})
	return false
}

// destroyAs destroys the objects in a state with the configuration of the run e. It returns the
// remaining state even if there is an error.
func (f *fileRun) destroyAs(
	ctx context.Context, e *execution, st *states.State, warn tfdiags.Sink,
) (*states.State, error) {
	overlay := *e.overlay
	overlay.Unprotected = true
	config, err := e.load(ctx, &overlay, tfdiags.Drop) // the run has already reported its warnings
	if err != nil {
		return st, err
	}
	env := e.env(func(warnings ...tfdiags.Diagnostic) {
		// Failed conditions of destroyed objects are not reported.
		warn(tfdiags.Diagnostics(warnings).Filter(func(d tfdiags.Diagnostic) bool { return failedObject(d) == "" })...)
	})
	env.Stop = nil // a first interrupt does not stop the destruction
	plan, err := engine.Plan(ctx, config, st, env, &engine.PlanOptions{Mode: plans.Destroy, Variables: e.values})
	if err != nil {
		return st, err
	}
	env.Warn = warn
	after, err := engine.Apply(ctx, config, plan, env, &engine.ApplyOptions{Variables: e.values})
	if after == nil {
		after = st
	}
	return after, err
}
