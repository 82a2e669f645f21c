package engine_test

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// TestWaitsForSlots checks that the timings include the time for which work that was ready waited
// because all slots were in use: instances of one block, blocks, instances in the order of their
// references, and instances in modules. Each call takes a second.
func TestWaitsForSlots(t *testing.T) {
	const many = `
data "fake_find" "d" {
  count = 6
  name  = "d${count.index}"
}
`
	var blocks string
	for i := range 6 {
		blocks += "data \"fake_find\" \"d" + strconv.Itoa(i) + "\" {\n  name = \"d\"\n}\n"
	}
	for _, c := range []struct {
		name       string
		files      map[string]string
		plan, made float64 // seconds waited while planning and applying with two slots
	}{
		{"instances", map[string]string{"main.tf": many}, 0 + 0 + 1 + 1 + 2 + 2, 0},
		{"blocks", map[string]string{"main.tf": blocks}, 0 + 0 + 1 + 1 + 2 + 2, 0},
		{"jobs", map[string]string{"main.tf": `
locals {
  names = ["a", "b", "c", "d", "e", "f"]
}
data "fake_find" "first" {
  for_each = toset(local.names)
  name     = each.key
}
data "fake_find" "second" {
  for_each = toset(local.names)
  name     = data.fake_find.first[each.key].name
}
`}, 6, 0},
		{"modules", map[string]string{"m/main.tf": many, "main.tf": `
module "m" {
  source   = "./m"
  for_each = toset(["x", "y"])
}
`}, 2 * (0 + 1 + 2 + 3 + 4 + 5), 0},
		{"changes", map[string]string{"main.tf": `
resource "fake_thing" "a" {
  count = 8
  name  = "a${count.index}"
}
`}, 0, 2 * (0 + 1 + 2 + 3)},
	} {
		for _, slots := range []int{2, 50} {
			t.Run(c.name+" "+strconv.Itoa(slots), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					plan, made := waitsForSlots(t, dir, c.files, slots)
					switch {
					case slots == 2 && (plan < c.plan || made < c.made):
						t.Errorf("waited %v s in the plan and %v s in the apply, want at least %v s and %v s",
							plan, made, c.plan, c.made)
					case slots == 50 && plan+made > 0:
						t.Errorf("with enough slots, waited %v s in the plan and %v s in the apply", plan, made)
					}
				})
			})
		}
	}
}

// waitsForSlots plans and applies files. It returns the waits for slots, in seconds, of each.
func waitsForSlots(t *testing.T, dir string, files map[string]string, slots int) (plan, apply float64) {
	const provider = "terraform {\n  required_providers {\n    fake = { source = \"hashicorp/fake\" }\n  }\n}\n"
	s := enginetest.NewSession(dir)
	s.Cloud.Delay = time.Second
	all := map[string]string{"provider.tf": provider}
	for name, text := range files {
		all[name] = text
	}
	if all["m/main.tf"] != "" {
		all["m/provider.tf"] = provider
	}
	cfg, err := s.Load(all, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	env := s.Env()
	env.Parallelism, env.Timings = slots, timings.New()
	planned, err := engine.Plan(t.Context(), cfg, s.State, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan = slotWaits(t, env.Timings)
	env.Timings = timings.New()
	if _, err := engine.Apply(t.Context(), cfg, planned, env, nil); err != nil {
		t.Fatal(err)
	}
	return plan, slotWaits(t, env.Timings)
}

var slotLine = regexp.MustCompile(`([0-9.]+) s .* for one of the -parallelism slots\n`)

// slotWaits returns the total time that a report shows for waits for slots, or 0 if it shows none.
func slotWaits(t *testing.T, r *timings.Recorder) float64 {
	var report bytes.Buffer
	r.Report(&report)
	found := slotLine.FindStringSubmatch(report.String())
	if found == nil {
		return 0
	}
	total, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report.String())
	return total
}
