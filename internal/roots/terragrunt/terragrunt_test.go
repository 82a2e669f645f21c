package terragrunt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/configs"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/roots/terragrunt"
	"tofu/internal/testenv"
)

// module is a root module with the variables a to d.
const module = `
-- module/main.tf --
variable "a" {}
variable "b" {}
variable "c" {}
variable "d" {}
`

// other is a unit on which others depend.
const other = `
-- other/terragrunt.hcl --
-- other/main.tf --
output "ids" {
  value = ["x"]
}
`

// TestImport checks parts of the written file, and of what is left out.
func TestImport(t *testing.T) {
	for name, c := range map[string]struct {
		files string
		want  []string
		left  []string
	}{
		"shallow merge": {module + `
-- root.hcl --
inputs = { a = { x = 1, y = 2 }, b = "root" }
-- u/terragrunt.hcl --
include {
  path = find_in_parent_folders("root.hcl")
}
terraform {
  source = "..//module"
}
inputs = { a = { x = 3 } }
`, []string{`path = "module"`, "a = {\n      x = 3\n    }", `b = "root"`}, nil},
		"deep merge": {module + `
-- root.hcl --
inputs = { a = { x = 1, y = [2] } }
-- u/terragrunt.hcl --
include "root" {
  path           = find_in_parent_folders("root.hcl")
  merge_strategy = "deep"
}
terraform {
  source = "../module"
}
inputs = { a = { x = 3, y = [4] } }
`, []string{"x = 3", "y = [2, 4]"}, nil},
		"no merge, but exposed": {module + `
-- root.hcl --
locals {
  up = path_relative_from_include()
}
inputs = { a = 1 }
-- deep/u/terragrunt.hcl --
include "root" {
  path           = "../../root.hcl"
  merge_strategy = "no_merge"
  expose         = true
}
terraform {
  source = "${include.root.locals.up}/module"
}
inputs = { b = include.root.inputs.a, c = path_relative_to_include("root") }
`, []string{`path = "module"`, "b = 1", `c = "deep/u"`}, nil},
		"expressions with outputs": {module + other + `
-- u/terragrunt.hcl --
locals {
  prefix = "p"
}
dependency "o" {
  config_path = "../other"
}
terraform {
  source = "../module"
}
inputs = {
  a = [for id in dependency.o.outputs.ids : "${local.prefix}-${id}"]
  b = length(dependency.o.outputs.ids) > 1 ? dependency.o.outputs.ids[0] : upper(local.prefix)
  c = { (local.prefix) = dependency.o.outputs.ids[*] }
  d = dependency.o.outputs
}
`, []string{`[for id in root["other"].ids : "${"p"}-${id}"]`, `length(root["other"].ids) > 1 ? root["other"].ids[0] : "P"`,
			`c = { "p" = root["other"].ids[*] }`, `d = root["other"]`}, nil},
		"functions": {module + `
-- env.hcl --
locals {
  name = basename(get_terragrunt_dir())
}
-- u/terragrunt.hcl --
locals {
  env     = read_terragrunt_config(find_in_parent_folders("env.hcl"))
  missing = read_terragrunt_config("no.hcl", { locals = { x = "none" } })
}
terraform {
  source = "../module"
}
inputs = {
  a = local.env.locals.name
  b = local.missing.locals.x
  c = get_env("SET") == "1" ? get_env("UNSET", "fallback") : ""
  d = find_in_parent_folders("no.hcl", "nothing")
}
`, []string{`a = "u"`, `b = "none"`, `c = "fallback"`, `d = "nothing"`}, nil},
		"what can't be known": {module + `
-- u/terragrunt.hcl --
locals {
  account = get_aws_account_id()
}
dependency "gone" {
  config_path = "../gone"
}
terraform {
  source = "../module"
}
skip = true
inputs = {
  a = get_env("UNSET")
  b = local.account
  c = dependency.gone.outputs.x
  d = 1
}
`, []string{"d = 1"}, []string{`the input "a": `, "UNSET is not set", `the input "b": `, `the input "c": `,
			`the dependency "gone": ../gone is no unit`, "u/terragrunt.hcl:10: the argument skip"}},
		"units with one module and no remote state": {module + `
-- a/u/terragrunt.hcl --
terraform {
  source = "../../module"
}
-- b/u/terragrunt.hcl --
terraform {
  source = "../../module"
}
`, []string{`workspace = "a_u"`, `workspace = "b_u"`}, nil},
		"broken and circular files": {`
-- broken/terragrunt.hcl --
inputs = {
-- circle/terragrunt.hcl --
include {
  path = "../circle.hcl"
}
-- circle.hcl --
locals {
  me = read_terragrunt_config("circle.hcl")
}
include {
  path = "circle.hcl"
}
`, nil, []string{"broken: the whole unit", "circle: the whole unit", "is read in a circle"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testenv.Unpack(t, dir, c.files)
			result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: func(name string) string { return map[string]string{"SET": "1"}[name] }})
			if err != nil {
				t.Fatal(err)
			}
			plain := strings.Join(strings.Fields(string(result.Text)), " ")
			for _, part := range c.want {
				if !strings.Contains(plain, strings.Join(strings.Fields(part), " ")) {
					t.Errorf("lacks %s:\n%s", part, result.Text)
				}
			}
			left := strings.Join(result.LeftOut, "\n")
			for _, part := range c.left {
				if !strings.Contains(left, part) {
					t.Errorf("what is left out lacks %s:\n%s", part, left)
				}
			}
			if c.left == nil && left != "" {
				t.Errorf("left out:\n%s", left)
			}
			// What is written can be read.
			err = os.WriteFile(filepath.Join(dir, rootsfile.FileName), result.Text, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			f, err := rootsfile.Load(configs.NewParser(nil), dir)
			if err != nil || len(f.Roots) != result.Roots {
				t.Errorf("reading it again: %v\n%s", err, result.Text)
			}
		})
	}
}
