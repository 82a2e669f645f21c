package refresh_test

import (
	"context"
	"testing"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

// TestStrangeAges checks that plans work with files of ages that no program has written.
func TestStrangeAges(t *testing.T) {
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(map[string]string{"main.tf": "resource \"fake_thing\" \"a\" {\n  name = \"a\"\n}\n"}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Plan(context.Background(), cfg, s.State, s.Env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.State, err = engine.Apply(context.Background(), cfg, plan, s.Env(), nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"version":1,"workspaces":null}`,
		`{"version":1,"workspaces":{"w":{"reads":[{"objects":["fake_thing.a"]}]}}}`,
		`{"version":1,"workspaces":{"w":{"applied":{"fake_thing.a":null}}}}`,
		`{"version":1,"workspaces":{"w":{"applied":{"fake_thing.a":{"unsure":true},"[":{"unsure":true}}}}}`,
		`{"version":1,"workspaces":{"w":{"applied":{"fake_thing.a":{"changes":{"no such":"x"}}}}}}`,
	} {
		ages := &refresh.Ages{}
		if err := ages.Load([]byte(text), "w", "l", time.Now()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		run := &refresh.Run{Options: refresh.Options{Minimal: true}, Ages: ages, Now: time.Now()}
		plan, err := run.Plan(context.Background(), cfg, s.State, s.Env(), &engine.PlanOptions{})
		if err != nil || plan.Applyable {
			t.Errorf("%s: %v", text, err)
		}
		ages.Applied(plan)
		if _, err := ages.Encode([]byte(text), "w", "l", s.State, time.Now()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
