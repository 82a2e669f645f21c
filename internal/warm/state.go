package warm

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/ui"
	"tofu/internal/ui/driftview"
)

// State is the state of the selected workspace.
type State struct {
	Answer
	View    *ui.StateView // nil if the state could not be read
	Version string        // of the program that wrote the state; "" without a state
	Serial  uint64
	Lineage string
}

// State reads the state. With addresses it has only what is at them. It takes no lock.
func (m *Module) State(ctx context.Context, only ...addrs.Target) (*State, error) {
	out := &State{}
	answer, err := m.ask(ctx, nil, func(ctx context.Context, q *question) error {
		open, err := q.OpenState(ctx, session.StateRequest{Vars: q.opts.Variables})
		if err != nil {
			return err
		}
		defer q.Release(open)
		st := session.ForDisplay(selected(open.State(), only), q.LockFile(), q.Env)
		running, err := q.OpenProviders(session.Requirements(nil, st))
		if err != nil {
			return err
		}
		defer running.Close()
		schemas, err := running.LoadSchemas(ctx, st)
		if err != nil {
			return err
		}
		out.View = &ui.StateView{State: st, Schemas: schemas}
		out.Version, out.Serial, out.Lineage = open.Snapshot.Version, open.Snapshot.Serial, open.Snapshot.Lineage
		return nil
	})
	out.Answer = answer
	return out, err
}

// selected returns the part of a state that is at some addresses, or all of it without addresses.
func selected(st *states.State, only []addrs.Target) *states.State {
	if len(only) == 0 {
		return st
	}
	out := states.New()
	for r := range st.Resources() {
		instances := map[addrs.InstanceKey]*states.Instance{}
		for key, inst := range r.Instances {
			for _, target := range only {
				if target.ContainsInstance(r.Addr.Instance(key)) {
					instances[key] = inst
				}
			}
		}
		if len(instances) > 0 {
			part := *r
			part.Instances = instances
			out.AddResource(&part)
		}
	}
	return out
}

// Drift has the changes that were made outside.
type Drift struct {
	Answer
	Report *driftview.Report // nil if nothing could be found out
}

// Drift reads the objects in the state, and reports what was changed outside, as `tofu drift` does.
func (m *Module) Drift(ctx context.Context, observe func(engine.Event)) (*Drift, error) {
	out := &Drift{}
	answer, err := m.ask(ctx, observe, func(ctx context.Context, q *question) error {
		if err := m.prepare(ctx, q); err != nil {
			return err
		}
		op, err := q.StartOperation(ctx, session.OperationOptions{Variables: q.opts.Variables, Lint: q.opts.Lint},
			session.OperationRead)
		if err != nil {
			return err
		}
		defer op.Close()
		out.Report, err = fleet.DriftOf(ctx, op, engine.PlanOptions{Defer: true}, false, observe)
		return err
	})
	out.Answer = answer
	return out, err
}
