package configs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// load loads an archive that must be free of errors.
func load(t testing.TB, text string, opts *LoadOptions) *Config {
	t.Helper()
	cfg, diags := loadArchive(txtar.Parse([]byte(text)), opts)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return cfg
}

const providersText = `
-- main.tf --
terraform {
  required_providers {
    cloud = {
      source  = "acme/cloud"
      version = ">= 1.0"
    }
  }
}
provider "cloud" {}
provider "cloud" {
  alias = "west"
}
provider "cloud" {
  alias    = "by_zone"
  for_each = { a = 1, b = 2 }
}
module "plain" {
  source = "./net"
}
module "west" {
  source    = "./net"
  providers = { net = cloud.west }
}
module "zones" {
  source   = "./net"
  for_each = toset(["a", "b"])
  providers = {
    net = cloud.by_zone[each.key]
  }
}
resource "cloud_server" "west" {
  provider = cloud.west
}
resource "cloud_server" "zone" {
  provider = cloud.by_zone["a"]
}
resource "cloud_server" "nowhere" {
  provider = cloud.nowhere
}
resource "terraform_data" "built_in" {}
resource "other_thing" "implied" {}
-- net/main.tf --
terraform {
  required_providers {
    net = {
      source  = "acme/cloud"
      version = "< 2.0"
    }
  }
}
resource "cloud_net" "it" {
  provider = net
}
module "sub" {
  source = "./sub"
}
module "own" {
  source = "../own"
}
-- net/sub/main.tf --
terraform {
  required_providers {
    cloud = { source = "acme/cloud" }
  }
}
resource "cloud_net" "it" {}
-- own/main.tf --
terraform {
  required_providers {
    cloud = { source = "acme/cloud" }
  }
}
provider "cloud" {
  region = "own"
}
resource "cloud_net" "it" {}
`

// Which configuration serves which resource, with the key and where it is evaluated.
var providersWant = map[string]string{
	"cloud_server.west":       `provider["registry.opentofu.org/acme/cloud"].west`,
	"cloud_server.zone":       `provider["registry.opentofu.org/acme/cloud"].by_zone key in ""`,
	"cloud_server.nowhere":    "none",
	"terraform_data.built_in": `provider["terraform.io/builtin/terraform"]`,
	"other_thing.implied":     `provider["registry.opentofu.org/hashicorp/other"]`,
	"plain.cloud_net.it":      `provider["registry.opentofu.org/acme/cloud"]`,
	"west.cloud_net.it":       `provider["registry.opentofu.org/acme/cloud"].west`,
	"zones.cloud_net.it":      `provider["registry.opentofu.org/acme/cloud"].by_zone key of call zones in ""`,
	"plain.sub.cloud_net.it":  `provider["registry.opentofu.org/acme/cloud"]`,
	"west.sub.cloud_net.it":   `provider["registry.opentofu.org/acme/cloud"].west`,
	"zones.sub.cloud_net.it":  `provider["registry.opentofu.org/acme/cloud"].by_zone key of call zones in ""`,
	"plain.own.cloud_net.it":  `module.plain.module.own.provider["registry.opentofu.org/acme/cloud"]`,
	"west.own.cloud_net.it":   `module.west.module.own.provider["registry.opentofu.org/acme/cloud"]`,
}

func TestProviders(t *testing.T) {
	// A module with its own configuration can't be called for each zone, which the errors test shows.
	text := strings.Replace(providersText, `source   = "./net"`, `source   = "./each"`, 1) + `
-- each/main.tf --
terraform {
  required_providers {
    net = {
      source  = "acme/cloud"
      version = "< 2.0"
    }
  }
}
resource "cloud_net" "it" {
  provider = net
}
module "sub" {
  source = "../net/sub"
}
`
	root := load(t, text, nil)
	got := map[string]string{}
	for cfg := range root.AllModules() {
		for addr, r := range cfg.Module.Resources {
			use, ok := cfg.ProviderOf(r)
			s := "none"
			if ok {
				s = use.Config.String()
			}
			if use.KeyCall != nil {
				s += " key of call " + use.KeyCall.Name + fmt.Sprintf(" in %q", use.KeyModule.Path)
			} else if use.Key != nil {
				s += fmt.Sprintf(" key in %q", use.KeyModule.Path)
			}
			got[string(cfg.Path.Child(addr.String()))] = s
		}
	}
	if diff := cmp.Diff(providersWant, got); diff != "" {
		t.Error(diff)
	}

	instances := root.ProviderInstances[addrs.LocalProviderConfig{LocalName: "cloud", Alias: "by_zone"}]
	if len(instances) != 2 || !instances[addrs.StringKey("b")].RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("instances: %#v", instances)
	}
	var types []string
	for _, p := range root.ProviderTypes() {
		types = append(types, p.ForDisplay())
	}
	if diff := cmp.Diff([]string{"acme/cloud", "hashicorp/other", "terraform.io/builtin/terraform"}, types); diff != "" {
		t.Error(diff)
	}
	constraints := map[string]bool{}
	for _, req := range root.ProviderRequirements()[addrs.Provider{Host: addrs.DefaultHost, Namespace: "acme", Type: "cloud"}] {
		constraints[fmt.Sprintf("%s %d", req.Module, len(req.Constraints))] = true
	}
	for _, want := range []string{" 1", "module.plain 1", "module.plain.module.sub 0", "module.plain.module.own 0", "module.west 1"} {
		if !constraints[want] {
			t.Errorf("no requirement of %q in %v", want, slices.Sorted(maps.Keys(constraints)))
		}
	}
}

