package engine_test

import (
	"context"
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
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// TestTargets plans parts of random configurations of nested modules with random states. A plan
// with targets must contain exactly the changes of the targets and their dependencies. A plan with
// exclusions must contain all changes except those of excluded objects and their dependents.
// Instances that are no longer configured are deleted only if a target names them. A full plan and
// apply must succeed after every partial apply. The test determines dependencies by following
// references between instances one by one.
func TestTargets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPart(rt)
		var err error
		dir := t.TempDir()
		synctest.Test(t, func(*testing.T) { err = p.play(dir) })
		if err != nil {
			rt.Fatalf("%v\n%s", err, p)
		}
	})
}

// part has two configurations. The first is applied, and then a part of the second is planned.
type part struct {
	before, after *tree
	list          []addrs.Target
	exclude       bool
}

func (p *part) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "exclude %v, list %v\n", p.exclude, p.list)
	for _, tr := range []*tree{p.before, p.after} {
		files := tr.files()
		b.WriteString("== configuration\n")
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "-- %s --\n%s", name, files[name])
		}
	}
	return b.String()
}

func (p *part) options() engine.PlanOptions {
	if p.exclude {
		return engine.PlanOptions{Excludes: p.list}
	}
	return engine.PlanOptions{Targets: p.list}
}

func (p *part) play(dir string) error {
	player := newPlayer(dir)
	player.files = p.before.files()
	if err := player.apply(&enginetest.Chapter{Files: player.files}); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	player.files = p.after.files()
	o := newOracle(p.after, player.s.State)
	p.list = p.existing(o, player.s.State)
	if len(p.list) == 0 {
		return nil
	}
	whole, err := planOf(player, engine.PlanOptions{})
	if err != nil {
		return fmt.Errorf("planning everything: %w", err)
	}
	some, err := planOf(player, p.options())
	if err != nil {
		return fmt.Errorf("planning a part: %w", err)
	}
	if err := p.check(o, whole, some); err != nil {
		return fmt.Errorf("%w\nthe whole plan:\n%s\nthe part:\n%s\nfrom\n%s", err,
			enginetest.DescribePlan(whole), enginetest.DescribePlan(some), enginetest.Describe(player.s.State))
	}
	if err := player.apply(&enginetest.Chapter{Files: player.files, Options: p.options()}); err != nil {
		return fmt.Errorf("applying a part: %w", err)
	}
	if err := player.apply(&enginetest.Chapter{Files: player.files}); err != nil {
		return fmt.Errorf("applying the rest: %w", err)
	}
	return player.settled()
}

func planOf(p *player, options engine.PlanOptions) (*plans.Plan, error) {
	cfg, err := p.s.Load(p.files, nil, tfdiags.Drop)
	if err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	plan, err := engine.Plan(context.Background(), cfg, p.s.State, p.s.Env(), &options)
	if err != nil {
		return nil, detailed(err)
	}
	return plan, nil
}

// existing returns the targets that name something in the configuration or the state.
func (p *part) existing(o *oracle, state *states.State) []addrs.Target {
	places := o.places()
	return slices.DeleteFunc(slices.Clone(p.list), func(t addrs.Target) bool {
		one := []addrs.Target{t}
		if slices.ContainsFunc(places, func(at place) bool {
			return o.meets(one, at) && (!t.HasKey || slices.Contains(at.it.keys, t.Key))
		}) {
			return false
		}
		for r := range state.Resources() {
			for key := range r.Instances {
				if t.ContainsInstance(r.Addr.Instance(key)) {
					return false
				}
			}
		}
		return true
	})
}

// check compares a partial plan with the full plan.
func (p *part) check(o *oracle, whole, some *plans.Plan) error {
	takesPart := map[place]bool{}
	for _, at := range o.places() {
		if o.meets(p.list, at) {
			o.reach(o.start(p.list, at), takesPart)
		}
	}
	gone := false
	for _, c := range whole.Changes.Instances {
		gone = gone || c.Action == plans.Delete
	}
	planned := actions(some)
	for _, addr := range slices.SortedFunc(maps.Keys(planned), addrs.AbsInstance.Compare) {
		if action := planned[addr]; !p.allows(o, addr, action, takesPart) {
			return fmt.Errorf("%s %s is not part of it", action, addr)
		}
	}
	for addr, action := range actions(whole) {
		// A partial run still evaluates expressions with objects that are no longer configured, so
		// it may plan other updates than the full plan.
		if action != plans.Create && gone || action == plans.Read || action == plans.Delete &&
			(p.exclude || !named(p.list, addr)) {
			continue
		}
		if _, is := planned[addr]; !is && p.allows(o, addr, action, takesPart) {
			return fmt.Errorf("%s %s is missing", action, addr)
		}
	}
	return nil
}

func actions(p *plans.Plan) map[addrs.AbsInstance]plans.Action {
	out := map[addrs.AbsInstance]plans.Action{}
	for _, c := range p.Changes.Instances {
		if c.Action != plans.NoOp {
			out[c.Addr] = c.Action
		}
	}
	return out
}

func named(list []addrs.Target, addr addrs.AbsInstance) bool {
	return slices.ContainsFunc(list, func(t addrs.Target) bool { return t.ContainsInstance(addr) })
}

// allows reports whether a change may be in the partial plan. reached holds the resources that the
// targets depend on.
func (p *part) allows(o *oracle, addr addrs.AbsInstance, action plans.Action, reached map[place]bool) bool {
	at := o.placeOf(addr)
	switch {
	case p.exclude && named(p.list, addr):
		return false
	case p.exclude:
		return at.it == nil || action == plans.Delete || !o.dependsOnAny(at, p.list)
	case named(p.list, addr):
		return true
	}
	return at.it != nil && action != plans.Delete && reached[at]
}

func drawPart(t *rapid.T) *part {
	p := &part{before: drawTree(t, nil)}
	p.after = drawTree(t, p.before)
	p.exclude = rapid.Bool().Draw(t, "exclude")
	for range rapid.IntRange(1, 3).Draw(t, "length") {
		tr := p.after
		if rapid.IntRange(1, 5).Draw(t, "old") == 1 {
			tr = p.before
		}
		if target, ok := drawListed(t, tr); ok {
			p.list = append(p.list, target)
		}
	}
	return p
}

// drawListed draws a target: a module or resource, with or without keys.
func drawListed(t *rapid.T, tr *tree) (target addrs.Target, ok bool) {
	at := tr.root
	for {
		if len(at.items) == 0 {
			return target, at != tr.root
		}
		it := rapid.SampledFrom(at.items).Draw(t, "listed")
		key := addrs.NoKey
		keyed := it.mode != "" && rapid.IntRange(1, 4).Draw(t, "keyed") > 1
		if keyed {
			key = rapid.SampledFrom(allKeys[it.mode]).Draw(t, "key")
		}
		if it.kind != "module" {
			target.Resource, target.Key, target.HasKey = it.resource(), key, keyed
			return target, true
		}
		target.Module = target.Module.Child(it.name, key)
		if rapid.IntRange(1, 3).Draw(t, "stops") == 1 {
			return target, true
		}
		at = it
	}
}

var allKeys = map[string][]addrs.InstanceKey{
	"count":    {addrs.IntKey(0), addrs.IntKey(1)},
	"for_each": {addrs.StringKey("x"), addrs.StringKey("y")},
}
