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

// cleanUp destroys everything that the file's runs made, the latest first, and tells whether nothing is left. An interrupt, which
// ends runs, does not end this; a second one does.
func (f *fileRun) cleanUp(ctx context.Context) bool {
	clean := true
	list := slices.DeleteFunc(slices.Collect(maps.Values(f.modules)),
		func(m *moduleState) bool { return m.last == nil })
	slices.SortFunc(list, func(a, b *moduleState) int { return cmp.Compare(b.order, a.order) })
	for _, m := range list {
		clean = f.destroy(ctx, m) && clean
	}
	return clean
}

// destroy destroys the objects of one state: those in it as the last run knew them, and those put aside as the last run did that
// knew these.
func (f *fileRun) destroy(ctx context.Context, m *moduleState) bool {
	var diags tfdiags.Diagnostics
	if !m.state.Empty() {
		st, more := f.destroyAs(ctx, m.last, m.state)
		diags, m.state = append(diags, more...), st
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
		st, more := f.destroyAs(ctx, e, byRun[e])
		diags = append(diags, more...)
		for r := range st.Resources() {
			for key, inst := range r.Instances {
				putBack(left, r.Addr.Instance(key), realObject{instance: inst, provider: r.Provider})
			}
		}
	}
	return f.report(m, left, diags)
}

// report tells what went wrong and hands over what is left.
func (f *fileRun) report(m *moduleState, left *states.State, diags tfdiags.Diagnostics) bool {
	rest := objects(left)
	if len(rest) == 0 {
		if len(diags) > 0 {
			f.Observe(Cleaned{Path: f.file.Name, Run: m.last.run.Name, Diagnostics: diags})
		}
		return !diags.HasErrors()
	}
	if stopped(f.Env.Kill) {
		f.Observe(Abandoned{Path: f.file.Name, Run: m.last.run.Name, Left: rest})
	}
	where, err := f.Keep(left)
	if err != nil {
		diags = diags.AppendError(err)
	}
	f.Observe(Cleaned{Path: f.file.Name, Run: m.last.run.Name, Diagnostics: diags, Left: rest, StateFile: where})
	return false
}

// destroyAs destroys what is in a state with the configuration of a run. Whatever happens it gives what is left.
func (f *fileRun) destroyAs(ctx context.Context, e *execution, st *states.State) (*states.State, tfdiags.Diagnostics) {
	overlay := *e.overlay
	overlay.Unprotected = true
	config, diags := e.load(ctx, &overlay)
	if diags.HasErrors() {
		return st, diags
	}
	diags = nil // the run said it
	env := e.env()
	env.Stop = env.Kill
	plan, more := engine.Plan(ctx, config, st, env, &engine.PlanOptions{Mode: plans.Destroy, Variables: e.values})
	// What the conditions say of objects that go away is no news.
	diags = append(diags, slices.DeleteFunc(more, func(d tfdiags.Diagnostic) bool {
		return d.Severity == tfdiags.Warning && failedObject(d) != ""
	})...)
	if plan == nil || diags.HasErrors() {
		return st, diags
	}
	after, more := engine.Apply(ctx, config, plan, env, &engine.ApplyOptions{Variables: e.values})
	if after == nil {
		after = st
	}
	return after, append(diags, more...)
}
