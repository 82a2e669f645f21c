package terragrunt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// other is a unit that other units depend on.
const other = `
-- other/terragrunt.hcl --
-- other/main.tf --
output "ids" {
  value = ["x"]
}
`

// TestImport checks parts of the resulting roots.tofu.hcl and of the list of what is left out.
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
		"directives beside outputs": {module + other + `
-- u/terragrunt.hcl --
terraform {
  source = "../module"
}
dependency "o" {
  config_path = "../other"
}
inputs = {
  a = "x%{ if true }y%{ endif }${dependency.o.outputs.ids[0]}"
  b = "x %{~ if false } y%{ else } z %{ endif ~} ${dependency.o.outputs.ids[0]}"
}
`, []string{`a = "x${"y"}${root["other"].ids[0]}"`, `b = "x ${~" z "~} ${root["other"].ids[0]}"`}, nil},
		"names of workspaces": {module + `
-- a b/terragrunt.hcl --
terraform {
  source = "../module"
}
-- a/c/terragrunt.hcl --
terraform {
  source = "../../module"
}
-- a_c/terragrunt.hcl --
terraform {
  source = "../module"
}
`, []string{`workspace = "a_b"`, `workspace = "a_c_70f3708a"`, `workspace = "a_c_5fcc097c"`}, nil},
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
		"each include has its strategy": {module + `
-- first.hcl --
inputs = { a = { first = 1, x = 1 }, b = { first = 1 } }
-- second.hcl --
inputs = { a = { second = 2, x = 2 }, b = { second = 2 } }
-- deep/terragrunt.hcl --
include "first" {
  path           = "../first.hcl"
  merge_strategy = "deep"
}
include "second" {
  path = "../second.hcl"
}
terraform {
  source = "../module"
}
inputs = { a = { unit = 3, x = 3 } }
-- shallow/terragrunt.hcl --
include "first" {
  path = "../first.hcl"
}
include "second" {
  path           = "../second.hcl"
  merge_strategy = "deep"
}
terraform {
  source = "../module"
}
inputs = { a = { unit = 3, x = 4 } }
`, []string{"a = {\n      first = 1\n      unit  = 3\n      x     = 3\n    }", "b = {\n      first  = 1\n      second = 2\n    }",
			"a = {\n      second = 2\n      unit   = 3\n      x      = 4\n    }", "b = {\n      second = 2\n    }"}, nil},
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
		"values from outside": {module + other + `
-- module/more.tf --
variable "x" {}
variable "y" {}
variable "z" {}
-- data.yaml --
name: y
-- env.hcl --
locals {
  set = get_env("SET")
}
inputs = { y = get_env("SET") }
-- u/terragrunt.hcl --
include "env" {
  path   = "../env.hcl"
  expose = true
}
locals {
  data = yamldecode(file("../data.yaml"))
}
feature "f" {
  default = get_env("SET")
}
dependency "o" {
  config_path = get_env("SET") == "1" ? "../other" : "../none"
}
terraform {
  source = "../module"
}
inputs = {
  a = include.env.locals.set
  b = { for k, v in local.data : k => v }
  c = "${dependency.o.outputs.ids[0]} ${local.data.name}"
  d = feature.f.value
  x = (get_env("SET") == "1" ? "yes" : "no")
  z = get_env("UNSET", "default")
}
`, []string{`variables = { x = "yes" z = "default" }`}, []string{
			`env.hcl:4: the input "y": it has the value of the environment variable SET, which may be a secret: set it with TF_VAR_y`,
			`u/terragrunt.hcl:18: the input "a": it has the value of the environment variable SET`,
			`u/terragrunt.hcl:19: the input "b": it has the content of the file ../data.yaml`,
			`u/terragrunt.hcl:20: the input "c": it has the content of the file ../data.yaml`,
			`u/terragrunt.hcl:21: the input "d": it has the value of the environment variable SET`}},
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
`, []string{"d = 1"}, []string{`the input "a": `, "UNSET is empty or not set", `the input "b": `, `the input "c": `,
			`the dependency "gone": ../gone is not a unit`, "u/terragrunt.hcl:10: the argument skip"}},
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
		"dependencies without outputs": {module + other + `
