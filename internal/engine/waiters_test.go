package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// TestLostSteps checks that nothing is said to wait once something else that it needs has failed: after
// a failed call, after a failed condition, and for replacements, which have two steps.
func TestLostSteps(t *testing.T) {
	const before = `
resource "fake_thing" "replaced" {
  name = "replaced"
  f    = "1"
}
`
	after := strings.Replace(before, `f    = "1"`, `f    = fake_thing.bad.id`, 1) + `
resource "fake_thing" "bad" {
  name = "bad"
}
resource "fake_thing" "guarded" {
  name = "guarded"
  lifecycle {
    precondition {
      condition     = fake_thing.good.id == ""
      error_message = "No."
    }
  }
}
resource "fake_thing" "good" {
  name = "good"
}
resource "fake_thing" "reader" {
  name = "reader"
  v    = "${fake_thing.good.id} ${fake_thing.bad.id}"
}
resource "fake_thing" "after" {
  name = "after"
  v    = fake_thing.reader.id
}
resource "fake_thing" "both" {
  name = "both"
  v    = "${fake_thing.good.id} ${fake_thing.guarded.id}"
}
resource "fake_thing" "fine" {
  name = "fine"
  v    = fake_thing.good.id
}
`
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
	var order engine.Ordered
	waiting := func() string {
		good, _ := addrs.ParseInstanceText("fake_thing.good")
		var names []string
		for _, addr := range order.Waiters(engine.Object{Addr: good}, plans.Create) {
			names = append(names, addr.Resource.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	var mu sync.Mutex
	var seen []string
	env.Observe = func(e engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case engine.Ordered:
			order = e
			seen = append(seen, waiting())
		case engine.Failure:
			seen = append(seen, waiting())
		}
	}
	env.Parallelism = 1
	s.Cloud.Fail = map[string]string{"create bad": ""}
	if _, err := engine.Apply(context.Background(), cfg, plan, env, nil); err == nil {
		t.Fatal("no error")
	}
	if seen[0] != "both fine guarded reader" {
		t.Errorf("at first, these wait: %s", seen[0])
	}
	if last := seen[len(seen)-1]; last != "fine" {
		t.Errorf("after the failures, these wait: %s", last)
	}
	if got := order.Lost(); got != 4 { // the second step of replaced, reader, after, both
		t.Errorf("%d steps are lost", got)
	}
}
