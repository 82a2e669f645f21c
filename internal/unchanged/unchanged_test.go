package unchanged_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/refresh"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/unchanged"
)

// world is a cloud with a state, and what is known of unchanged blocks.
type world struct {
	*enginetest.Session
	remembers bool
	sums      []byte
}

func newWorld(t *testing.T, remembers bool) *world {
	w := &world{Session: enginetest.NewSession(t.TempDir()), remembers: remembers}
	w.Cloud.SchemaVersion = 1
	return w
}

// run is the result of a validation and a plan, and of an apply of that plan.
type run struct {
	text    string   // the errors, the warnings and the changes
	planned []string // the objects for which the provider was asked
	state   string
}

// scene is a configuration with the variables and options of one run.
type scene struct {
	files     map[string]string
	variable  string
	workspace string
	apply     bool
	refresh   bool
	minimal   bool // a minimal refresh instead of none
	saved     bool
}

// play validates and plans a scene, and applies the plan if the scene says so.
func (w *world) play(s *scene) (*run, error) {
	ctx := context.Background()
	var problems tfdiags.Diagnostics
	vars := map[string]engine.Variable{"v": {Value: cty.StringVal(s.variable)}}
	cfg, err := w.Load(s.files, vars, problems.Add)
	if err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	w.Cloud.Calls()
	env := w.Env()
	env.Workspace = s.workspace
	env.Warn = problems.Add
	blocks := &unchanged.Blocks{Steady: func(addrs.Provider) bool { return true }, Source: func(name string) []byte {
		text, _ := os.ReadFile(name)
		return text
	}, Circumstances: fmt.Appendf(nil, "%q %d", s.workspace, w.Cloud.SchemaVersion),
		Variables: map[string][]byte{"v": []byte(s.variable)}}
	if w.remembers {
		env.Unchanged = blocks
		if w.sums != nil {
			if err := blocks.Load(w.sums); err != nil {
				return nil, err
			}
		}
	}
	err = engine.Validate(ctx, cfg, env)
	var plan *plans.Plan
	if err == nil {
		looks := &refresh.Run{Options: refresh.Options{Minimal: s.minimal}}
		plan, err = looks.Plan(ctx, cfg, w.State, env, &engine.PlanOptions{Variables: vars,
			SkipRefresh: !s.refresh && !s.minimal, NotSaved: !s.saved, Defer: true})
	}
	if err == nil && len(problems) == 0 && w.remembers {
		w.sums = blocks.Encode()
	}
	out := &run{text: describe(append(problems, tfdiags.FromError(err)...))}
	for _, call := range w.Cloud.Calls() {
		if name, ok := strings.CutPrefix(call.What, "plan "); ok {
			name, _, _ = strings.Cut(name, " ")
			out.planned = append(out.planned, name)
		}
	}
	slices.Sort(out.planned)
	out.planned = slices.Compact(out.planned)
	if plan == nil {
		return out, nil
	}
	out.text += enginetest.DescribePlan(plan)
	if err == nil && s.apply {
		env := w.Env()
		env.Workspace = s.workspace
		w.Cloud.Applying = true
		w.State, err = engine.Apply(ctx, cfg, plan, env, &engine.ApplyOptions{Variables: vars})
		w.Cloud.Applying = false
		if err != nil {
			out.text += "apply: " + describe(tfdiags.FromError(err))
		}
	}
	out.state = enginetest.Describe(w.State)
	return out, nil
}

func describe(all tfdiags.Diagnostics) string {
	var lines []string
	for _, d := range all {
		lines = append(lines, fmt.Sprintf("%s: %s\n", d.Severity, d.Summary))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestUnchanged plays random edits of a configuration twice: once with plans of everything, and once
// with plans that leave out unchanged blocks. Both must have the same errors, warnings, changes and
// states.
func TestUnchanged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &director{T: rt, file: "one", variable: "x", workspace: "default", local: "text", inner: "in", schema: 1}
		d.draw()
		full, fast := newWorld(t, false), newWorld(t, true)
		var told []string
		for range rapid.IntRange(3, 10).Draw(rt, "steps") {
			s := d.scene()
			told = append(told, fmt.Sprintf("== %+v\n%s", *s, d))
			for _, w := range []*world{full, fast} {
				w.Cloud.SchemaVersion = d.schema
				if d.drift >= 0 {
					w.drift(fmt.Sprintf("b%d", d.drift))
				}
				if d.taint >= 0 {
					w.taint(fmt.Sprintf("b%d", d.taint))
				}
				if d.rewritten >= 0 {
					w.rewrite(fmt.Sprintf("b%d", d.rewritten), func(o *states.Object) {
						o.CreateBeforeDestroy, o.Dependencies = !o.CreateBeforeDestroy, nil
					})
				}
			}
			want, err := full.play(s)
			if err != nil {
				rt.Fatalf("%v\n%s", err, strings.Join(told, ""))
			}
			got, err := fast.play(s)
			if err != nil {
				rt.Fatalf("%v\n%s", err, strings.Join(told, ""))
			}
			if want.text != got.text || want.state != got.state {
				rt.Fatalf("a plan of everything:\n%s\nof what has changed, %v:\n%s\nstates:\n%s\n%s\n%s", want.text,
					got.planned, got.text, want.state, got.state, strings.Join(told, ""))
			}
			d.edit()
		}
	})
}