const overrideText = `
-- main.tf --
variable "a" {
  type        = string
  default     = "1"
  description = "main"
}
locals {
  x = "main"
}
output "o" {
  value       = "main"
  description = "main"
}
resource "cloud_server" "s" {
  size = 1
  name = "main"
  disk {
    size = 1
  }
  dynamic "tag" {
    for_each = [1]
    content {}
  }
  provisioner "local-exec" {
    command = "main"
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [size]
  }
}
module "m" {
  source = "./m"
  a      = "main"
  b      = "main"
}
provider "cloud" {
  region = "main"
  zone   = "main"
}
-- m/main.tf --
variable "a" {}
variable "b" {}
variable "c" {}
-- a_override.tf --
variable "a" {
  type = number
}
locals {
  x = "over"
}
output "o" {
  value = "over"
}
resource "cloud_server" "s" {
  size = 2
  disk {
    size = 2
  }
  tag {}
  provisioner "remote-exec" {}
  lifecycle {
    ignore_changes = all
  }
}
-- override.tf --
module "m" {
  b = "over"
  c = "over"
}
provider "cloud" {
  zone = "over"
}
`

func TestOverride(t *testing.T) {
	m := load(t, overrideText, nil).Module
	if v := m.Variables["a"]; !v.Default.Value.RawEquals(cty.NumberIntVal(1)) || v.Description != "main" {
		t.Errorf("variable: %#v", v.Default)
	}
	for name, expr := range map[string]hcl.Expression{"local": m.Locals["x"].Expr, "output": m.Outputs["o"].Expr} {
		if v, _ := expr.Value(nil); v.AsString() != "over" {
			t.Errorf("%s: %#v", name, v)
		}
	}
	r := m.Resources[addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "s"}]
	if !r.CreateBeforeDestroy || !r.IgnoreAll || len(r.Provisioners) != 1 || r.Provisioners[0].Type != "remote-exec" {
		t.Errorf("resource: %+v", r)
	}
	content, diags := r.Config.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "size", Required: true}, {Name: "name", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "disk"}, {Type: "tag"}, {Type: "dynamic", LabelNames: []string{"type"}}},
	})
	if diags.HasErrors() || len(content.Blocks) != 2 || content.Blocks[0].DefRange.Filename != "a_override.tf" {
		t.Errorf("resource body: %v %v", content.Blocks, diags)
	}
	if size, _ := content.Attributes["size"].Expr.Value(nil); !size.RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("size: %#v", size)
	}
	attrs, _ := m.Providers[addrs.LocalProviderConfig{LocalName: "cloud"}].Config.JustAttributes()
	if attrs["region"] == nil || attrs["zone"].Range.Filename != "override.tf" {
		t.Errorf("provider: %v", attrs)
	}
}

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
		t.Fatalf("below: %+v", below)
	}
	attrs, _ := root.Module.Backend.Config.JustAttributes()
	v, diags := root.StaticEval(attrs["path"].Expr, cty.String, "backend.local")
	if diags.HasErrors() || v.AsString() != "./m/./w" {
		t.Errorf("backend path: %#v %v", v, diags.Err())
	}
}

func TestAsk(t *testing.T) {
	asked := 0
	load(t, staticText, &LoadOptions{Ask: func(v *Variable) (Given, error) {
		asked++
		return Given{Text: "m", From: "you"}, nil
	}})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestSnapshot(t *testing.T) {
	vars := map[string]Given{"where": {Val: cty.StringVal("m")}}
	first := load(t, staticText, &LoadOptions{Variables: vars}).Snapshot()
	again, diags := LoadSnapshot(first, &LoadOptions{Variables: vars})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if diff := cmp.Diff(first, again.Snapshot()); diff != "" {
		t.Error(diff)
	}
	if len(first.Modules) != 3 || len(first.Files) != 3 {
		t.Errorf("%d modules, %d files", len(first.Modules), len(first.Files))
	}
	if _, diags = LoadSnapshot(first, &LoadOptions{Variables: map[string]Given{"where": {Text: "elsewhere"}}}); !diags.HasErrors() {
		t.Error("another source is found in the snapshot")
	}
}

// The same file must not be decoded again for each call, and modules that call themselves must come to an end.
func TestSharing(t *testing.T) {
	root := load(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./m\"\n}\nmodule \"b\" {\n  source = \"./m/../m\"\n}\n-- m/main.tf --\n", nil)
	if root.Children["a"].Module != root.Children["b"].Module {
		t.Error("two calls, two modules")
	}
	_, diags := loadArchive(txtar.Parse([]byte("-- main.tf --\nmodule \"a\" {\n  source = \"./\"\n}\n")), nil)
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("got %v", err)
	}
}

