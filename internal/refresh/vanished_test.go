package refresh_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

const vanishedConfig = `resource "fake_thing" "t" {
  count = 60
  name  = "t${count.index}"
}
resource "fake_unit" "u" {
  count = 12
  name  = "u${count.index}"
}
resource "other_thing" "o" {
  count = 20
  name  = "o${count.index}"
}
`

// TestVanished deletes objects and checks whether a plan says that too many are gone.
func TestVanished(t *testing.T) {
	for _, c := range []struct {
		name    string
		gone    map[string]int // number of deleted objects by first letter
		options refresh.Options
		mode    plans.Mode
		want    string // what the warning or error contains; "" for neither
		fails   bool
	}{
		{name: "few of many", gone: map[string]int{"t": 7}},
		{name: "few of few", gone: map[string]int{"o": 5}},
		{name: "many", gone: map[string]int{"t": 8}, want: "fake\"] can't find 8 of the 72 objects that the state has, " +
			"such as fake_thing.t[0], fake_thing.t[1], fake_thing.t[2]."},
		{name: "all", gone: map[string]int{"o": 20}, want: "other\"] can't find 20 of the 20 objects"},
		{name: "two providers", gone: map[string]int{"o": 6, "t": 30}, want: "fake\"] can't find 30 of the 72 objects"},
		{name: "of one type", gone: map[string]int{"u": 12}, options: refresh.Options{Vanished: refresh.Vanished{Share: 0.5}},
			want: "can't find 12 of the 12 fake_unit objects"},
		{name: "larger share", gone: map[string]int{"t": 30},
			options: refresh.Options{Vanished: refresh.Vanished{Share: 0.5}}},
		{name: "half of a type", gone: map[string]int{"t": 0, "u": 10},
			options: refresh.Options{Vanished: refresh.Vanished{Share: 0.2}}, want: "10 of the 12 fake_unit objects"},
		{name: "share of everything", gone: map[string]int{"o": 9},
			options: refresh.Options{Vanished: refresh.Vanished{Share: 1}}},
		{name: "unattended", gone: map[string]int{"o": 6}, options: refresh.Options{Vanished: refresh.Vanished{Stop: true}},
			want: "would create them again. To continue without approval, use -allow-vanished.", fails: true},
		{name: "unattended, few", gone: map[string]int{"o": 5},
			options: refresh.Options{Vanished: refresh.Vanished{Stop: true}}},
		{name: "unattended refresh", gone: map[string]int{"o": 6}, mode: plans.RefreshOnly,
			options: refresh.Options{Vanished: refresh.Vanished{Stop: true}}, want: "remove them from the state.", fails: true},
		{name: "unattended destruction", gone: map[string]int{"o": 6}, mode: plans.Destroy,
			options: refresh.Options{Vanished: refresh.Vanished{Stop: true}}, want: "remove them from the state."},
		{name: "of those that were read", gone: map[string]int{"u": 7}, want: "can't find 7 of the 12 objects",
			options: refresh.Options{Types: refresh.Patterns{"fake_unit"}}},
	} {
		s := enginetest.NewSession(t.TempDir())
		cfg, err := s.Load(map[string]string{"main.tf": vanishedConfig}, nil, tfdiags.Drop)
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
		for letter, n := range c.gone {
			for i := range n {
				s.Cloud.Edit(fmt.Sprintf("%s%d-1", letter, i), "", "")
			}
		}
		env, found := s.Env(), tfdiags.Diagnostics{}
		env.Warn = found.Add
		run := &refresh.Run{Options: c.options, Now: time.Now()}
		plan, err = run.Plan(context.Background(), cfg, s.State, env, &engine.PlanOptions{Mode: c.mode})
		if (err != nil) != c.fails {
			t.Errorf("%s: error %v", c.name, err)
		}
		text := ""
		for _, d := range append(found, tfdiags.FromError(err)...) {
			text += d.Summary + ": " + d.Detail
		}
		if (text != "") != (c.want != "") || !strings.Contains(text, c.want) || (len(plan.Vanished) > 0) != (c.want != "") {
			t.Errorf("%s: %q and %q, want %q", c.name, text, plan.Vanished, c.want)
		}
	}
}
