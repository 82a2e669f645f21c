package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// TestHistories plays random histories. It checks that planning succeeds, that an apply without
// failures leaves nothing to plan, and that a configuration can still be completed after failures,
// interruptions and crashes. An object then depends on the instances whose IDs its attributes
// contain. At every moment, the state and the journal together list exactly the existing objects.
// Calls for objects that depend on each other are in order and never overlap. No provider is called
// before it is configured, after it is closed, or with a token that is not open. The state never has a secret
// of a provider configuration. A destroy leaves nothing, even if providers, modules and variables that they
// read have been removed or renamed.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := enginetest.DrawHistory(rt, 4)
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { err = play(h, dir) })
		if err != nil {
			rt.Fatalf("%v\n%s", err, h)
		}
	})
}

func play(h enginetest.History, dir string) error {
	p := newPlayer(dir)
	for i, c := range h {
		if err := p.chapter(c); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if err := p.apply(&enginetest.Chapter{Files: p.files, Options: engine.PlanOptions{Mode: plans.Destroy}}); err != nil {
		return fmt.Errorf("destroying: %w", err)
	}
	if left := p.unmanaged(); len(left) > 0 || !p.s.State.Empty() {
		return fmt.Errorf("destroying left %v and\n%s", left, enginetest.Describe(p.s.State))
	}
	return nil
}

// player plays a history.
type player struct {
	abort   context.CancelFunc // abandons the current apply
	s       *enginetest.Session
	files   map[string]string
	outside map[string]bool // existing objects that are not managed: not imported yet, or forgotten
	refused bool            // the last plan was refused because of a moved block
}

func newPlayer(dir string) *player {
	p := &player{s: enginetest.NewSession(dir), outside: map[string]bool{}}
	p.s.Cloud.Delay = enginetest.Delay
	return p
}

func (p *player) chapter(c *enginetest.Chapter) error {
	for _, e := range c.Edits {
		p.s.Cloud.Edit(e[0], e[1], e[2])
		if e[1] == "+" {
			p.outside[e[0]] = true
		}
	}
	if c.Rewritten {
		p.s.DropDependencyInstances()
	}
	p.setTrouble(c)
	if err := p.apply(c); err != nil {
		return err
	}
	p.setTrouble(&enginetest.Chapter{})
	p.files = maps.Clone(c.Files)
	delete(p.files, "imports.tf") // the objects to import may be gone
	again := &enginetest.Chapter{Files: p.files, Single: c.Single, Indexed: c.Indexed}
	if err := p.apply(again); err != nil {
		return fmt.Errorf("applying again: %w", err)
	}
	if p.missed() {
		if err := p.apply(again); err != nil {
			return fmt.Errorf("applying for data sources: %w", err)
		}
	}
	if p.refused {
		return p.settled()
	}
	if err := dependsOnContent(c.Files, p.s.State); err != nil {
		return fmt.Errorf("%w in\n%s", err, enginetest.Describe(p.s.State))
	}
	return p.settled()
}

// missed reports whether a data source found nothing. If its name is known, it is read while planning, which is
// too early if the same run creates what it looks for: after a crash, this may be the first run to do so.
func (p *player) missed() bool {
	for r := range p.s.State.Resources() {
		for _, inst := range r.Instances {
			if inst.Current != nil && strings.Contains(string(inst.Current.Attrs), `"text":""`) {
				return true
			}
		}
	}
	return false
}

// dependsOnContent checks that each object depends on the objects whose IDs are in its attributes.
// It checks nothing if attributes may be out of date because of ignore_changes.
func dependsOnContent(files map[string]string, s *states.State) error {
	for _, text := range files {
		if strings.Contains(text, "ignore_changes") {
			return nil
		}
	}
	needs := closedNeeds(s)
	objects := map[string]addrs.AbsInstance{}
	for r := range s.Resources() {
		for key, inst := range r.Instances {
			if r.Addr.Resource.Mode == addrs.Managed && inst.Current != nil {
				objects[idOf(inst.Current.Attrs)] = r.Addr.Instance(key)
			}
		}
	}
	for own, user := range objects {
		var attrs struct{ F, V string }
		if err := json.Unmarshal(s.Instance(user).Current.Attrs, &attrs); err != nil {
			return err
		}
		for id, of := range objects {
			at := strings.Index(attrs.V+" "+attrs.F, id)
			if at >= 0 && id != own && !needs[user][of] {
				return fmt.Errorf("%s doesn't depend on %s, although it contains %q", user, of, id)
			}
		}
	}
	return nil
}

// misplaced is the error for a moved block of an earlier chapter, if it names addresses with keys that
// the objects don't have any more.
const misplaced = "Moved to an address without an object"

// setTrouble sets up the failures of a chapter.
func (p *player) setTrouble(c *enginetest.Chapter) { p.s.SetTrouble(c, func() { p.abort() }) }

// apply plans and applies a chapter, and checks the result. It accepts only errors that the
// chapter's failures can cause.
func (p *player) apply(c *enginetest.Chapter) error {
	s := p.s
	refreshes := c.Options.Mode == plans.RefreshOnly
	trouble := len(c.Fail) > 0 || c.Stop != "" || len(c.Options.Targets)+len(c.Options.Excludes) > 0
	cfg, err := s.Load(c.Files, nil, tfdiags.Drop)
	if err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	env := s.Env()
	env.Stop = nil
	plan, err := engine.Plan(context.Background(), cfg, s.State, env, &c.Options)
	p.refused = err != nil && strings.Contains(err.Error(), misplaced)
	if err != nil {
		for text, expected := range map[string]bool{
			"Moved resource instances": trouble, "Asked to fail": trouble,
			misplaced: true,
			// These errors are about objects that are not created yet.
			"Not found": refreshes, "Invalid index": refreshes || c.Options.Mode == plans.Destroy,
		} {
			if expected && strings.Contains(err.Error(), text) {
				return nil
			}
		}
		return fmt.Errorf("planning: %w", detailed(err))
	}
	g, err := graph.Build(context.Background(), engine.GraphOperation(cfg, plan.Prior, env, engine.GraphApply, plan))
	if err != nil {
		return fmt.Errorf("building the graph: %w", detailed(err))
	}
	if err := keptOut(plan, c.Options.Excludes); err != nil {
		return err
	}
	s.Cloud.Calls()
	before := s.State
	p.forgetting(plan)
	w := newWitness(p, plan, c.Crash)
	env = s.Env()
	env.Observe = w.observe
	s.Cloud.Applying = true
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	p.abort = abort
	state, err := engine.Apply(ctx, cfg, plan, env, nil)
	s.Cloud.Applying = false
	s.State = state
	describe := func(err error) error {
		return fmt.Errorf("%w\nplan:\n%s\nfrom\n%s\nto\n%s", err, enginetest.DescribePlan(plan),
			enginetest.Describe(before), enginetest.Describe(state))
	}
	if err != nil && !trouble && !strings.Contains(err.Error(), "forgotten instances") {
		return describe(detailed(err))
	}
	calls := s.Cloud.Calls()
	if err := checkCalls(calls, plan.PrevRun, state, g.Relaxed, c); err != nil {
		return describe(err)
	}
	if err := p.audit(w, c, calls); err != nil {
		return describe(err)
	}
	w.rewind()
	return nil
}

// keptOut checks that excluded objects do not change.
func keptOut(plan *plans.Plan, excludes []addrs.Target) error {
	for _, c := range plan.Changes.Instances {
		for _, target := range excludes {
			if c.Action != plans.NoOp && target.ContainsInstance(c.Addr) {
				return fmt.Errorf("%s %s is planned, which is excluded", c.Action, c.Addr)
			}
		}
	}
	return nil
}

// audit checks after an apply that every existing object is in the state, that the recorded events
// result in the same state, and that the engine followed the provider protocol.
func (p *player) audit(w *witness, c *enginetest.Chapter, calls []enginetest.Call) error {
	if w.err != nil {
		return w.err
	}
	if lost := p.unmanaged(); len(lost) > 0 {
		return fmt.Errorf("%v exist and are not in the state", lost)
	}
	if faults := p.s.Cloud.Faults(); len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	if open := p.s.Cloud.OpenTokens(); len(open) > 0 {
		return fmt.Errorf("the tokens of %v are still open", open)
	}
	if recorded, got := managed(w.state), managed(p.s.State); recorded != got {
		return fmt.Errorf("what was recorded differs from the state: recorded\n%s", recorded)
	}
	for of, kept := range p.s.State.KnownProviderConfigs() {
		if strings.Contains(string(kept.Values), enginetest.Secret) {
			return fmt.Errorf("the state has a secret of the provider %s: %s", of, kept.Values)
		}
	}
	for _, r := range p.s.State.Sorted() {
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				if strings.Contains(string(o.Attrs), "token of") {
					return fmt.Errorf("%s has an ephemeral value in the state", r.Addr)
				}
			}
		}
	}
	for _, call := range calls {
		if kind, _, _ := strings.Cut(call.What, " "); c.Options.Mode == plans.RefreshOnly &&
			slices.Contains([]string{"create", "update", "delete"}, kind) {
			return fmt.Errorf("%q in a plan that only refreshes", call.What)
		}
	}
	return nil
}

