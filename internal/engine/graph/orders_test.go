package graph_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/engine/graph"
	"tofu/internal/tfdiags"
)

// TestOrders plays random histories and checks the order of the Steps of each plan in two ways; see
// CompareOrders and CheckReads. After failures and interruptions, the dependencies in the state may
// contradict the configuration. The tests of package engine check what plans and applies do.
func TestOrders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := enginetest.DrawHistory(rt, 4)
		s := enginetest.NewSession(t.TempDir())
		for i, c := range h {
			for _, e := range c.Edits {
				s.Cloud.Edit(e[0], e[1], e[2])
			}
			completed := &enginetest.Chapter{Files: maps.Clone(c.Files)}
			delete(completed.Files, "imports.tf") // the import targets may be gone
			for _, c := range []*enginetest.Chapter{c, completed} {
				if err := checkOrders(s, c); err != nil {
					rt.Fatalf("step %d: %v\n%s", i+1, err, h)
				}
			}
		}
	})
}

// checkOrders plans a chapter, checks the order of the plan's Steps, and applies it.
func checkOrders(s *enginetest.Session, c *enginetest.Chapter) error {
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	s.SetTrouble(c, abort)
	cfg, err := s.Load(c.Files, nil, tfdiags.Drop)
	if err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	env := s.Env()
	env.Stop = nil
	plan, err := engine.Plan(ctx, cfg, s.State, env, &c.Options)
	if err != nil {
		return nil // the history makes some plans fail
	}
	op := engine.GraphOperation(cfg, plan.Prior, env, engine.GraphApply, plan)
	for _, check := range []func(context.Context, *graph.Operation) error{graph.CompareOrders, graph.CheckReads} {
		if err := check(ctx, op); err != nil {
			return fmt.Errorf("%w\nplan:\n%s\nfrom\n%s", err, enginetest.DescribePlan(plan),
				enginetest.Describe(s.State))
		}
	}
	env.Stop = s.Stop
	s.Cloud.Applying = true
	s.State, _ = engine.Apply(ctx, cfg, plan, env, nil) // failures are part of the history
	s.Cloud.Applying = false
	return nil
}
