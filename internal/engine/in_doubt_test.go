package engine_test

import (
	"context"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// TestInDoubt checks which answers of a provider leave a change in doubt, and that the error about
// it says so. An object that was returned with an error is not in doubt, because it is stored.
func TestInDoubt(t *testing.T) {
	const before = `
resource "fake_thing" "other" {
  name = "other"
}
resource "fake_thing" "deposed" {
  name = "deposed"
  f    = "1"
  lifecycle {
    create_before_destroy = true
  }
}
`
	after := strings.Replace(before, `"1"`, `"2"`, 1) + `
resource "fake_thing" "made" {
  name = "made"
}
`
	doubts := map[string]bool{"": false, "partial": false, "unknown": false, "type": true, "nothing": true, "null": true}
	for _, name := range []string{"made", "deposed"} {
		for how, doubt := range doubts {
			s := enginetest.NewSession(t.TempDir())
			if _, err := s.Do(&enginetest.Step{Files: map[string]string{"main.tf": before}}); err != nil {
				t.Fatal(err)
			}
			cfg, err := s.Load(map[string]string{"main.tf": after}, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			env := s.Env()
			plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
			if err != nil {
				t.Fatal(err)
			}
			var found, advised []string
			env.Observe = func(e engine.Event) {
				if e, ok := e.(engine.ApplyDone); ok && e.InDoubt {
					found = append(found, e.Addr.String()+" "+e.Action.String())
				}
			}
			env.Parallelism = 1
			env.InDoubt = func(addr addrs.AbsInstance, _ bool) string {
				advised = append(advised, addr.String())
				return "Import it."
			}
			s.Cloud.Fail = map[string]string{"create " + name: how}
			_, err = engine.Apply(context.Background(), cfg, plan, env, nil)
			addr := "fake_thing." + name
			want := addr + " " + plans.Create.String()
			if got := strings.Join(found, ", "); doubt != (got == want) || !doubt && got != "" {
				t.Errorf("%s %q: in doubt: %q", name, how, got)
			}
			if err == nil || doubt != strings.Contains(err.Error(), "It is not known whether "+addr+" was created") {
				t.Errorf("%s %q: %v", name, how, err)
			}
			if got := strings.Join(advised, ", "); !doubt && got != addr || doubt && got != "" {
				t.Errorf("%s %q: advice for %q", name, how, got)
			}
		}
	}
}