// taint marks the first object of a block as tainted.
func (w *world) taint(block string) {
	w.rewrite(block, func(o *states.Object) { o.Status = states.Tainted })
}

// rewrite changes the first object of a block in the state, as another program may.
func (w *world) rewrite(block string, change func(*states.Object)) {
	r := w.State.Resource(addrs.Resource{Mode: addrs.Managed, Type: "fake_thing", Name: block}.InInstance(addrs.RootInstance))
	if r == nil || len(r.Instances) == 0 {
		return
	}
	key := r.SortedKeys()[0]
	obj := *r.Instances[key].Current
	change(&obj)
	w.State = w.State.Clone()
	w.State.SetCurrent(r.Addr.Instance(key), &obj, addrs.ProviderInstance{Config: r.Provider})
}

// drift changes the first object of a block outside.
func (w *world) drift(block string) {
	for _, id := range w.Cloud.Objects() {
		if strings.HasPrefix(id, block+"-") {
			w.Cloud.Edit(id, "v", "drift")
			return
		}
	}
}

// director draws configurations.
type director struct {
	*rapid.T
	blocks                                        []*block
	file, variable, workspace, local, inner, feed string
	output, between                               string // between is text between blocks
	schema                                        int64
	// blocks whose object is tainted, changed outside, or rewritten in the state before the next scene, or -1
	taint, drift, rewritten int
}

type block struct {
	n                  int
	v, f, repeat, life string
	kind               string // how many instances there are: "", "count" or "each"
}

func (d *director) odds(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(d.T, label) > 100-percent
}

func (d *director) draw() {
	for i := range rapid.IntRange(2, 7).Draw(d.T, "blocks") {
		b := &block{n: i}
		d.blocks = append(d.blocks, b)
		d.rewrite(b)
	}
	d.feed, d.output, d.taint, d.drift, d.rewritten = d.expr(2), d.expr(len(d.blocks)), -1, -1, -1
}

// rewrite draws the text of a block.
func (d *director) rewrite(b *block) {
	b.kind = rapid.SampledFrom([]string{"", "", "", "count", "each"}).Draw(d.T, "kind")
	b.repeat = map[string]string{"": "", "count": "  count = 2\n", "each": "  for_each = toset([\"k\", local.text])\n"}[b.kind]
	if b.n > 0 && d.odds("late instances", 20) {
		b.kind, b.repeat = "each", "  for_each = toset([\"k\", "+d.ref(0, "name")+"])\n"
	}
	b.v, b.f = d.expr(b.n), "null"
	if d.odds("f", 25) {
		b.f = d.expr(b.n)
	}
	d.live(b)
}

// live draws the lifecycle of a block.
func (d *director) live(b *block) {
	b.life = rapid.SampledFrom([]string{"", "", "", "", "create_before_destroy = true", "ignore_changes = [v]", `ignore_changes = var.v == "x" ? ["v"] : []`, `create_before_destroy = local.text == "text"`,
		"precondition {\n      condition     = length(local.file) > 0\n      error_message = \"No text.\"\n    }",
		"replace_triggered_by = [fake_thing.b0]"}).Draw(d.T, "lifecycle")
	if b.n == 0 && strings.HasPrefix(b.life, "replace") {
		b.life = ""
	}
}

// expr draws an expression for a string, which may refer to blocks before n.
func (d *director) expr(n int) string {
	forms := []string{`"text"`, `"text"`, "local.text", "local.late", "local.file", "var.v", "terraform.workspace",
		`file("${path.module}/f.txt")`, "upper(local.both)", `templatestring("$${x}", { x = local.text })`,
		"provider::fake::echo(local.text)", "data.fake_find.d.text", `fileexists("${path.module}/two") ? "yes" : "no"`}
	if n > 2 {
		forms = append(forms, "module.m.out", "module.m.given")
	}
	for i := range n {
		forms = append(forms, d.ref(i, "id"), d.ref(i, "v"), d.ref(i, "id"))
	}
	return rapid.SampledFrom(forms).Draw(d.T, "expression")
}

