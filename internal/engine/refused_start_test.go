package engine_test

import (
	"context"
	"strings"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// TestRefusedStart checks that a provider is not called for a creation, update or deletion whose
// start could not be recorded.
func TestRefusedStart(t *testing.T) {
	const first = `
resource "fake_thing" "updated" {
  name = "updated"
}
resource "fake_thing" "deleted" {
  name = "deleted"
}
`
	const second = `
resource "fake_thing" "updated" {
  name = "updated"
  v    = "2"
}
resource "fake_thing" "created" {
  name = "created"
}
`
	for _, action := range []plans.Action{plans.Create, plans.Update, plans.Delete} {
		s := enginetest.NewSession(t.TempDir())
		if _, err := s.Do(&enginetest.Step{Files: map[string]string{"main.tf": first}}); err != nil {
			t.Fatal(err)
		}
		cfg, err := s.Load(map[string]string{"main.tf": second}, nil, tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		env := s.Env()
		plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
		if err != nil {
			t.Fatal(err)
		}
		stop, ended := make(chan struct{}), false
		env.Stop, env.Parallelism = stop, 1
		env.Observe = func(e engine.Event) {
			switch e := e.(type) {
			case engine.ApplyStart:
				if e.Action == action {
					close(stop)
				}
			case engine.ApplyDone:
				ended = ended || e.Action == action && e.Failed
			}
		}
		s.Cloud.Calls()
		_, err = engine.Apply(context.Background(), cfg, plan, env, nil)
		if err == nil || !strings.Contains(err.Error(), "was not started") || !ended {
			t.Errorf("%s: the end of the step: %t, error: %v", action, ended, err)
		}
		if calls := s.Cloud.Log(); strings.Contains(calls, strings.ToLower(action.String())) {
			t.Errorf("%s: the provider was called: %s", action, calls)
		}
	}
}