-- more/terragrunt.hcl --
-- more/main.tf --
-- u/terragrunt.hcl --
dependency "o" {
  config_path  = "../other"
  skip_outputs = true
}
dependency "m" {
  config_path = "../more"
  enabled     = false
}
terraform {
  source = "../module"
}
`, []string{`after = [root["other"]]`}, nil},
		"feature flags and functions": {module + `
-- common.tfvars --
size = 3
-- u/terragrunt.hcl --
feature "big" {
  default = true
}
locals {
  vars = jsondecode(read_tfvars_file("../common.tfvars"))
}
terraform {
  source = "../module"
  extra_arguments "vars" {
    commands  = get_terraform_commands_that_need_vars()
    arguments = ["-var-file=../common.tfvars", "-lock=false"]
  }
}
inputs = {
  a = feature.big.value ? local.vars.size : 0
  b = deep_merge({ x = { y = 1 }, l = [1] }, { x = { z = 2 }, l = [2] })
}
`, []string{`var_files = ["../common.tfvars"]`, "a = 3", "l = [1, 2]", "y = 1", "z = 2"},
			[]string{"u/terragrunt.hcl:11: the argument -lock=false"}},
		"settings as attributes": {module + `
-- common.hcl --
remote_state {
  backend = "local"
  config  = { path = "../states/u.tfstate" }
}
-- u/terragrunt.hcl --
locals {
  common = read_terragrunt_config("../common.hcl")
}
remote_state = local.common.remote_state
terraform {
  source = "../module"
}
`, []string{`path = "../states/u.tfstate"`}, nil},
		"a generated backend": {module + `
-- u/terragrunt.hcl --
generate "backend" {
  path      = "state.tf"
  if_exists = "overwrite"
  contents  = <<TEXT
terraform {
  backend "s3" {
    bucket  = "b"
    key     = "${basename(get_terragrunt_dir())}"
    encrypt = true
  }
}
TEXT
}
terraform {
  source = "../module"
}
`, []string{`bucket = "b"`, `encrypt = "true"`, `key = "u"`}, nil},
		"backends with unknown settings": {module + `
-- u/terragrunt.hcl --
remote_state {
  backend = "s3"
  config  = { bucket = "b", skip_bucket_versioning = true }
}
terraform {
  source = "../module"
}
-- v/terragrunt.hcl --
remote_state {
  backend = "nowhere"
  config  = {}
}
terraform {
  source = "../module"
}
`, []string{`bucket = "b"`}, []string{"u/terragrunt.hcl:1: skip_bucket_versioning of remote_state",
			"v/terragrunt.hcl:1: remote_state: "}},
		"what a stack adds": {module + other + `
-- template/terragrunt.hcl --
terraform {
  source = "../../../module"
}
inputs = { a = 1, b = values.name }
-- template/terragrunt.values.hcl --
name = "default"
-- live/terragrunt.stack.hcl --
unit "one" {
  source = "../template"
  path   = "one"
  values = { name = "one" }
}
unit "two" {
  source = "../template"
  path   = "two"
  autoinclude {
    dependency "one" {
      config_path = unit.one.path
    }
    dependency "o" {
      config_path = "../../../other"
    }
    inputs = { c = dependency.o.outputs.ids }
  }
}
`, []string{`root "live/one"`, `b = "one"`, `root "live/two"`, `b = "default"`, `c = root["other"].ids`,
			`after = [root["live/one"]]`}, nil},
		"programs and services": {module + other + `
-- u/terragrunt.hcl --
dependency "o" {
  config_path = "../other"
}
terraform {
  source = "../module"
  after_hook "h" {
    commands = ["apply"]
    execute  = ["true"]
  }
}
inputs = {
  a = run_cmd("echo", dependency.o.outputs.ids[0])
  b = sops_decrypt_file("secret.yaml")
}
`, nil, []string{"u/terragrunt.hcl:6: the block after_hook", "u/terragrunt.hcl:12: the input \"a\": The result of run_cmd is not constant",
			"u/terragrunt.hcl:13: the input \"b\": the result of sops_decrypt_file is not constant"}},
		"files beside a unit": {module + `