// managed describes the managed objects of a state, without their dependencies.
func managed(s *states.State) string {
	var b strings.Builder
	for line := range strings.Lines(enginetest.Describe(s)) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " deps")
		if strings.Contains(line, ": ") && !strings.Contains(line, "data.") && !strings.HasPrefix(line,
			"check ") && !strings.HasSuffix(line, "no objects") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// detailed returns an error with the summaries and details of all diagnostics in err.
func detailed(err error) error {
	var b strings.Builder
	for _, d := range tfdiags.FromError(err) {
		fmt.Fprintf(&b, "%s: %s\n", d.Summary, d.Detail)
	}
	return fmt.Errorf("%s", b.String())
}

// settled checks that a new plan of the current configuration is empty.
func (p *player) settled() error {
	cfg, err := p.s.Load(p.files, nil, tfdiags.Drop)
	if err != nil {
		return err
	}
	plan, err := engine.Plan(context.Background(), cfg, p.s.State, p.s.Env(), nil)
	if err != nil && strings.Contains(err.Error(), misplaced) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("planning again: %w", detailed(err))
	}
	if text := enginetest.DescribePlan(plan); text != "" {
		return fmt.Errorf("something is left to do:\n%s\nfrom\n%s", text, enginetest.Describe(p.s.State))
	}
	return nil
}

