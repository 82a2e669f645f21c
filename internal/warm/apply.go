package warm

import (
	"context"
	"path/filepath"
	"time"

	"tofu/internal/engine"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
)

// Proposal is a plan that waits for an approval.
type Proposal struct {
	*Plan
	Digest  string    // of the saved plan; "" if the plan has errors
	Expires time.Time // until when the plan is kept
	Dir     string    // the directory of the stored plan, in which other files are removed with it
}

// Propose plans as [Module.Plan] does and stores the plan, so that an approval outside of this process
// can name it and [Module.Apply] can apply exactly this plan.
func (m *Module) Propose(ctx context.Context, opts PlanOptions) (*Proposal, error) {
	out := &Proposal{}
	opts.save = func(ctx context.Context, op *session.Operation, plan *Plan) error {
		data, err := op.EncodePlan(ctx, plan.View.Plan)
		if err != nil {
			return err
		}
		out.Expires = time.Now().Add(ProposalLife)
		proposals := m.core.proposals(op.Session)
		out.Dir = filepath.Join(proposals.Dir, proposalsDir)
		out.Digest, err = proposals.add(data)
		return err
	}
	var err error
	out.Plan, err = m.Plan(ctx, opts)
	return out, err
}

// expire makes all plans read again what an apply may have changed.
func (c *Core) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.modules {
		m.memory.Expire()
	}
}

func (c *Core) proposals(s *session.Session) *Proposals {
	return &Proposals{Dir: s.DataDir, Keys: c.process.CLI.ApprovalKeys}
}

// Applied is the result of an apply.
type Applied struct {
	Answer
	Begun   bool // whether the apply began; what it has done is in the state, even after errors
	Counts  planview.Counts
	Outputs map[string]*states.Output
	Defers  bool         // whether the plan has left changes for another plan
	View    *ui.PlanView // the applied plan with its configuration and schemas; nil unless the apply began
}

// Apply applies exactly the proposed plan with a digest. It must be approved: by token, which may be
// nil, or by what `tofu approve` has stored; that uses the approval up. If ctx ends, the apply ends as
// after an interrupt: what was started is finished and recorded.
func (m *Module) Apply(
	ctx context.Context, digest string, token *Approval, observe func(engine.Event),
) (*Applied, error) {
	out := &Applied{}
	answer, err := m.once(ctx, m.core.current(), observe, false, func(ctx context.Context, q *question) error {
		if err := m.prepare(ctx, q); err != nil {
			return err
		}
		proposals := m.core.proposals(q.Session)
		digest, data, err := proposals.Find(digest)
		if err != nil {
			return err
		}
		saved, err := q.DecodePlan(ctx, "the proposed plan", data, q.opts.Variables)
		if err != nil {
			return err
		}
		if saved.Plan.Errored {
			return tfdiags.Errorf("Cannot apply incomplete plan", "Planning failed when this plan was made. Make a new plan.")
		}
		approval, err := proposals.approved(digest, token, time.Now())
		if err != nil {
			return err
		}
		op, err := saved.Open(ctx, q.Session, session.OperationOptions{Variables: q.opts.Variables,
			Lock: session.LockOptions{Lock: true}})
		if err != nil {
			return err
		}
		defer op.Close()
		if err := proposals.use(approval); err != nil { // not before the state is locked, which may fail
			return err
		}
		view := &Plan{}
		view.complete(ctx, op, saved.Plan, false)
		out.Begun, out.View = true, view.View
		defer m.core.expire()
		st, tally, err := op.Apply(ctx, saved.Plan, saved.ID, &engine.ApplyOptions{Variables: op.Variables})
		if tally != nil {
			out.Counts = tally.Counts()
		}
		if st != nil {
			out.Outputs = st.Outputs()
		}
		out.Defers = saved.Plan.Defers()
		return err
	})
	out.Answer = answer
	return out, err
}
