package engine_test

import (
	"context"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
)

// TestCrash checks that a panic during an apply is reported as one error, and that the state has
// everything that was done before the panic or at the same time.
func TestCrash(t *testing.T) {
	for _, parallelism := range []int{1, 10} {
		s := enginetest.NewSession(t.TempDir())
		cfg, err := s.Load(map[string]string{"main.tf": `
resource "fake_thing" "a" {
  name = "a"
}
resource "fake_thing" "b" {
  count = 2
  name  = "b${count.index}"
  v     = fake_thing.a.id
}
resource "fake_thing" "c" {
  name = "c"
  v    = fake_thing.b[0].id
}
`}, nil, tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		env := s.Env()
		env.Parallelism = parallelism
		plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Cloud.On = map[string]func(){"create b0": func() { panic("lost my way") }}
		state, err := engine.Apply(context.Background(), cfg, plan, env, nil)
		crashed := tfdiags.FromError(err).Filter(func(d tfdiags.Diagnostic) bool {
			_, ok := d.Extra.(tfdiags.Crash)
			return ok
		})
		if len(crashed) != 1 || crashed[0].Severity != tfdiags.Error || crashed[0].Address != "fake_thing.b[0]" {
			t.Errorf("with parallelism %d: %v", parallelism, err)
		}
		known := ids(state)
		if objects := s.Cloud.Objects(); !known["a-1"] || len(objects) != len(known) {
			t.Errorf("with parallelism %d there are %v, and the state has %v", parallelism, objects, known)
		}
	}
}

// TestCrashWhileClosing checks that every ephemeral object is closed, even if closing one of them
// panics.
func TestCrashWhileClosing(t *testing.T) {
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(map[string]string{"main.tf": `
ephemeral "fake_token" "e" {
  count = 3
  name  = "e${count.index}"
}
resource "fake_thing" "a" {
  name = "a"
  w    = join("", ephemeral.fake_token.e[*].value)
}
`}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	env.Parallelism = 1
	plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Cloud.On = map[string]func(){"close e0": func() { panic("lost my way") }}
	state, err := engine.Apply(context.Background(), cfg, plan, env, nil)
	if diags := tfdiags.FromError(err); len(diags) != 1 || diags[0].Address != "ephemeral.fake_token.e[0]" {
		t.Error(err)
	}
	if open := s.Cloud.OpenTokens(); len(open) > 0 || !ids(state)["a-1"] {
		t.Errorf("%v are open after the end, with %v in the state", open, ids(state))
	}
}

// TestCrashAfterWalk checks that the state has everything that was done even if there is a panic
// while the state is completed after the walk.
func TestCrashAfterWalk(t *testing.T) {
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(map[string]string{"main.tf": `
resource "fake_thing" "a" {
  name = "a"
}
`}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Cloud.On = map[string]func(){"create a": func() { plan.Changes.Outputs = append(plan.Changes.Outputs, nil) }}
	state, err := engine.Apply(context.Background(), cfg, plan, env, nil)
	diags := tfdiags.FromError(err)
	if len(diags) != 1 {
		t.Fatal(err)
	}
	if _, ok := diags[0].Extra.(tfdiags.Crash); !ok || !ids(state)["a-1"] {
		t.Errorf("%v, with %v in the state", err, ids(state))
	}
}
