package session

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/engine"
	"tofu/internal/engine/graph"
	"tofu/internal/explain"
	"tofu/internal/states/statemgr"
	"tofu/internal/terminal"
	"tofu/internal/ui"
)

// Explained returns a plan of the operation in the form that package explain needs. It stays usable
// after the operation is closed.
func (op *Operation) Explained(ctx context.Context, view *ui.PlanView) (*explain.Subject, error) {
	of, err := Explained(ctx, view, op.QuietEnv(), op.Providers.Locks)
	if err != nil {
		return nil, err
	}
	if h, ok := op.Location.Store.(statemgr.Historian); ok {
		of.History = &explain.History{Historian: h, Workspace: op.Location.Workspace}
	}
	return of, nil
}

// Explained returns a plan in the form that package explain needs. It reports no warnings, because
// planning has reported them. locks has the versions of the providers.
func Explained(ctx context.Context, view *ui.PlanView, env *engine.Env, locks *depsfile.Locks) (*explain.Subject, error) {
	quiet := *env
	quiet.Warn = nil
	op := engine.GraphOperation(view.Config, view.Plan.Prior, &quiet, engine.GraphApply, view.Plan)
	built, err := graph.Build(terminal.UntilAbort(ctx), op)
	if err != nil {
		return nil, err
	}
	versions := map[addrs.Provider]string{}
	for _, addr := range locks.Providers() {
		if lock, ok := locks.Provider(addr); ok {
			versions[addr] = lock.Version.String()
		}
	}
	values := func(ctx context.Context) (*engine.PlannedValues, error) {
		return engine.EvalPlanned(terminal.UntilAbort(ctx), view.Config, view.Plan, &quiet)
	}
	return &explain.Subject{View: view.Source(), Graph: built, Keys: op.Early(built), Versions: versions,
		Values: values}, nil
}
