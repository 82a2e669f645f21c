package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// TestHistories plays random histories. Whatever happens: planning succeeds; what is applied without failures leaves nothing to
// plan; after failures the same configuration still leads to the same end; the state lists exactly the objects that exist; calls for
// objects that depend on each other never overlap and come in the right order; and destroying leaves nothing.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt, 5)
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { err = play(h, dir) })
		if err != nil {
			rt.Fatalf("%v\n%s", err, h)
		}
	})
}

func play(h history, dir string) error {
	p := &player{s: enginetest.NewSession(dir)}
	p.s.Cloud.Delay = enginetest.Delay
	for i, c := range h {
		if err := p.chapter(c); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := p.apply(p.files, engine.PlanOptions{Mode: plans.Destroy}, false); err != nil {
		return fmt.Errorf("destroying: %w", err)
	}
	if left := p.s.Cloud.Objects(); len(left) > 0 || !p.s.State.Empty() {
		return fmt.Errorf("destroying left %v and\n%s", left, enginetest.Describe(p.s.State))
	}
	return nil
}

// player plays a history.
type player struct {
	s     *enginetest.Session
	files map[string]string
}

func (p *player) chapter(c *chapter) error {
	p.files = c.files
	for _, e := range c.edits {
		p.s.Cloud.Edit(e[0], e[1], e[2])
	}
	p.s.Cloud.Fail = c.fail
	if c.stop != "" {
		stop := make(chan struct{})
		p.s.Stop = stop
		p.s.Cloud.On = map[string]func(){c.stop: func() { close(stop) }}
	}
	if err := p.apply(c.files, c.options, true); err != nil {
		return err
	}
	p.s.Cloud.Fail, p.s.Cloud.On, p.s.Stop = nil, nil, nil
	if err := p.apply(c.files, engine.PlanOptions{}, false); err != nil {
		return fmt.Errorf("applying again: %w", err)
	}
	return p.settled()
}

// apply plans and applies; mayFail says whether applying may end with errors.
func (p *player) apply(files map[string]string, opts engine.PlanOptions, mayFail bool) error {
	s := p.s
	cfg, diags, err := s.Load(files, nil)
	if err != nil || diags.HasErrors() {
		return fmt.Errorf("loading: %w %w", err, diags.Err())
	}
	env := s.Env()
	env.Stop = nil
	plan, diags := engine.Plan(context.Background(), cfg, s.State, env, &opts)
	if diags.HasErrors() {
		if len(opts.Targets)+len(opts.Excludes) > 0 && strings.Contains(diags.Err().Error(), "Moved resource instances") {
			return nil
		}
		return fmt.Errorf("planning: %w", detailed(diags))
	}
	relaxed, err := engine.CompareOrders(cfg, plan, env)
	if err != nil {
		return fmt.Errorf("%w\nplan:\n%s\nfrom\n%s", err, enginetest.DescribePlan(plan), enginetest.Describe(s.State))
	}
	s.Cloud.Calls()
	before := s.State
	state, diags := engine.Apply(context.Background(), cfg, plan, s.Env(), nil)
	s.State = state
	describe := func(err error) error {
		return fmt.Errorf("%w\nplan:\n%s\nfrom\n%s\nto\n%s", err, enginetest.DescribePlan(plan), enginetest.Describe(before), enginetest.Describe(state))
	}
	if diags.HasErrors() && !mayFail {
		return describe(detailed(diags))
	}
	if err := checkCalls(s.Cloud.Calls(), plan.PrevRun, state, relaxed); err != nil {
		return describe(err)
	}
	if err := p.objectsMatch(); err != nil {
		return describe(err)
	}
	return nil
}

func detailed(diags tfdiags.Diagnostics) error {
	var b strings.Builder
	for _, d := range diags {
		if d.Severity == tfdiags.Error {
			fmt.Fprintf(&b, "%s: %s\n", d.Summary, d.Detail)
		}
	}
	return fmt.Errorf("%s", b.String())
}

// settled holds that nothing is left to do.
func (p *player) settled() error {
	cfg, _, err := p.s.Load(p.files, nil)
	if err != nil {
		return err
	}
	plan, diags := engine.Plan(context.Background(), cfg, p.s.State, p.s.Env(), nil)
	if diags.HasErrors() {
		return fmt.Errorf("planning again: %w", detailed(diags))
	}
	if text := enginetest.DescribePlan(plan); text != "" {
		return fmt.Errorf("something is left to do:\n%s\nfrom\n%s", text, enginetest.Describe(p.s.State))
	}
	return nil
}

// objectsMatch holds that the state has all objects that exist; what was deleted from outside may still be listed.
func (p *player) objectsMatch() error {
	known := map[string]bool{}
	for r := range p.s.State.Resources() {
		for _, inst := range r.Instances {
			if inst.Current != nil {
				known[idOf(inst.Current.Attrs)] = true
			}
			for _, o := range inst.Deposed {
				known[idOf(o.Attrs)] = true
			}
		}
	}
	for _, id := range p.s.Cloud.Objects() {
		if !known[id] {
			return fmt.Errorf("%s exists and is not in the state", id)
		}
	}
	return nil
}

func idOf(raw []byte) string {
	var attrs struct{ ID string }
	if err := json.Unmarshal(raw, &attrs); err != nil {
		return ""
	}
	return attrs.ID
}