-- u/terragrunt.hcl --
terraform {
  source = "../module"
}
-- u/moved.tf --
-- u/.terraform.lock.hcl --
`, []string{`root "u"`}, []string{"u/moved.tf:1: the file is copied", "u/.terraform.lock.hcl: lock files of units (1)"}},
		"deep merge with outputs": {module + other + `
-- root.hcl --
inputs = { a = { x = 1 }, b = 1 }
-- u/terragrunt.hcl --
include "root" {
  path           = find_in_parent_folders("root.hcl")
  merge_strategy = "deep"
}
dependency "o" {
  config_path = "../other"
}
terraform {
  source = "../module"
}
inputs = { a = { y = dependency.o.outputs.ids }, b = dependency.o.outputs.ids }
`, []string{`b = root["other"].ids`}, []string{"u/terragrunt.hcl:11: the input \"a\" is not merged deeply"}},
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
`, nil, []string{"broken: the whole unit", "circle: the whole unit", "read each other in a cycle"}},
		"files that read files twice": {module + readTwice(25) + `
-- u/terragrunt.hcl --
include {
  path = "../0.hcl"
}
locals {
  all = read_terragrunt_config("../0.hcl")
}
terraform {
  source = "../module"
}
inputs = { a = local.all.locals.value }
`, []string{`a = "deep"`}, nil},
		"units in hidden directories": {module + `
-- .live/.eu/a/terragrunt.hcl --
terraform {
  source = "../../../module"
}
inputs = { a = 1 }
-- .live/.terraform/b/terragrunt.hcl --
-- .live/.terraform/b/main.tf --
-- .terragrunt-cache/c/terragrunt.hcl --
-- .terragrunt-cache/c/main.tf --
-- copies/packages.json --
{"p": {"source": "git::https://example.com/p.git"}}
-- copies/p/terragrunt.hcl --
-- copies/p/main.tf --
-- u/terragrunt.hcl --
dependency "a" {
  config_path = "../.live/.eu/a"
}
terraform {
  source = "../module"
}
inputs = { b = 1 }
`, []string{`root ".live/.eu/a" {`, `root "u" {`, `after = [root[".live/.eu/a"]]`}, nil},
		"units that are left out": {module + other + `
-- a/terragrunt.hcl --
dependency "z" {
  config_path = "../z"
}
dependency "o" {
  config_path = "../other"
}
dependencies {
  paths = ["../z", "../other/", "../y/terragrunt.hcl"]
}
terraform {
  source = "../module"
}
inputs = { a = dependency.z.outputs.id, b = "${dependency.z.outputs.id}-${dependency.o.outputs.ids[0]}", c = dependency.o.outputs.ids }
-- y/terragrunt.hcl --
terraform {
  source = "../nowhere"
}
-- z/terragrunt.hcl --
terraform {
  source = "git::https://example.com/z.git"
}
`, []string{`c = root["other"].ids`}, []string{
			`a/terragrunt.hcl:1: the dependency "z": ../z was left out`, `a/terragrunt.hcl:8: the paths of dependencies: ../z was left out`,
			`../y/terragrunt.hcl was left out`, `a/terragrunt.hcl:13: the input "a": `, `a/terragrunt.hcl:13: the input "b": `}},
		"the file as a path": {module + other + `
-- u/terragrunt.hcl --
dependency "o" {
  config_path = "../other/terragrunt.hcl"
}
dependency "p" {
  config_path = "${get_terragrunt_dir()}/../p//terragrunt.hcl"
}
dependencies {
  paths = ["../q/terragrunt.hcl"]
}
terraform {
  source = "../module"
}
inputs = { a = dependency.o.outputs.ids[0] }
-- p/terragrunt.hcl --
-- p/main.tf --
-- q/terragrunt.hcl --
-- q/main.tf --
`, []string{`a = root["other"].ids[0]`, `after = [root["p"], root["q"]]`}, nil},
		"outputs that don't exist": {module + other + `
-- u/terragrunt.hcl --
dependency "o" {
  config_path = "../other"
}
terraform {
  source = "../module"
}
inputs = { a = dependency.o.outputs.idz, b = { for k in ["x"] : k => dependency.o.outputs["ids"] }, c = dependency.o.outputs["none"] }
`, []string{`b = { for k in ["x"] : k => root["other"]["ids"] }`}, []string{
			`the input "a": The module other has no output "idz"`, `the input "c": The module other has no output "none"`}},
		"outputs in functions for errors": {module + other + `
-- u/terragrunt.hcl --
dependency "o" {
  config_path = "../other"
}
terraform {
  source = "../module"
}
inputs = {
  a = try(dependency.o.outputs.ids[0], "none")
  b = can(dependency.o.outputs.ids)
  c = true ? try(upper("c"), "none") : dependency.o.outputs.ids
  d = [for x in ["y"] : try(dependency.o.outputs.ids, x)]
}
`, []string{`a = try(root["other"].ids[0], "none")`, `b = can(root["other"].ids)`, `c = "C"`,
			`d = [for x in ["y"] : try(root["other"].ids, x)]`}, nil},
		"the unit itself": {other + `
-- u/terragrunt.hcl --
dependency "u" {
  config_path = "."
}
dependencies {
  paths = ["../u"]
}
-- u/main.tf --
variable "a" {}
`, []string{`root "u" {`}, []string{`the dependency "u": it is the unit itself`}},
		"names that are not allowed": {module + `
-- {{ name }}/terragrunt.hcl --
terraform {
  source = "../module"
}
-- u/terragrunt.hcl --
dependency "n" {
  config_path = "../{{ name }}"
}
terraform {
  source = "../module"
}
inputs = { a = 1 }
-- u2/terragrunt.hcl.json --
{}
`, []string{`root "u" {`}, []string{"the whole unit in {{ name }}: its path has characters", "../{{ name }} was left out",
			"u2: the whole unit: its file is terragrunt.hcl.json"}},
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
			// The roots.tofu.hcl that was written must be valid.
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