// Symbols that use others several times must not multiply the diagnostics of the last one.
func TestStaticErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- main.tf --\nlocals {\n  a0 = nope.x\n  b0 = nope.x\n")
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "  a%d = [local.a%d, local.b%d]\n  b%d = [local.a%d, local.b%d]\n", i, i-1, i-1, i, i-1, i-1)
	}
	b.WriteString("}\nmodule \"m\" {\n  source = local.a40\n}\n")
	_, diags := loadArchive(txtar.Parse([]byte(b.String())), nil)
	if len(diags) < 2 || len(diags) > 5000 {
		t.Errorf("%d diagnostics", len(diags))
	}
}

func TestDeepNesting(t *testing.T) {
	const n = 12_000
	for name, text := range map[string]string{
		"brackets":     "locals {\n  x = " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n}\n",
		"minus":        "locals {\n  x = " + strings.Repeat("-", n) + "1\n}\n",
		"plus":         "locals {\n  x = 1" + strings.Repeat(" + 1", n) + "\n}\n",
		"conditionals": "locals {\n  x = " + strings.Repeat("true ? 1 : ", n) + "1\n}\n",
		"templates":    "locals {\n  x = " + strings.Repeat(`"${`, n) + "1" + strings.Repeat(`}"`, n) + "\n}\n",
		"blocks":       strings.Repeat("a {\n", n) + strings.Repeat("}\n", n),
	} {
		t.Run(name, func(t *testing.T) { deep(t, "main.tf", text) })
	}
	t.Run("json", func(t *testing.T) {
		deep(t, "main.tf.json", `{"locals": {"x": `+strings.Repeat("[", n)+strings.Repeat("]", n)+"}}")
	})
}

func deep(t *testing.T, name, text string) {
	_, diags := loadArchive(&txtar.Archive{Files: []txtar.File{{Name: name, Data: []byte(text)}}}, nil)
	want := []string{"error: Configuration nested too deeply"}
	var got []string
	for _, d := range diags {
		got = append(got, d.Severity.String()+": "+d.Summary)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A long file that is not deep is none.
func TestWideIsNotDeep(t *testing.T) {
	var b strings.Builder
	b.WriteString("-- main.tf --\nlocals {\n  x = {\n")
	for i := range 3_000 {
		fmt.Fprintf(&b, "    k%d : -1 + (2 * 3) > 0 ? \"${1 + 1}\" : \"b\"\n", i)
	}
	b.WriteString("  }\n}\n")
	load(t, b.String(), nil)
}

// FuzzLoad makes sure that no source crashes the loader and that every error has a severity and a summary. The four texts are a native
// file, an override file, a JSON file and the file of a called module.
func FuzzLoad(f *testing.F) {
	names := []string{"main.tf", "override.tf", "more.tf.json", "m/main.tf"}
	for _, text := range []string{providersText, overrideText, staticText} {
		var seed [4]string
		for _, file := range txtar.Parse([]byte(text)).Files {
			i := max(slices.Index(names, file.Name), 0)
			seed[i] += string(file.Data)
		}
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Add("import {\n  to = a.b[each.key]\n  id = \"\"\n}\nmoved {\n  from = a.b\n  to = module.x\n}\n", "",
		`{"resource": {"a": {"b": {"count": "${x}", "provider": "a.b[each.key]"}}}}`, "variable \"x\" {\n  const = true\n}\n")
	f.Fuzz(func(t *testing.T, native, override, json, module string) {
		archive := &txtar.Archive{}
		for i, text := range []string{native, override, json, module} {
			if len(text) > 1<<14 {
				return
			}
			archive.Files = append(archive.Files, txtar.File{Name: names[i], Data: []byte(text)})
		}
		_, diags := loadArchive(archive, nil)
		for _, d := range diags {
			if d.Summary == "" || d.Severity != tfdiags.Error && d.Severity != tfdiags.Warning {
				t.Errorf("empty diagnostic: %+v", d)
			}
		}
	})
}

// BenchmarkLoad loads n resources in one file, and n/20 calls of one module with 20 resources each.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("wide/%d", n), func(b *testing.B) { benchmarkLoad(b, wideText(n)) })
		b.Run(fmt.Sprintf("modules/%d", n), func(b *testing.B) { benchmarkLoad(b, modulesText(n)) })
	}
}

func benchmarkLoad(b *testing.B, text string) {
	archive := txtar.Parse([]byte(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := loadArchive(archive, nil); diags.HasErrors() {
			b.Fatal(diags.Err())
		}
	}
}

func wideText(n int) string {
	var b strings.Builder
	b.WriteString("-- main.tf --\n")
	for i := range n {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = \"value-%d\"\n}\n", i, i)
	}
	return b.String()
}

func modulesText(n int) string {
	var b strings.Builder
	b.WriteString("-- main.tf --\n")
	for i := range n / 20 {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"./mod\"\n  name   = \"m%d\"\n}\n", i, i)
	}
	b.WriteString("-- mod/main.tf --\nvariable \"name\" {\n  type = string\n}\n")
	for i := range 20 {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = var.name\n}\n", i)
	}
	return b.String()
}
