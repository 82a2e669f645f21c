package engine_test

import (
	"context"
	"strings"
	"testing"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
)

// TestReadTooEarly checks that an apply stops if its graph lets an instance be read before it is
// finished. All sessions of these tests check that.
func TestReadTooEarly(t *testing.T) {
	for _, c := range []struct{ reader, early, late, read string }{
		{"fake_thing.a[count.index].id", "fake_thing.b[1]", "fake_thing.a[1]", "fake_thing.a[1]"},
		{"element(fake_thing.a[*].id, 1)", "fake_thing.b (expand)", "fake_thing.a", "fake_thing.a"},
	} {
		s := enginetest.NewSession(t.TempDir())
		cfg, err := s.Load(map[string]string{"main.tf": `
resource "fake_thing" "a" {
  count = 2
  name  = "a${count.index}"
}
resource "fake_thing" "b" {
  count = 2
  name  = "b${count.index}"
  v     = ` + c.reader + `
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
		_, err = engine.ApplyTooEarly(context.Background(), cfg, plan, env, c.early, c.late)
		if err == nil || !strings.Contains(err.Error(), "reads "+c.read+" before it is finished") {
			t.Errorf("%s: %v", c.reader, err)
		}
	}
}