// unpack writes the files of an archive to a new directory.
func unpack(t *testing.T, files string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Unpack(t, dir, files)
	return dir
}

func noEnv(string) string { return "" }

// readTwice returns files of which each reads the next one twice. Reading each of them again would
// take 2^n reads of the last one.
func readTwice(n int) string {
	var files strings.Builder
	for i := range n {
		read := fmt.Sprintf("read_terragrunt_config(\"%d.hcl\").locals.value", i+1)
		fmt.Fprintf(&files, "-- %d.hcl --\nlocals {\n  a     = %s\n  value = %[2]s\n}\n", i, read)
	}
	fmt.Fprintf(&files, "-- %d.hcl --\nlocals {\n  value = \"deep\"\n}\n", n)
	return files.String()
}

// TestFetch checks which sources are fetched, and that the import uses the directories that Fetch
// returns.
func TestFetch(t *testing.T) {
	for source, want := range map[string]string{
		`"git::git@example.com:acme/net.git//vpc?ref=v1"`:                    "git::git@example.com:acme/net.git//vpc?ref=v1 ",
		`"github.com/acme/net//vpc?ref=${basename("v/x2")}"`:                 "github.com/acme/net//vpc?ref=x2 ",
		`"tfr:///acme/net/aws?version=3.3.0"`:                                "acme/net/aws 3.3.0",
		`"tfr://registry.example.com/acme/net/aws//modules/a?version=1.2.0"`: "registry.example.com/acme/net/aws//modules/a 1.2.0",
		"\"tfr:///acme/net/aws\"\n  version = \"~> 3.3\"":                    "acme/net/aws ~> 3.3",
		`"../module"`:                          "",
		`"${get_terragrunt_dir()}/..//module"`: "",
	} {
		dir := unpack(t, module+"-- u/terragrunt.hcl --\nterraform {\n  source = "+source+"\n}\ninputs = { a = 1 }\n")
		got := ""
		result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv,
			Fetch: func(source, version string) (string, error) {
				got = source + " " + version
				return filepath.Join(dir, "module"), nil
			}})
		if err != nil || got != want || !strings.Contains(string(result.Text), `"module"`) {
			t.Errorf("%s: fetched %q, want %q: %v\n%s%v", source, got, want, err, result.Text, result.LeftOut)
		}
	}
	dir := unpack(t, "-- u/terragrunt.hcl --\nterraform {\n  source = \"git::https://example.com/x.git\"\n}\n")
	result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv,
		Fetch: func(string, string) (string, error) { return "", errors.New("no network") }})
	if err != nil || len(result.LeftOut) != 1 || !strings.Contains(result.LeftOut[0], "can't be fetched: No network") {
		t.Errorf("%v %v", result, err)
	}
}