// unmanaged returns the IDs of existing objects that should be in the state but aren't. An object
// need not be in the state if it is in p.outside. unmanaged removes objects from p.outside once the
// state has them.
func (p *player) unmanaged() []string {
	known := ids(p.s.State)
	var out []string
	for _, id := range p.s.Cloud.Objects() {
		if known[id] {
			delete(p.outside, id)
		} else if !p.outside[id] {
			out = append(out, id)
		}
	}
	return out
}

// forgetting records in p.outside the objects that a plan removes from the state without destroying
// them.
func (p *player) forgetting(plan *plans.Plan) {
	for _, c := range plan.Changes.Instances {
		inst := plan.Prior.Instance(c.Addr)
		if inst == nil || c.Action != plans.Forget && c.Action != plans.ForgetThenCreate {
			continue
		}
		for o := range inst.Objects() {
			p.outside[idOf(o.Attrs)] = true
		}
	}
}

// ids returns the IDs of all managed objects in a state.
func ids(s *states.State) map[string]bool {
	known := map[string]bool{}
	for r := range s.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				known[idOf(o.Attrs)] = true
			}
		}
	}
	return known
}

func idOf(raw []byte) string {
	var attrs struct{ ID string }
	if err := json.Unmarshal(raw, &attrs); err != nil {
		return ""
	}
	return attrs.ID
}