// ref refers to block i in a way that is valid for any number of instances.
func (d *director) ref(i int, attr string) string {
	return fmt.Sprintf(`try(fake_thing.b%[1]d.%[2]s, join("-", fake_thing.b%[1]d[*].%[2]s), join("-", values(fake_thing.b%[1]d)[*].%[2]s), "none")`,
		i, attr)
}

// edit changes something.
func (d *director) edit() {
	d.taint, d.drift, d.rewritten = -1, -1, -1
	next := func(s string) string { return s + "+" }
	one := d.blocks[rapid.IntRange(0, len(d.blocks)-1).Draw(d.T, "edited")]
	switch rapid.SampledFrom([]string{"nothing", "block", "text", "lifecycle", "literal", "literal", "local", "file", "variable", "workspace",
		"inner", "feed", "output", "schema", "taint", "rewritten", "drift", "drift", "add", "comment", "between"}).Draw(d.T, "edit") {
	case "block":
		d.rewrite(one)
	case "text":
		one.v = d.expr(one.n)
	case "lifecycle":
		d.live(one)
	case "literal":
		one.v = fmt.Sprintf("%q", rapid.SampledFrom([]string{"p", "q"}).Draw(d.T, "literal"))
	case "local":
		d.local = next(d.local)
	case "file":
		d.file = next(d.file)
	case "variable":
		d.variable = next(d.variable)
	case "workspace":
		d.workspace = next(d.workspace)
	case "inner":
		d.inner = next(d.inner)
	case "feed":
		d.feed = d.expr(2)
	case "output":
		d.output = d.expr(len(d.blocks))
	case "schema":
		d.schema++
	case "taint":
		d.taint = one.n
	case "drift":
		d.drift = one.n
	case "rewritten":
		d.rewritten = one.n
	case "add":
		b := &block{n: len(d.blocks)}
		d.blocks = append(d.blocks, b)
		d.rewrite(b)
	case "comment":
		one.repeat += "  # a comment\n"
	case "between":
		d.between = rapid.SampledFrom([]string{"", "# text\n", "\n\n", "locals {\n  more = 1\n}\n"}).Draw(d.T, "between")
	}
}

func (d *director) scene() *scene {
	return &scene{files: map[string]string{"main.tf": d.String(), "f.txt": d.file, "m/m.tf": fmt.Sprintf(`
variable "in" {}
resource "fake_thing" "in" {
  name = %q
  v    = var.in
}
output "out" {
  value = fake_thing.in.id
}
output "given" {
  value = var.in
}
`, d.inner), "two": "x"}, variable: d.variable, workspace: d.workspace,
		apply: d.odds("apply", 70), refresh: d.odds("refresh", 10), minimal: d.odds("minimal", 40), saved: d.odds("saved", 5)}
}