// TestSummary checks that what is left out for one reason in many places is one entry of the summary.
func TestSummary(t *testing.T) {
	files := module
	for i := range 30 {
		files += fmt.Sprintf("-- u%02d/terragrunt.hcl --\nterraform {\n  source = \"git::https://example.com/%[1]d.git\"\n}\n", i)
	}
	files += "-- v/terragrunt.hcl --\nskip = true\nterraform {\n  source = \"../module\"\n}\n"
	result, err := terragrunt.Import(unpack(t, files), &terragrunt.Options{Getenv: noEnv})
	if err != nil || len(result.LeftOut) != 31 {
		t.Fatal(err, result.LeftOut)
	}
	want := []string{`the whole unit: its source … is remote: copy it with -fetch=.modules (30 times):
      u00/terragrunt.hcl:2: "git::https://example.com/0.git"
      u01/terragrunt.hcl:2: "git::https://example.com/1.git"
      u02/terragrunt.hcl:2: "git::https://example.com/2.git"
      and 27 more`, "v/terragrunt.hcl:1: the argument skip: select root modules with -only, -skip and -tag"}
	if !slices.Equal(result.Summary, want) {
		t.Errorf("got\n%s", strings.Join(result.Summary, "\n"))
	}
}

// TestGeneratedOutputs checks generated files with outputs of other units: variables have them.
func TestGeneratedOutputs(t *testing.T) {
	for title, c := range map[string]struct{ generate, want, variables, left string }{
		"a block": {"generate \"p\" {\n  path = \"p.tf\"\n  if_exists = \"overwrite\"\n  contents = <<EOF\nlocals {\n  ids = \"${dependency.o.outputs.ids[0]}\"\n  dir = \"${basename(get_terragrunt_dir())}\"\n}\nEOF\n}\n",
			"locals {\n  ids = \"${var.ids}\"\n  dir = \"u\"\n}\n\nvariable \"ids\" {\n  type = any\n}\n", `ids = root["other"].ids[0]`, ""},
		"an argument": {"generate = {\n  p = {\n    path = \"p.tf\"\n    if_exists = \"overwrite\"\n    contents = \"locals {\\n  n = ${length(dependency.o.outputs.ids)}\\n}\"\n  }\n}\n",
			"locals {\n  n = var.ids\n}\n\nvariable \"ids\" {\n  type = any\n}\n", `ids = length(root["other"].ids)`, ""},
		"a name that is taken": {"generate \"p\" {\n  path = \"p.tf\"\n  contents = \"locals {\\n  n = \\\"${dependency.o.outputs.a}\\\"\\n}\"\n}\n",
			"locals {\n  n = \"${var.generated_a}\"\n}\n\nvariable \"generated_a\" {\n  type = any\n}\n", `generated_a = root["other"].a`, ""},
		"a setting of the backend": {"generate \"p\" {\n  path = \"p.tf\"\n  contents = \"terraform {\\n  backend \\\"local\\\" {\\n    path = \\\"${dependency.o.outputs.a}\\\"\\n  }\\n}\"\n}\n",
			"", "", "it has outputs of other units where no variable can be"},
		"values of variables": {"generate \"p\" {\n  path = \"p.auto.tfvars\"\n  contents = \"a = \\\"${dependency.o.outputs.a}\\\"\"\n}\n",
			"", "", "it has outputs of other units where no variable can be"},
		"no such output": {"generate \"p\" {\n  path = \"p.tf\"\n  contents = \"# ${dependency.o.outputs.b}\"\n}\n",
			"", "", "The module other has no output \"b\""},
		"no such dependency": {"generate \"p\" {\n  path = \"p.tf\"\n  contents = \"locals {\\n  n = \\\"${dependency.n.outputs.b}\\\"\\n}\"\n}\n",
			"", "", "Only outputs of units that are imported"},
	} {
		t.Run(title, func(t *testing.T) {
			dir := unpack(t, module+other+"output \"a\" {\n  value = 1\n}\n-- u/terragrunt.hcl --\nterraform {\n  source = \"../module\"\n}\n"+
				"dependency \"o\" {\n  config_path = \"../other\"\n}\n"+c.generate)
			result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv, Generate: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range result.Files {
				got += string(f.Data)
			}
			left := strings.Join(result.LeftOut, "\n")
			if got != c.want || !strings.Contains(string(result.Text), c.variables) {
				t.Errorf("got\n%s\nand\n%s", got, result.Text)
			}
			if (left == "") != (c.left == "") || !strings.Contains(left, c.left) {
				t.Errorf("left out: %s", left)
			}
		})
	}
}

