package configs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"tofu/internal/tfdiags"
)

const staticText = `
-- main.tf --
variable "where" {
  type = string
}
locals {
  dir = "./${var.where}"
}
terraform {
  backend "local" {
    path = "${local.dir}/${path.module}/${terraform.workspace}"
  }
}
module "m" {
  source = local.dir
  deeper = upper("x")
}
-- m/main.tf --
variable "deeper" {
  type     = string
  nullable = false
  default  = "y"
}
module "below" {
  source = "./${lower(var.deeper)}"
}
-- m/x/main.tf --
output "here" {
  value = 1
}
`

func TestStatic(t *testing.T) {
	root := load(t, staticText, &LoadOptions{Variables: map[string]Given{"where": {Text: "m"}}, Workspace: "w"})
	below := root.Descendant("m.below")
	if below == nil || below.Source != "./x" || below.Module.Dir != "m/x" || below.Module.Outputs["here"] == nil {
		t.Fatalf("child: %+v", below)
	}
	attrs, _ := root.Module.Backend.Config.JustAttributes()
	v, diags := root.StaticEval(attrs["path"].Expr, cty.String, "backend.local")
	if diags != nil || v.AsString() != "./m/./w" {
		t.Errorf("backend path: %#v %v", v, diags)
	}
}

func TestAsk(t *testing.T) {
	asked := 0
	opts := &LoadOptions{Variables: map[string]Given{}, Ask: func(v *Variable) (Given, error) {
		asked++
		return Given{Text: "m", From: "you"}, nil
	}}
	load(t, staticText, opts)
	load(t, staticText, opts)
	if asked != 1 {
		t.Errorf("prompted %d times", asked)
	}
}

func TestSnapshot(t *testing.T) {
	vars := map[string]Given{"where": {Val: cty.StringVal("m")}}
	first := load(t, staticText, &LoadOptions{Variables: vars}).Snapshot()
	again, err := LoadSnapshot(t.Context(), first, &LoadOptions{Variables: vars}, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again.Snapshot()); diff != "" {
		t.Error(diff)
	}
	if len(first.Modules) != 3 || len(first.Files) != 3 {
		t.Errorf("%d modules, %d files", len(first.Modules), len(first.Files))
	}
	_, err = LoadSnapshot(t.Context(), first,
		&LoadOptions{Variables: map[string]Given{"where": {Text: "elsewhere"}}}, tfdiags.Drop)
	if err == nil {
		t.Error("found a module with another source in the snapshot")
	}
}

// TestStaticErrorsAreBounded checks that the number of diagnostics doesn't multiply in a chain of
// symbols that use the previous ones several times.
func TestStaticErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- main.tf --\nlocals {\n  a0 = nope.x\n  b0 = nope.x\n")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "  a%d = [local.a%d, local.b%d]\n  b%d = [local.a%d, local.b%d]\n", i, i-1, i-1, i, i-1, i-1)
	}
	b.WriteString("}\nmodule \"m\" {\n  source = local.a40\n}\n")
	_, diags := loadArchive(txtar.Parse([]byte(b.String())), nil)
	if len(diags) < 2 || len(diags) > 5000 {
		t.Errorf("got %d diagnostics", len(diags))
	}
}

// TestSnapshotWithParser checks that loading a snapshot reuses the directories that another parser
// has decoded from the same files, and no others.
func TestSnapshotWithParser(t *testing.T) {
	vars := map[string]Given{"where": {Val: cty.StringVal("m")}}
	cfg := load(t, staticText, &LoadOptions{Variables: vars})
	parser := cfg.Root.static.env.parser
	shared := func(s *Snapshot) map[string]bool {
		again, err := LoadSnapshot(t.Context(), s, &LoadOptions{Variables: vars, Parser: parser}, tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, again.Snapshot()); diff != "" {
			t.Error(diff)
		}
		out := make(map[string]bool)
		for of := range again.AllModules() {
			same, err := parser.Module(of.Module.Dir, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			out[of.Module.Dir] = out[of.Module.Dir] || of.Module == same
		}
		return out
	}
	dirs := shared(cfg.Snapshot())
	for dir, is := range dirs {
		if !is {
			t.Errorf("%s is decoded again", dir)
		}
	}
	changed := cfg.Snapshot()
	name := cfg.Module.Files[0]
	changed.Files[name] = append(bytes.Clone(changed.Files[name]), "\n# changed\n"...)
	for dir, is := range shared(changed) {
		if is == (dir == cfg.Module.Dir) {
			t.Errorf("%s is shared: %v", dir, is)
		}
	}
	same := cfg.Snapshot()
	parser.Forget(cfg.Module.Dir)
	again, err := LoadSnapshot(t.Context(), same, &LoadOptions{Variables: vars, Parser: parser}, tfdiags.Drop)
	if err != nil || again.Module == cfg.Module {
		t.Errorf("a directory that was forgotten is used: %v", err)
	}
}
