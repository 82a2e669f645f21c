package session

import (
	"fmt"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/unchanged"
)

// Memory holds what the plans of one root module have found out, for later plans in the same process:
// what providers have answered, and which blocks need no plan. All providers count as steady: the same
// request has the same answer. So an object is read once, until it must be read again (see Again). The
// zero value is empty. A Memory is safe for concurrent use.
type Memory struct {
	answers engine.Answers

	mu      sync.Mutex
	sums    []byte      // of the unchanged blocks of planned
	planned *plans.Plan // the last plan without errors
	kept    *kept       // that plan, if it can be taken again
	read    time.Time   // when the plan began that has read everything
	since   time.Time   // what the next plan must have read after; zero if it doesn't matter
}

// Again begins another plan. If anew is set, it reads everything again. It returns the time since when
// objects may have changed without being noticed.
func (m *Memory) Again(anew bool) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); anew || m.read.IsZero() {
		m.since, m.read, m.sums, m.kept = now, now, nil, nil
	}
	return m.read
}

// begin prepares the answers for a plan.
func (m *Memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	planned := m.planned
	m.answers.Again(m.since, func(addr addrs.AbsInstance) bool {
		return planned != nil && planned.Changes.Instance(addr, addrs.NotDeposed) != nil
	})
	m.since = time.Time{}
}

// Forget makes the next plan a new one, whether or not it would be the same as the last.
func (m *Memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = nil
}

// Expire makes the next plan read everything again.
func (m *Memory) Expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = time.Time{}
}

func (m *Memory) answered() *engine.Answers {
	if m == nil {
		return nil
	}
	return &m.answers
}

// unchanged returns the blocks that plans with some options leave out.
func (m *Memory) unchanged(op *Operation, opts *engine.PlanOptions) *unchanged.Blocks {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := op.blocks()
	if out == nil {
		return nil
	}
	out.Circumstances = fmt.Appendf(out.Circumstances, " %t", opts.SkipRefresh)
	out.Steady = func(addrs.Provider) bool { return true }
	if m.sums != nil && out.Load(m.sums) == nil {
		planned := m.planned
		out.Planned = func(addr addrs.AbsInstance) *plans.InstanceChange {
			return planned.Changes.Instance(addr, addrs.NotDeposed)
		}
	}
	return out
}

// keep records the unchanged blocks of a plan.
func (m *Memory) keep(b *unchanged.Blocks, plan *plans.Plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sums, m.planned = b.Encode(), plan
}
