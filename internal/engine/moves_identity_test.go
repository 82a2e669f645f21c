package engine_test

import (
	"context"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// TestIdentitiesOfMovedObjects checks the identity of an object that moves to another resource
// type. The identity comes from the provider's response to the move or, if that has none, from the
// next read.
func TestIdentitiesOfMovedObjects(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		options        engine.PlanOptions
		known          bool
	}{
		{name: "taken over with one", from: "fake_thing", to: "fake_unit", known: true},
		{name: "taken over with one, not read", from: "fake_thing", to: "fake_unit",
			options: engine.PlanOptions{SkipRefresh: true}, known: true},
		{name: "read", from: "fake_unit", to: "other_unit", known: true},
		{name: "destroyed", from: "fake_unit", to: "other_unit",
			options: engine.PlanOptions{Mode: plans.Destroy}, known: true},
		{name: "neither", from: "fake_unit", to: "other_unit", options: engine.PlanOptions{SkipRefresh: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := enginetest.NewSession(t.TempDir())
			s.Cloud.SchemaVersion = 1
			if _, err := s.Do(&enginetest.Step{Files: map[string]string{"main.tf": resourceNamed(tt.from,
				"a")}}); err != nil {
				t.Fatal(err)
			}
			moved := resourceNamed(tt.to, "a") + "moved {\n  from = " + tt.from + ".a\n  to = " + tt.to + ".a\n}\n"
			cfg, err := s.Load(map[string]string{"main.tf": moved}, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := engine.Plan(context.Background(), cfg, s.State, s.Env(), &tt.options)
			if err != nil || len(plan.Changes.Instances) != 1 {
				t.Fatalf("%v\n%s", err, enginetest.DescribePlan(plan))
			}
			want := ""
			if tt.known {
				want = "a-1"
			}
			if got := identityKey(plan.Changes.Instances[0]); got != want {
				t.Errorf("the identity before is %q, not %q", got, want)
			}
		})
	}
}

func resourceNamed(typ, name string) string {
	return "resource \"" + typ + "\" \"" + name + "\" {\n  name = \"" + name + "\"\n}\n"
}

// identityKey returns the "key" attribute of an object's identity before a change, or "".
func identityKey(c *plans.InstanceChange) string {
	if !c.BeforeIdentity.IsNull() {
		return c.BeforeIdentity.GetAttr("key").AsString()
	}
	return ""
}
