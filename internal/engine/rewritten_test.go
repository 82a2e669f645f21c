package engine_test

import (
	"context"
	"fmt"
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

// TestRewrittenStates plans to destroy parts of random meshes from a state that another program has
// written, without the instances on which objects depend. No object that is kept may depend on one
// that is destroyed, with and without a refresh, even if the configuration has been edited since.
// Then everything is destroyed in the order that the state named before.
func TestRewrittenStates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDestruction(rt)
		dir := t.TempDir()
		var err error
		synctest.Test(t, func(*testing.T) { err = d.play(dir) })
		if err != nil {
			rt.Fatalf("%v\nexclude %v, positions %v\n%s", err, d.exclude, d.at, meshHistory{d.step, d.edited})
		}
	})
}

// destruction is a part of a mesh that is destroyed.
type destruction struct {
	step    *meshStep
	edited  *meshStep // has the configuration that partial destructions have; it isn't applied
	at      []int     // positions of the named objects in the state, modulo the number of objects
	exclude bool
}

func drawDestruction(t *rapid.T) *destruction {
	h := drawMeshHistory(t, rapid.Bool().Draw(t, "narrow"))
	d := &destruction{step: h[0], edited: h[len(h)-1], exclude: rapid.Bool().Draw(t, "exclude")}
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
	all := managedObjects(s.State)
	if len(all) == 0 {
		return nil
	}
	named := s.State
	s.DropDependencyInstances()
	var targets []addrs.Target
	for _, i := range d.at {
		targets = append(targets, all[i%len(all)])
	}
	for _, step := range []*meshStep{d.step, d.edited} {
		for _, skipRefresh := range []bool{false, true} {
			if err := d.part(s, named, step, skipRefresh, targets...); err != nil {
				return err
			}
		}
	}
	for _, target := range all {
		if err := d.part(s, named, d.edited, true, target); err != nil {
			return err
		}
	}
	return d.destroy(s, named)
}

// managedObjects returns the addresses of all managed objects in a state.
func managedObjects(s *states.State) (all []addrs.Target) {
	for _, r := range s.Sorted() {
		for _, key := range r.SortedKeys() {
			if r.Addr.Resource.Mode == addrs.Managed {
				all = append(all, addrs.Target{Module: r.Addr.Module, Resource: r.Addr.Resource, Key: key,
					HasKey: key != addrs.NoKey})
			}
		}
	}
	return all
}

// part plans to destroy a part of the rewritten state with the configuration of a step. named is the
// state that names instances.
func (d *destruction) part(
	s *enginetest.Session, named *states.State, step *meshStep, skipRefresh bool, targets ...addrs.Target,
) error {
	options := engine.PlanOptions{Mode: plans.Destroy, SkipRefresh: skipRefresh, Targets: targets}
	if d.exclude {
		options.Targets, options.Excludes = nil, targets
	}
	plan, err := d.plan(s, step, options)
	if err == nil {
		err = keepsNeeds(plan, named, step != d.step)
	}
	if err != nil {
		return fmt.Errorf("%v (-refresh=%v, edited %v): %w\nfrom\n%s", targets, !skipRefresh, step != d.step, err,
			enginetest.Describe(named))
	}
	return nil
}

// keepsNeeds returns an error if a plan keeps an object and destroys another one on which it depends
// according to a state. If the configuration was edited, it doesn't say which instances of its own
// block and module call an object depends on.
func keepsNeeds(plan *plans.Plan, named *states.State, edited bool) error {
	destroyed, direct := actions(plan), directNeeds(named)
	for user, needs := range direct {
		if destroyed[user] != 0 {
			continue
		}
		for dep := range needs {
			if destroyed[dep] != 0 && !(edited && graph.InOwnCall(dep, user)) {
				return fmt.Errorf("%s is kept, but %s is destroyed by\n%s", user, dep, enginetest.DescribePlan(plan))
			}
		}
	}
	return nil
}

func (d *destruction) plan(
	s *enginetest.Session, step *meshStep, options engine.PlanOptions,
) (*plans.Plan, error) {
	cfg, err := s.Load(step.files(), nil, tfdiags.Drop)
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
	plan, err := d.plan(s, d.step, engine.PlanOptions{Mode: plans.Destroy, SkipRefresh: true})
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