// TestGenerate checks the files that are generated for two units that share a module.
func TestGenerate(t *testing.T) {
	const name = "\nvariable \"name\" {\n  type = string\n}\n"
	for title, c := range map[string]struct{ contents, want, left string }{
		"equal":     {`"a = 1"`, "a = 1\n", ""},
		"in quotes": {`"locals {\n  a = \"x-${local.name}\"\n}"`, "locals {\n  a = \"x-${var.name}\"\n}\n" + name, ""},
		"a number and a text": {`"locals {\n  a = ${local.size}\n  b = \"${local.name}\"\n  c = \"${local.name}\"\n}"`,
			"locals {\n  a = var.size\n  b = \"${var.name}\"\n  c = \"${var.name}\"\n}\n\nvariable \"size\" {\n  type = number\n}\n" + name, ""},
		"the module has the variable": {`"locals {\n  x = \"${local.a}\"\n}"`,
			"locals {\n  x = \"${var.generated_a}\"\n}\n\nvariable \"generated_a\" {\n  type = string\n}\n", ""},
		"a comment":             {`"# ${local.name}"`, "", "it differs between units"},
		"in a terraform block":  {`"terraform {\n  required_version = \"${local.name}\"\n}"`, "", "it differs between units"},
		"part of a name":        {`"locals {\n  a_${local.name} = 1\n}"`, "", "it differs between units"},
		"a function of the two": {`upper(local.name)`, "", "it differs between units"},
		"a label":               {`"resource \"terraform_data\" \"${local.name}\" {}"`, "", "it differs between units"},
		"a name in a reference": {`"locals {\n  a = terraform_data.${local.name}.id\n}"`, "", "it differs between units"},
		"a key without quotes":  {`"locals {\n  a = { ${local.name} = 1 }\n}"`, "", "it differs between units"},
		"a default":             {`"variable \"v\" {\n  default = \"${local.name}\"\n}"`, "", "it differs between units"},
		"an alias":              {`"provider \"aws\" {\n  alias = \"${local.name}\"\n}"`, "", "it differs between units"},
		"an ignored attribute": {`"resource \"a\" \"b\" {\n  lifecycle {\n    ignore_changes = [\"${local.name}\"]\n  }\n}"`,
			"resource \"a\" \"b\" {\n  lifecycle {\n    ignore_changes = [\"${var.name}\"]\n  }\n}\n" + name, ""},
		"not constant": {`run_cmd("x")`, "", "not constant"},
	} {
		t.Run(title, func(t *testing.T) {
			dir := unpack(t, module+`
-- root.hcl --
locals {
  name = basename(get_terragrunt_dir())
  size = length(local.name)
  a    = local.name
}
generate "x" {
  path      = "x.tf"
  if_exists = "overwrite"
  contents  = `+c.contents+`
}
-- u/terragrunt.hcl --
include "root" {
  path = "../root.hcl"
}
terraform {
  source = "../module"
}
-- vv/terragrunt.hcl --
include "root" {
  path = "../root.hcl"
}
terraform {
  source = "../module"
}
`)
			result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv, Generate: true})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range result.Files {
				got += string(f.Data)
			}
			left := strings.Join(result.LeftOut, "\n")
			if got != c.want || (left == "") != (c.left == "") || !strings.Contains(left, c.left) {
				t.Errorf("got\n%s\nand %s", got, left)
			}
		})
	}
}

