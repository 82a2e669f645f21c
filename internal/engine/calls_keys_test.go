package engine_test

import (
	"strings"
	"testing"

	"tofu/internal/engine/enginetest"
)

// TestCallsPassInstances checks that module instances that read each other are applied in order,
// regardless of how the output refers to the argument.
func TestCallsPassInstances(t *testing.T) {
	for name, module := range map[string]string{
		"constant key in an output": `
resource "fake_thing" "q" {
  count = 2
  name  = "${var.key}-q${count.index}"
  v     = var.in
}
output "out" {
  value = fake_thing.q[1].id
}
`,
		"constant key in a block": `
resource "fake_thing" "q" {
  for_each = toset(["u", "v"])
  name     = "${var.key}-q-${each.key}"
  v        = var.in
}
resource "fake_thing" "r" {
  name = "${var.key}-r"
  v    = fake_thing.q["u"].id
}
output "out" {
  value = fake_thing.r.id
}
`,
		"computed key in a block": `
resource "fake_thing" "q" {
  count = 2
  name  = "${var.key}-q${count.index}"
  v     = var.in
}
resource "fake_thing" "r" {
  count = 2
  name  = "${var.key}-r${count.index}"
  v     = fake_thing.q[count.index].id
}
output "out" {
  value = fake_thing.r[0].id
}
`,
		"chained for_each": `
resource "fake_thing" "q" {
  for_each = toset(["u", "v"])
  name     = "${var.key}-q-${each.key}"
  v        = var.in
}
resource "fake_thing" "r" {
  for_each = fake_thing.q
  name     = "${var.key}-r-${each.key}"
  v        = each.key
}
output "out" {
  value = fake_thing.r["u"].id
}
`,
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"main.tf": `
module "step" {
  for_each = { a = "", b = "a", c = "b" }
  source   = "./step"
  key      = each.key
  in       = each.value == "" ? "-" : module.step[each.value].out
}
output "last" {
  value = module.step["c"].out
}
`, "step/main.tf": "variable \"key\" {}\nvariable \"in\" {}\n" + module}
			s := enginetest.NewSession(t.TempDir())
			for _, text := range []map[string]string{files, {"main.tf": ""}} {
				got, err := s.Do(&enginetest.Step{Files: text})
				if err != nil || strings.Contains(got.Problems, "error") {
					t.Fatal(err, got)
				}
			}
			if left := s.Cloud.Objects(); len(left) > 0 {
				t.Errorf("destroying left %v", left)
			}
		})
	}
}
