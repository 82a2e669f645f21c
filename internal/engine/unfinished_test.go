package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
)

// TestReadTooEarly checks that an apply stops if its graph lets an instance be read before it is
// finished. All sessions of these tests check that. In other sessions only the reader fails.
func TestReadTooEarly(t *testing.T) {
	for _, c := range []struct{ reader, early, late, read string }{
		{"fake_thing.a[count.index].id", "fake_thing.b[1]", "fake_thing.a[1]", "fake_thing.a[1]"},
		{"element(fake_thing.a[*].id, 1)", "fake_thing.b (expand)", "fake_thing.a", "fake_thing.a"},
	} {
		readTooEarly(t, c.reader, c.early, c.late, c.read, true)
		readTooEarly(t, c.reader, c.early, c.late, "fake_thing.a", false)
	}
}

// readTooEarly applies instances b that read instances a, where the node early doesn't wait for the
// node late.
func readTooEarly(t *testing.T, reader, early, late, read string, ends bool) {
	t.Helper()
	s := enginetest.NewSession(t.TempDir())
	cfg, err := s.Load(map[string]string{"main.tf": `
resource "fake_thing" "a" {
  count = 2
  name  = "a${count.index}"
}
resource "fake_thing" "b" {
  count = 2
  name  = "b${count.index}"
  v     = ` + reader + `
}
`}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	env.CheckReads = ends
	s.Cloud.Delay = enginetest.Delay
	plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.ApplyTooEarly(context.Background(), cfg, plan, env, early, late)
	if err == nil || !strings.Contains(err.Error(), "reads "+read+" before it is finished") {
		t.Errorf("%s: %v", reader, err)
	}
	for _, id := range s.Cloud.Objects() {
		if strings.HasPrefix(id, "b1-") {
			t.Errorf("%s: %s was created", reader, id)
		}
	}
	if made := slices.Contains(s.Cloud.Objects(), "b0-1"); !ends && early == "fake_thing.b[1]" && !made {
		t.Errorf("%s: b[0] was left out", reader)
	}
}