// TestUnwritten checks that variables of generated files are only set if the files are written or
// already exist. Both files use the variable that the first one declares.
func TestUnwritten(t *testing.T) {
	const generate = `
generate "a" {
  path     = "a.tf"
  contents = "locals {\n  x = \"${basename(get_terragrunt_dir())}\"\n}"
}
generate "b" {
  path     = "b.tf"
  contents = "locals {\n  y = \"${basename(get_terragrunt_dir())}\"\n}"
}
terraform {
  source = "../module"
}
`
	dir := unpack(t, module+"-- u/terragrunt.hcl --"+generate+"-- v/terragrunt.hcl --"+generate)
	for _, c := range []struct{ generate, set bool }{{false, false}, {true, true}, {false, true}} {
		result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv, Generate: c.generate})
		if err != nil {
			t.Fatal(err)
		}
		if set := strings.Contains(string(result.Text), `generated = "u"`); set != c.set {
			t.Errorf("generate %v: got\n%s", c.generate, result.Text)
		}
		for _, f := range result.Files {
			if c.generate {
				err = errors.Join(err, os.WriteFile(f.Path, f.Data, 0o600))
			}
		}
		if err != nil || c.generate && len(result.Files) != 2 {
			t.Fatal(err, result.Files)
		}
	}
	// The user has changed a.tf, which declares the variable: b.tf must not need it.
	err := os.WriteFile(filepath.Join(dir, "module/a.tf"), []byte("locals {}\n"), 0o600)
	if err := errors.Join(err, os.Remove(filepath.Join(dir, "module/b.tf"))); err != nil {
		t.Fatal(err)
	}
	result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv, Generate: true})
	if err != nil || len(result.Files) != 1 || !strings.Contains(string(result.Files[0].Data), `variable "generated"`) {
		t.Error(err, result.Files)
	}
}

// TestInputsOfOutputs checks inputs whose names are those of another unit's outputs.
func TestInputsOfOutputs(t *testing.T) {
	for inputs, c := range map[string]struct{ want, left string }{
		`dependency.o.outputs`:                                   {"a = root[\"other\"][\"a\"]", "no variable: ids"},
		`merge({ a = 2 }, dependency.o.outputs)`:                 {"root[\"other\"])[\"a\"]", "no variable: ids"},
		`false ? {} : dependency.o.outputs`:                      {"a = (false ? {} : root[\"other\"])[\"a\"]", "no variable: ids"},
		`{ for k, v in dependency.o.outputs : k => v if false }`: {"", ""},
		`{ for k in ["a"] : k => dependency.o.outputs.a }`:       {"for name, value in merge({ for k in [\"a\"]", ""},
		`{ for k in dependency.o.outputs.ids : k => 1 }`:         {"", "The names depend on the values of outputs of other units"},
	} {
		t.Run(inputs, func(t *testing.T) {
			dir := unpack(t, module+other+"output \"a\" {\n  value = 1\n}\n-- u/terragrunt.hcl --\nterraform {\n  source = \"../module\"\n}\n"+
				"dependency \"o\" {\n  config_path = \"../other\"\n}\ninputs = "+inputs+"\n")
			result, err := terragrunt.Import(dir, &terragrunt.Options{Getenv: noEnv})
			if err != nil {
				t.Fatal(err)
			}
			text := string(result.Text)
			if !strings.Contains(text, c.want) || strings.Contains(text, "variables") != (c.want != "") {
				t.Errorf("got\n%s", text)
			}
			left := strings.Join(result.LeftOut, "\n")
			if (left == "") != (c.left == "") || !strings.Contains(left, c.left) {
				t.Errorf("left out: %s", left)
			}
		})
	}
}
