package fleet

import (
	"context"

	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
)

// Member is a root module that is planned together with others.
type Member struct {
	Root *roots.Root

	p      *planning
	inputs inputs
}

// Prepare makes the session in which the root module is planned use the planned outputs of the others.
func (m *Member) Prepare(ctx context.Context, s *session.Session) error {
	if m.p.selected[m.Root] { // with the others, so it is known which objects move between them
		s.Estate = &session.EstateMoves{Prior: m.p.run.Moved[m.Root]}
	}
	if m.p.opts.Mode != plans.Destroy {
		s.Remote = m.p.reader(s, m.Root, &m.inputs)
	}
	return m.p.setVariables(ctx, s, m.Root, &m.inputs)
}

// Planned records the planned outputs, for root modules that are planned afterwards, and returns the
// summary of the plan.
func (m *Member) Planned(op *session.Operation, plan *plans.Plan) *PlanSummary {
	about := summarize(op, plan)
	if about.Changes || about.Deferred > 0 {
		about.Waits = m.inputs.waitsFor()
	}
	outputs := plannedOutputs(plan, about)
	outputs.enforced = op.Session.Encryption.Evaluated.Enforced()
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.p.outputs[m.Root] = outputs
	return about
}

// Guarded returns an error if the plan must not be stored in clear text, as the session would do.
func (m *Member) Guarded(s *session.Session) error {
	if len(m.inputs.guarded) == 0 || planTarget(s).Encrypts() {
		return nil
	}
	return m.inputs.inClearText(m.Root.Name)
}

// PlanEach is like Plan for callers that plan in sessions of their own: it calls plan for each root module
// of the run, after those that it needs. plan must call the methods of the member. planning lists the root
// modules that count as planned in the same run, whether or not they are.
func (run *Run) PlanEach(
	ctx context.Context, mode plans.Mode, planning []*roots.Root, plan func(context.Context, *Member) error,
) []*Result {
	p := run.planning(engine.PlanOptions{Mode: mode}, nil)
	for _, r := range planning {
		p.selected[r] = true
	}
	q := run.order(mode == plans.Destroy)
	results := make([]*Result, len(q.list))
	w := dag.NewWalker(q.graph)
	w.LowestFirst = true
	w.Walk(ctx, DefaultRoots, func(id dag.ID) bool {
		if results[id] = run.blocked(ctx, q, id, results); results[id] != nil {
			return true
		}
		r := q.list[id]
		results[id] = &Result{Root: r, Err: r.Err}
		if r.Err == nil {
			results[id].Err = plan(ctx, &Member{Root: r, p: p})
		}
		return true
	})
	return results
}

// Alone returns a root module that is planned by itself, with the outputs that the states of others have. For
// a destruction, only its variables are set from them.
func (run *Run) Alone(r *roots.Root, mode plans.Mode) *Member {
	return &Member{Root: r, p: run.planning(engine.PlanOptions{Mode: mode}, nil)}
}