func (d *director) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `terraform {
  required_providers {
    fake = { source = "fake" }
  }
}
variable "v" {}
locals {
  text = %q
  file = file("${path.module}/f.txt")
  late = %s
  both = "${local.text}-${var.v}"
}
data "fake_find" "d" {
  name = "b0"
}
module "m" {
  source = "./m"
  in     = %s
}
output "o" {
  value = %s
}
`, d.local, d.ref(0, "id"), d.feed, d.output)
	b.WriteString(d.between)
	for _, one := range d.blocks {
		key := map[string]string{"": "", "count": "-${count.index}", "each": "-${each.key}"}[one.kind]
		fmt.Fprintf(&b, "resource \"fake_thing\" \"b%d\" {\n%s  name = \"b%d%s\"\n  v = %s\n  f = %s\n", one.n, one.repeat,
			one.n, key, late(one, one.v), late(one, one.f))
		if one.life != "" {
			fmt.Fprintf(&b, "  lifecycle {\n    %s\n  }\n", one.life)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// late replaces a reference of the first block to itself.
func late(b *block, expr string) string {
	if b.n == 0 && expr == "local.late" {
		return "null"
	}
	return expr
}

const example = `
terraform {
  required_providers {
    fake = { source = "fake" }
  }
}
variable "v" {}
locals {
  text  = "l"
  key   = "k"
  first = fake_thing.a.id
  file  = file("${path.module}/f.txt")
}
resource "fake_thing" "a" {
  name = "a"
}
resource "fake_thing" "b" {
  name = "b"
  v    = local.first
}
resource "fake_thing" "c" {
  count = 2
  name  = "c${count.index}"
  v     = local.text
}
resource "fake_thing" "d" {
  name = "d"
  v    = local.file
}
resource "fake_thing" "e" {
  name = "e"
  v    = join("", fake_thing.c[*].id)
}
resource "fake_thing" "g" {
  name = "g"
  lifecycle {
    replace_triggered_by = [fake_thing.a]
  }
}
resource "fake_thing" "h" {
  name = "h"
  lifecycle {
    precondition {
      condition     = local.file != ""
      error_message = "No text."
    }
  }
}
resource "fake_thing" "p" {
  name = "p"
  v    = provider::fake::echo("x")
}
resource "fake_thing" "r" {
  for_each = toset([local.key])
  name     = "r"
}
resource "fake_thing" "x" {
  name       = "x"
  depends_on = [module.m]
}
module "m" {
  source = "./m"
  in     = fake_thing.b.v
}
`

// TestPlanned checks which blocks are planned after which edits.
func TestPlanned(t *testing.T) {
	all := "a b c0 c1 d e g h in p r x"
	tests := []struct {
		name, old, new string
		change         func(*world, *scene)
		want           string
	}{
		{name: "nothing", want: "d g h p"}, // a file, a trigger, a condition, a function of a provider
		{name: "a comment between blocks", old: "locals {", new: "# text\n\nlocals {", want: "d g h p"},
		{name: "a new block", old: "locals {", new: "resource \"fake_thing\" \"n\" {\n  name = \"n\"\n}\nlocals {", want: "d g h n p"},
		{name: "a new local", old: "locals {", new: "locals {\n  n = 1", want: "d g h p"},
		{name: "a block without readers", old: `"e"` + "\n", new: `"e2"` + "\n", want: "d e2 g h p"},
		{name: "a block with readers", old: `name = "b"`, new: "name = \"b\"\n  f = \"x\"", want: "b d g h in p"},
		{name: "a block read through a local", old: `name = "a"`, new: "name = \"a\"\n  tags = {}", want: "a b d g h in p"},
		{name: "a block in a called module", change: func(_ *world, s *scene) {
			s.files["m/m.tf"] = strings.Replace(s.files["m/m.tf"], `"in"`+"\n", `"in2"`+"\n", 1)
		}, want: "d g h in2 p"},
		{name: "a local", old: `"l"`, new: `"k"`, want: "c0 c1 d e g h p"},
		{name: "an argument of a call", old: `fake_thing.b.v`, new: `"x"`, want: "d g h in p"},
		{name: "a variable", change: func(_ *world, s *scene) { s.variable = "y" }, want: "d g h p"},
		{name: "a workspace", change: func(_ *world, s *scene) { s.workspace = "y" }, want: all},
		{name: "a schema", change: func(w *world, _ *scene) { w.Cloud.SchemaVersion++ }, want: all},
		{name: "a dependency", change: func(_ *world, s *scene) {
			s.files["m/m.tf"] += "resource \"fake_thing\" \"more\" {\n  name = \"more\"\n}\n"
		}, want: "d g h more p x"},
		{name: "a local in for_each", old: `"k"`, new: `"k2"`, want: "d g h p r"},
		{name: "a forced flag", old: "locals {", new: "resource \"fake_thing\" \"n\" {\n  name = \"n\"\n  v = fake_thing.b.id\n" +
			"  lifecycle {\n    create_before_destroy = true\n  }\n}\nlocals {", want: "a b d g h in n p"},
		{name: "the flag of an object", change: func(w *world, _ *scene) {
			w.rewrite("c", func(o *states.Object) { o.CreateBeforeDestroy = true })
		}, want: "c0 c1 d e g h p"},
		{name: "the dependencies of an object", change: func(w *world, _ *scene) {
			w.rewrite("b", func(o *states.Object) { o.Dependencies = nil })
		}, want: "b d g h in p"},
		{name: "an object", change: func(w *world, _ *scene) { w.taint("c") }, want: "c0 c1 d e g h p"},
		{name: "a plan that reads objects", change: func(_ *world, s *scene) { s.refresh = true }, want: all},
		{name: "a minimal refresh", change: func(_ *world, s *scene) { s.minimal = true }, want: "d g h p"},
		{name: "a minimal refresh that reads a block", old: `name = "b"`, new: "name = \"b\"\n  f = \"x\"",
			change: func(_ *world, s *scene) { s.minimal = true }, want: "a b d g h in p"},
		{name: "a saved plan", change: func(_ *world, s *scene) { s.saved = true }, want: all},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, true)
			s := &scene{files: map[string]string{"main.tf": example, "f.txt": "x", "m/m.tf": `
variable "in" {}
resource "fake_thing" "in" {
  name = "in"
  v    = var.in
}
`}, variable: "x", workspace: "default", apply: true}
			for range 2 {
				if _, err := w.play(s); err != nil {
					t.Fatal(err)
				}
			}
			s.files, s.apply = maps.Clone(s.files), false
			if test.old != "" {
				s.files["main.tf"] = strings.Replace(example, test.old, test.new, 1)
			}
			if test.change != nil {
				test.change(w, s)
			}
			got, err := w.play(s)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got.planned, " "); text != test.want {
				t.Errorf("planned %q, want %q\n%s", text, test.want, got.text)
			}
		})
	}
}
