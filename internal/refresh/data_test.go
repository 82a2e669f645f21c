package refresh_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/refresh"
	"tofu/internal/tfdiags"
)

const dataConfig = `variable "asked" {
  default = "base"
}
provider "fake" {
  label = var.label
}
variable "label" {
  default = ""
}
resource "fake_thing" "base" {
  name = "base"
}
resource "fake_thing" "other" {
  name = "other"
}
data "fake_find" "by_name" {
  name = var.asked
}
data "fake_find" "depends" {
  name       = "nothing"
  depends_on = [fake_thing.other]
}
output "seen" {
  value = data.fake_find.by_name.text
}
`

// TestData checks when data sources are read again.
func TestData(t *testing.T) {
	const all = "data base, data nothing"
	minimal := refresh.Options{Minimal: true}
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		options refresh.Options
		after   time.Duration
		with    [2]string // a replacement in the configuration
		edit    func(*enginetest.Session)
		reads   string
	}{
		{name: "nothing changed", options: minimal},
		{name: "full refresh", reads: all},
		{name: "argument", options: minimal, with: [2]string{`default = "base"`, `default = "other"`}, reads: "data other"},
		{name: "provider", options: minimal, with: [2]string{`default = ""`, `default = "l"`}, reads: all},
		{name: "cone", options: minimal, with: [2]string{`output "seen" {`,
			"resource \"fake_thing\" \"new\" {\n  name = data.fake_find.by_name.text\n}\noutput \"seen\" {"}, reads: "data base"},
		{name: "young", options: refresh.Options{OlderThan: time.Hour}, after: time.Minute},
		{name: "old", options: refresh.Options{OlderThan: time.Hour}, after: 2 * time.Hour, reads: all},
		{name: "type", options: refresh.Options{Types: refresh.Patterns{"fake_find"}}, reads: all},
		{name: "other type", options: refresh.Options{Types: refresh.Patterns{"fake_thing"}}},
		{name: "no type", options: refresh.Options{NotTypes: refresh.Patterns{"fake_find"}}},
		{name: "what it depends on", options: minimal, edit: func(s *enginetest.Session) {
			for _, r := range s.State.Sorted() {
				for key, inst := range r.Instances {
					if r.Addr.Resource.Name == "other" {
						changed := *inst.Current
						changed.Attrs = []byte(strings.Replace(string(changed.Attrs), `"c":"1"`, `"c":"2"`, 1))
						s.State.SetCurrent(r.Addr.Instance(key), &changed,
							addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey})
					}
				}
			}
		}, reads: "data nothing"},
	} {
		s := enginetest.NewSession(t.TempDir())
		var data refresh.Data
		plan := func(options refresh.Options, text string, now time.Time) []string {
			cfg, err := s.Load(map[string]string{"main.tf": text}, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			s.Cloud.Calls()
			run := &refresh.Run{Options: options, Data: &data, Ages: &refresh.Ages{}, Now: now}
			plan, err := run.Plan(context.Background(), cfg, s.State, s.Env(), &engine.PlanOptions{})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var reads []string
			for _, call := range s.Cloud.Calls() {
				if strings.HasPrefix(call.What, "data ") {
					reads = append(reads, call.What)
				}
			}
			if now.Before(start) {
				if s.State, err = engine.Apply(context.Background(), cfg, plan, s.Env(), nil); err != nil {
					t.Fatal(err)
				}
			}
			slices.Sort(reads)
			return reads
		}
		plan(refresh.Options{}, dataConfig, start.Add(-time.Minute))
		plan(refresh.Options{}, dataConfig, start.Add(-time.Minute))
		text, err := data.Encode("l")
		if err != nil {
			t.Fatal(err)
		}
		data = refresh.Data{}
		if err := data.Load(text, "l"); err != nil {
			t.Fatal(err)
		}
		if c.edit != nil {
			c.edit(s)
		}
		changed := dataConfig
		if c.with[0] != "" {
			changed = strings.Replace(dataConfig, c.with[0], c.with[1], 1)
		}
		if got := strings.Join(plan(c.options, changed, start.Add(c.after)), ", "); got != c.reads {
			t.Errorf("%s: read %q, want %q", c.name, got, c.reads)
		}
	}
}
