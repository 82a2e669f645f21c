package engine_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/engine/enginetest"
)

// TestReadersOfUnchangedInstances checks when readers of single instances that don't change begin. They
// wait for what these instances read, through any number of blocks without changes, and for nothing
// else.
func TestReadersOfUnchangedInstances(t *testing.T) {
	const config = `
resource "fake_thing" "a" {
  count = 3
  name  = "a${count.index}"
  v     = "VERSION"
  wait  = [100, 1000, 5000][count.index]
}
resource "fake_thing" "c" {
  count = 3
  name  = "c${count.index}"
  v     = fake_thing.a[count.index].id
}
module "m" {
  source   = "./m"
  for_each = { x = 0, y = 1, z = 2 }
  in       = fake_thing.c[each.value].id
}
resource "fake_thing" "first" {
  name = "first"
  v    = "VERSION ${fake_thing.c[0].id}"
}
resource "fake_thing" "second" {
  name = "second"
  v    = "VERSION ${module.m["x"].out} ${module.m["y"].out}"
}
resource "fake_thing" "whole" {
  name = "whole"
  v    = "VERSION ${join("", fake_thing.c[*].id)}"
}
resource "fake_thing" "missing" {
  name = "missing"
  v    = "VERSION ${try(fake_thing.c[7].id, "none")}"
}
`
	const module = `
variable "in" {}
resource "fake_thing" "p" {
  count = 2
  name  = "p${count.index}-${var.in}"
  v     = var.in
}
output "out" {
  value = fake_thing.p[1].id
}
`
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSession(t.TempDir())
		apply := func(version string) {
			files := map[string]string{"main.tf": strings.ReplaceAll(config, "VERSION", version), "m/main.tf": module}
			if got, err := s.Do(&enginetest.Step{Files: files, Workers: 50}); err != nil || got.Problems != "" {
				t.Fatal(err, got)
			}
		}
		apply("1")
		start, began := time.Now(), map[string]time.Duration{}
		s.Cloud.On = map[string]func(){}
		for _, reader := range []string{"first", "second", "whole", "missing"} {
			s.Cloud.On["update "+reader+"-1"] = func() { began[reader] = time.Since(start) }
		}
		apply("2")
		want := map[string]time.Duration{"first": 100 * time.Millisecond, "second": time.Second,
			"whole": 5 * time.Second, "missing": 0}
		if !maps.Equal(began, want) {
			t.Errorf("readers began after %v, want %v", began, want)
		}
	})
}
