package explain_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tofu/internal/dag"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/explain"
	"tofu/internal/graphview"
)

// formsConfig is a configuration in which the instances of two resources change. Each instance of module.m returns
// the id of one of them.
const formsConfig = `
locals {
  y    = "y"
  one  = 1
  ids  = { for k, o in fake_thing.a : k => o.id }
  all  = fake_thing.a
  list = fake_thing.c[*].id
  mods = module.m
  outs = { for k, m in module.m : k => m.out }
}
resource "fake_thing" "a" {
  for_each = toset(["x", "y", "z"])
  name     = "a-${each.key}"
  f        = "VERSION"
}
resource "fake_thing" "c" {
  count = 3
  name  = "c${count.index}"
  f     = "VERSION"
}
module "m" {
  source   = "./m"
  for_each = toset(["x", "y", "z"])
  in       = fake_thing.a[each.key].id
}
module "same" {
  source = "./same"
  all    = fake_thing.a
}
resource "fake_thing" "drift" {
  name = "drift"
}
resource "fake_thing" "r" {
  name = "r"
  v    = fake_thing.drift.id
}
`

// forms are the forms in which an argument of fake_thing.reader reads one instance, with the key y or the index 1.
var forms = []struct{ each, v string }{
	{v: `fake_thing.a["y"].id`},
	{v: `fake_thing.a[local.y].id`},
	{v: `fake_thing.c[1].id`},
	{v: `fake_thing.c[local.one].id`},
	{v: `fake_thing.c.*.id[1]`},
	{v: `fake_thing.c.*.id[local.one]`},
	{v: `element(fake_thing.c, 4).id`},
	{v: `element(fake_thing.c[*].id, 1)`},
	{v: `lookup(fake_thing.a, local.y, null).id`},
	{v: `join("", [for k in ["y"] : fake_thing.a[k].id])`},
	{v: `values(fake_thing.a)[1].id`},
	{v: `values(fake_thing.a).*.id[local.one]`},
	{v: `local.one == 1 ? fake_thing.a["y"].id : fake_thing.a["x"].id`},
	{v: `local.ids["y"]`},
	{v: `local.ids[local.y]`},
	{v: `local.all.y.id`},
	{v: `lookup(local.ids, local.y, "")`},
	{v: `values(local.ids)[1]`},
	{v: `local.list[1]`},
	{v: `element(local.list, 4)`},
	{v: `module.same.all["y"].id`},
	{v: `module.same.ids[local.y]`},
	{v: `module.m["y"].out`},
	{v: `module.m[local.y].out`},
	{v: `lookup(module.m, local.y, null).out`},
	{v: `join("", [for k in ["y"] : module.m[k].out])`},
	{v: `values(module.m)[1].out`},
	{v: `local.mods["y"].out`},
	{v: `local.mods[local.y].out`},
	{v: `local.outs["y"]`},
	{v: `local.outs[local.y]`},
	{each: `toset(["x", "y", "z"])`, v: `fake_thing.a[each.key].id`},
	{each: `toset(["x", "y", "z"])`, v: `local.ids[each.key]`},
	{each: `toset(["x", "y", "z"])`, v: `module.m[each.key].out`},
	{each: `toset(["x", "y", "z"])`, v: `local.mods[each.key].out`},
	{each: `fake_thing.a`, v: `each.value.id`},
	{each: `local.all`, v: `each.value.id`},
	{each: `local.ids`, v: `each.value`},
	{each: `module.m`, v: `each.value.out`},
	{each: `local.mods`, v: `each.value.out`},
	{each: `local.outs`, v: `each.value`},
}

// formsModules are the files of the modules in formsConfig.
var formsModules = map[string]string{
	"m/main.tf": `
variable "in" {}
output "out" {
  value = var.in
}
`,
	"same/main.tf": `
variable "all" {}
output "all" {
  value = var.all
}
output "ids" {
  value = { for k, o in var.all : k => o.id }
}
`,
}

// TestForms checks that all that follows references knows the same forms: explanations, the attributes that a plan
// reads, and graphs of instances. Each form is used in a block, in an argument of a module call, in a local and in
// an output.
func TestForms(t *testing.T) {
	for _, form := range forms {
		for _, place := range []string{"block", "argument", "local", "output"} {
			if form.each != "" && (place == "local" || place == "output") {
				continue // it has no instances
			}
			t.Run(place+" "+strings.TrimSpace(form.each+" "+form.v), func(t *testing.T) {
				checkForm(t, place, form.each, form.v)
			})
		}
	}
}

