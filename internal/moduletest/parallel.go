package moduletest

import (
	"context"
	"maps"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs"
	"tofu/internal/parallel"
)

// defaultWorkers is the number of runs that are executed at the same time if Runner.Workers is 0.
const defaultWorkers = 10

// next returns the runs, from the first on, that are executed at the same time. There are several only
// if all of them are parallel, no two of them share a state, and none refers to another.
func (f *fileRun) next(rest []*configs.TestRun) []*configs.TestRun {
	seen, keys := map[string]bool{}, map[stateKey]bool{}
	for i, run := range rest {
		key := f.execution(run).stateKey()
		if i > 0 && (!run.Parallel || keys[key] || f.refersTo(run, seen)) {
			return rest[:i]
		}
		if !run.Parallel {
			return rest[:1]
		}
		seen[run.Name], keys[key] = true, true
	}
	return rest
}

func (f *fileRun) execution(run *configs.TestRun) *execution {
	return &execution{fileRun: f, run: run, subject: f.Suite.subjects[run]}
}

// refersTo reports whether a run refers to one of the named runs, itself or through the providers of
// its file. Two runs with one name count as such a reference.
func (f *fileRun) refersTo(run *configs.TestRun, names map[string]bool) bool {
	if names[run.Name] {
		return true
	}
	exprs := make([]hcl.Expression, 0, len(run.Variables))
	for _, set := range []map[string]hcl.Expression{run.Variables, f.file.Variables} {
		for _, expr := range set {
			exprs = append(exprs, expr)
		}
	}
	for _, rule := range run.Asserts {
		exprs = append(exprs, rule.Condition, rule.ErrorMessage)
	}
	for _, p := range f.file.Providers {
		attrs, _ := p.Config.JustAttributes() // blocks are an error here, but don't matter to attributes
		for _, attr := range attrs {
			exprs = append(exprs, attr.Expr)
		}
	}
	for _, expr := range exprs {
		if expr == nil {
			continue
		}
		for _, tr := range expr.Variables() {
			if isRun(tr) && names[secondName(tr)] {
				return true
			}
		}
	}
	return false
}

// executeAll executes runs at the same time, or skips them, and returns their results in order. Each
// run works with a copy of what the file knows; what it has found out is added at the end.
func (f *fileRun) executeAll(ctx context.Context, runs []*configs.TestRun, wanted bool) []RunDone {
	out := make([]RunDone, len(runs))
	if !wanted {
		for i, run := range runs {
			out[i] = RunDone{Path: f.file.Name, Run: run.Name, Status: Skip}
		}
		return out
	}
	own := make([]*fileRun, len(runs))
	for i := range runs {
		own[i] = f
		if len(runs) > 1 {
			own[i] = f.copy()
			own[i].order += i // objects of later runs are destroyed first
		}
	}
	workers := f.Workers
	if workers == 0 {
		workers = defaultWorkers
	}
	parallel.Each(len(runs), workers, func(i int) {
		f.Observe(Started{f.file.Name, runs[i].Name})
		out[i] = own[i].execution(runs[i]).execute(ctx)
		f.Observe(Finished{f.file.Name, runs[i].Name})
	})
	if len(runs) > 1 {
		for _, part := range own {
			f.add(part)
		}
	}
	return out
}

// copy returns a file run that can be changed without changing f. The states are shared; runs that are
// executed at the same time have different ones.
func (f *fileRun) copy() *fileRun {
	out := *f
	out.modules, out.outputs = maps.Clone(f.modules), maps.Clone(f.outputs)
	out.validated = maps.Clone(f.validated)
	return &out
}

// add adds what a run has found out that worked with a copy of f.
func (f *fileRun) add(part *fileRun) {
	for key, m := range part.modules {
		if f.modules[key] == nil {
			f.modules[key] = m
		}
	}
	maps.Copy(f.outputs, part.outputs)
	maps.Copy(f.validated, part.validated)
	f.order = max(f.order, part.order)
}
