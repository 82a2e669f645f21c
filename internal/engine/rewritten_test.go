package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// TestRewrittenStates plans to destroy parts of random meshes. The state that another program has
// written, without the instances on which objects depend, must lead to the same plans as the state
// before, with and without a refresh. The objects are then destroyed in the order that the state
// named before.
func TestRewrittenStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDestruction(rt)
		dir := t.TempDir()
		var err error
		synctest.Test(t, func(*testing.T) { err = d.play(dir) })
		if err != nil {
			rt.Fatalf("%v\nexclude %v, positions %v\n%s", err, d.exclude, d.at, meshHistory{d.step})
		}
	})
}

// destruction is a part of a mesh that is destroyed.
type destruction struct {
	step    *meshStep
	at      []int // positions of the named objects in the state, modulo the number of objects
	exclude bool
}

func drawDestruction(t *rapid.T) *destruction {
	d := &destruction{step: drawMeshHistory(t, false)[0], exclude: rapid.Bool().Draw(t, "exclude")}
	d.step.trouble = ""
	d.at = rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 2).Draw(t, "positions")
	return d
}

func (d *destruction) play(dir string) error {
	s := enginetest.NewSession(dir)
	s.Cloud.Delay = enginetest.Delay
	for range 2 { // the second time finds dependencies of objects that exist
		run, err := byInstance(s, d.step)
		if err != nil || run.err != nil {
			return fmt.Errorf("applying: %w", tfdiags.Join(err, run.err))
		}
	}
	options := engine.PlanOptions{Mode: plans.Destroy}
	targets := d.targets(s.State)
	switch {
	case len(targets) == 0:
		return nil
	case d.exclude:
		options.Excludes = targets
	default:
		options.Targets = targets
	}
	named := s.State
	want, err := d.plan(s, options)
	if err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	s.DropDependencyInstances()
	for _, options.SkipRefresh = range []bool{false, true} {
		got, err := d.plan(s, options)
		if err != nil {
			return fmt.Errorf("planning with the rewritten state: %w", err)
		}
		if !maps.Equal(actions(got), actions(want)) {
			return fmt.Errorf("%v (-refresh=%v): plan\n%s\nwith the rewritten state\n%s\nfrom\n%s", targets,
				!options.SkipRefresh, enginetest.DescribePlan(want), enginetest.DescribePlan(got), enginetest.Describe(named))
		}
	}
	return d.destroy(s, named)
}

// targets returns the addresses of the objects at the positions that were drawn.
func (d *destruction) targets(s *states.State) []addrs.Target {
	var all, out []addrs.Target
	for _, r := range s.Sorted() {
		for _, key := range r.SortedKeys() {
			if r.Addr.Resource.Mode == addrs.Managed {
				all = append(all, addrs.Target{Module: r.Addr.Module, Resource: r.Addr.Resource, Key: key,
					HasKey: key != addrs.NoKey})
			}
		}
	}
	for _, i := range d.at {
		if len(all) > 0 {
			out = append(out, all[i%len(all)])
		}
	}
	slices.SortFunc(out, func(a, b addrs.Target) int { return slices.Index(all, a) - slices.Index(all, b) })
	return slices.Compact(out)
}

func (d *destruction) plan(s *enginetest.Session, options engine.PlanOptions) (*plans.Plan, error) {
	cfg, err := s.Load(d.step.files(), nil, tfdiags.Drop)
	if err != nil {
		return nil, err
	}
	plan, err := engine.Plan(context.Background(), cfg, s.State, s.Env(), &options)
	if err != nil {
		return nil, detailed(err)
	}
	return plan, nil
}

// destroy destroys everything without a refresh, and checks the order. named is the state that
// names instances.
func (d *destruction) destroy(s *enginetest.Session, named *states.State) error {
	cfg, err := s.Load(d.step.files(), nil, tfdiags.Drop)
	if err != nil {
		return err
	}
	plan, err := d.plan(s, engine.PlanOptions{Mode: plans.Destroy, SkipRefresh: true})
	if err != nil {
		return fmt.Errorf("planning to destroy: %w", err)
	}
	s.Cloud.Calls()
	env := s.Env()
	env.Parallelism = d.step.workers
	s.State, err = engine.Apply(context.Background(), cfg, plan, env, nil)
	if err != nil {
		return fmt.Errorf("destroying: %w", detailed(err))
	}
	return checkCalls(s.Cloud.Calls(), named, s.State, false, &enginetest.Chapter{})
}