// readerOf returns the configuration of a reader with a form, and the address of its instance y.
func readerOf(place, each, v string) (files map[string]string, address string) {
	key := ""
	if each != "" {
		each, key = "for_each = "+each, `["y"]`
	}
	resource := "resource \"fake_thing\" \"reader\" {\n%s\nname = %s\nv = %s\n}\n"
	name := `"reader"`
	if key != "" {
		name = `"reader-${each.key}"`
	}
	files = maps.Clone(formsModules)
	switch place {
	case "argument":
		files["main.tf"] = fmt.Sprintf("module \"reader\" {\nsource = \"./reader\"\n%s\nin = %s\n}\n", each, v)
		files["reader/main.tf"] = "variable \"in\" {}\n" + fmt.Sprintf(resource, "", `"reader"`, "var.in")
		return files, "module.reader" + key + ".fake_thing.reader"
	case "output":
		files["main.tf"] = "output \"reader\" {\nvalue = " + v + "\n}\n"
		return files, "output.reader"
	case "local":
		files["main.tf"] = "locals {\nread = " + v + "\n}\n" + fmt.Sprintf(resource, "", name, "local.read")
		return files, "fake_thing.reader"
	}
	files["main.tf"] = fmt.Sprintf(resource, each, name, v)
	return files, "fake_thing.reader" + key
}

// ofValue matches the forms that read an instance through a value.
var ofValue = regexp.MustCompile(`local\.(ids|all|list|mods|outs)|module\.same`)

var readName = regexp.MustCompile(`fake_thing\.[ac]\b(\["?\w+"?\])?`)

func checkForm(t *testing.T, place, each, v string) {
	one := `fake_thing.a["y"]`
	if strings.Contains(v, "fake_thing.c") || strings.Contains(v, "local.list") {
		one = "fake_thing.c[1]"
	}
	all := []string{one}
	if each != "" {
		all = []string{`fake_thing.a["x"]`, one, `fake_thing.a["z"]`}
	}
	files, address := readerOf(place, each, v)
	reader := files["main.tf"]
	s := enginetest.NewSession(t.TempDir())
	files["main.tf"] = strings.ReplaceAll(formsConfig, "VERSION", "1") + reader
	first, err := s.Do(&enginetest.Step{Files: maps.Clone(files)})
	if err != nil || strings.Contains(first.Problems, "error") {
		t.Fatalf("the first apply failed: %v\n%s", err, first.Problems)
	}
	s.Cloud.Edit("drift-1", "v", "edited")
	files["main.tf"] = strings.ReplaceAll(formsConfig, "VERSION", "2") + reader
	subject := plannedSubject(t, s, files, &engine.PlanOptions{})

	answer, err := explain.At(t.Context(), subject, address)
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	if answer.Output != nil {
		addLeaves(explained, answer.Output.Sources)
	}
	for _, o := range answer.Objects {
		for _, attribute := range o.Attributes {
			addLeaves(explained, attribute.Sources)
		}
	}
	if got := slices.Sorted(maps.Keys(explained)); !slices.Equal(got, []string{one}) {
		t.Errorf("explained by %q, want %q", got, one)
	}

	read := map[string]bool{}
	for _, r := range subject.View.Plan.Read {
		if name := r.Resource.String(); readName.MatchString(name) {
			read[name] = true
		}
	}
	if got := slices.Sorted(maps.Keys(read)); !slices.Equal(got, all) {
		t.Errorf("the plan reads %q, want %q", got, all)
	}

	g := graphview.Build(subject.Graph, subject.View.Plan, subject.Keys)
	switch place {
	case "argument":
		address = strings.Replace(address, "fake_thing.reader", "var.in", 1)
	case "local":
		address = "local.read"
	}
	var from []int // empty if all instances are one node
	if i := slices.IndexFunc(g.Nodes, func(n graphview.Node) bool { return n.Address == address }); i >= 0 {
		from = append(from, i)
	}
	reached := map[string]bool{}
	for i := range dag.Reachable(from, func(i int) (next []int) {
		for _, e := range g.Edges {
			if e.From == i && e.Single {
				next = append(next, e.To)
			}
		}
		return next
	}) {
		if name := g.Nodes[i].Address; readName.MatchString(name) {
			reached[name] = true
		}
	}
	want := []string{one}
	ofResource := !strings.Contains(v, "module.m")
	if ofValue.MatchString(v) || each == "local.all" || each == "local.ids" || ofResource && each == "" && place != "block" {
		want = nil // graphs follow no values, and no reads of resources by values without instances
	}
	if got := slices.Sorted(maps.Keys(reached)); !slices.Equal(got, want) {
		t.Errorf("in the graph, %s leads to %q, want %q", address, got, want)
	}
}

// addLeaves adds the instances that sources without further sources name.
func addLeaves(names map[string]bool, sources []*explain.Source) {
	for _, s := range sources {
		addLeaves(names, s.Sources)
		if name := readName.FindString(s.Text); name != "" {
			names[name] = true
		}
	}
}
