package refresh_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

const readsConfig = `resource "fake_thing" "bucket" {
  count = 2
  name  = "bucket${count.index}"
}
resource "fake_thing" "policy" {
  count = 2
  name  = "policy${count.index}"
  v     = fake_thing.bucket[count.index].id
}
resource "fake_thing" "rule" {
  name = "rule"
  v    = fake_thing.policy[0].id
}
resource "fake_thing" "all" {
  name = "all"
  v    = join(",", fake_thing.bucket[*].id)
}
resource "fake_thing" "other" {
  name = "other"
}
`

// TestFailedReads lets reads fail, with and without a deleted object as the cause.
func TestFailedReads(t *testing.T) {
	for _, c := range []struct {
		name       string
		gone, fail []string // IDs
		options    refresh.Options
		mode       plans.Mode
		plan       string   // changes and drift
		found      []string // what errors or warnings contain
		unread     []string
	}{
		{name: "no cause", fail: []string{"policy0-1"}, found: []string{"Asked to fail"}},
		{name: "cause of another instance", gone: []string{"bucket1-1"}, fail: []string{"policy0-1"},
			found: []string{"Asked to fail"}},
		{name: "whole resource, partly gone", gone: []string{"bucket1-1"}, fail: []string{"all-1"},
			found: []string{"Asked to fail"}},
		{name: "gone", gone: []string{"bucket0-1"}, fail: []string{"policy0-1"},
			plan: "update fake_thing.all\ncreate fake_thing.bucket[0]\ncreate fake_thing.policy[0]\nupdate fake_thing.rule\n" +
				"drift delete fake_thing.bucket[0]\ndrift delete fake_thing.policy[0]\n",
			found: []string{"fake_thing.policy[0] could not be read, and fake_thing.bucket[0], on which it depends"}},
		{name: "chain", gone: []string{"bucket0-1"}, fail: []string{"policy0-1", "rule-1"},
			plan: "update fake_thing.all\ncreate fake_thing.bucket[0]\ncreate fake_thing.policy[0]\ncreate fake_thing.rule\n" +
				"drift delete fake_thing.bucket[0]\ndrift delete fake_thing.policy[0]\ndrift delete fake_thing.rule\n",
			found: []string{"fake_thing.rule could not be read, and fake_thing.policy[0], on which it depends"}},
		{name: "whole resource", gone: []string{"bucket0-1", "bucket1-1"}, fail: []string{"all-1"},
			plan:  "create fake_thing.all\n",
			found: []string{"fake_thing.all could not be read, and fake_thing.bucket[0], on which it depends"}},
		{name: "destroyed with it", gone: []string{"bucket0-1"}, fail: []string{"policy0-1"}, mode: plans.Destroy,
			plan:  "delete fake_thing.all\ndelete fake_thing.bucket[1]\ndelete fake_thing.other\ndelete fake_thing.policy[1]\ndelete fake_thing.rule\n",
			found: []string{"fake_thing.policy[0] could not be read, and"}},
		{name: "destruction without cause", fail: []string{"other-1"}, mode: plans.Destroy,
			found: []string{"Asked to fail", "tofu state rm 'fake_thing.other'"}},
		{name: "continue", fail: []string{"other-1", "rule-1"}, options: refresh.Options{Continue: true},
			found:  []string{"fake_thing.other could not be read, so the plan uses its stored values. Asked to fail"},
			unread: []string{"fake_thing.other", "fake_thing.rule"}},
		{name: "continue a destruction", fail: []string{"other-1"}, mode: plans.Destroy,
			options: refresh.Options{Continue: true}, plan: "delete fake_thing.other\n", unread: []string{"fake_thing.other"}},
		{name: "minimal", gone: []string{"bucket0-1"}, fail: []string{"policy0-1"}, options: refresh.Options{Minimal: true},
			plan: ""},
		{name: "minimal and continue", fail: []string{"other-1"},
			options: refresh.Options{Continue: true, Minimal: true, Types: refresh.Patterns{"fake_*"}},
			unread:  []string{"fake_thing.other"}},
	} {
		s := enginetest.NewSession(t.TempDir())
		cfg, err := s.Load(map[string]string{"main.tf": readsConfig}, nil, tfdiags.Drop)
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
		for _, id := range c.gone {
			s.Cloud.Edit(id, "", "")
		}
		s.Cloud.Fail = map[string]string{}
		for _, id := range c.fail {
			s.Cloud.Fail["read "+id] = ""
		}
		env, found := s.Env(), tfdiags.Diagnostics{}
		env.Warn = found.Add
		run := &refresh.Run{Options: c.options, Now: time.Now()}
		plan, err = run.Plan(context.Background(), cfg, s.State, env, &engine.PlanOptions{Mode: c.mode})
		text := ""
		for _, d := range append(found, tfdiags.FromError(err)...) {
			text += d.Summary + ": " + d.Detail + "\n"
		}
		for _, want := range c.found {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %q", c.name, want, text)
			}
		}
		if fails := strings.Contains(strings.Join(c.found, ""), "Asked to fail") && c.unread == nil; (err != nil) != fails {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err != nil {
			continue
		}
		if got := enginetest.DescribePlan(plan); !strings.Contains(got, c.plan) {
			t.Errorf("%s: got\n%s, want\n%s", c.name, got, c.plan)
		}
		if !slices.Equal(plan.Unread, c.unread) {
			t.Errorf("%s: unread %v, want %v", c.name, plan.Unread, c.unread)
		}
		if (plan.Looked != nil) != (len(c.unread) > 0 || c.options.Minimal) {
			t.Errorf("%s: looked at %+v", c.name, plan.Looked)
		}
	}
}
