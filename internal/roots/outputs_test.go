package roots_test

import (
	"strings"
	"testing"

	"tofu/internal/roots"
)

// TestUsedOutputs checks that the used outputs of a data source are found in expressions. The data
// source "one" has one instance, "each" has several.
func TestUsedOutputs(t *testing.T) {
	const sources = `
data "terraform_remote_state" "one" {
  backend = "local"
  config  = { path = "one.tfstate" }
}
data "terraform_remote_state" "each" {
  for_each = toset(["a", "b"])
  backend  = "local"
  config   = { path = "${each.key}.tfstate" }
}
`
	const one, each = "data.terraform_remote_state.one", "data.terraform_remote_state.each"
	for name, c := range map[string]struct{ config, one, each string }{
		"nothing":        {`output "o" { value = 1 }`, "", ""},
		"attribute":      {`output "o" { value = ` + one + `.outputs.x.y }`, "x", ""},
		"index":          {`output "o" { value = ` + one + `.outputs["x"] }`, "x", ""},
		"computed index": {`output "o" { value = ` + one + `.outputs[var.x] }`, "all", ""},
		"several":        {`output "o" { value = "${` + one + `.outputs.y}-${` + one + `.outputs.x}" }`, "x y", ""},
		"whole outputs":  {`output "o" { value = ` + one + `.outputs }`, "all", ""},
		"whole":          {`output "o" { value = ` + one + ` }`, "all", ""},
		"both":           {`output "o" { value = [` + one + `.outputs.x, ` + one + `.outputs] }`, "all", ""},
		"settings":       {`output "o" { value = ` + one + `.config.path }`, "", ""},
		"function":       {`output "o" { value = try(` + one + `.outputs.x, keys(` + each + `["a"].outputs.y)) }`, "x", "y"},
		"splat":          {`output "o" { value = ` + each + `[*].outputs.x }`, "", "x"},
		"list element":   {`output "o" { value = ` + one + `.outputs.x[*].id }`, "x", ""},
		"instance":       {`output "o" { value = ` + each + `["a"].outputs.x }`, "", "x"},
		"computed":       {`output "o" { value = ` + each + `[` + one + `.outputs.x].outputs.y }`, "x", "y"},
		"values":         {`output "o" { value = values(` + each + `)[*].outputs.x }`, "", "all"},
		"loop":           {`output "o" { value = { for k, v in ` + each + ` : k => v.outputs.x if v.outputs.y } }`, "", "x y"},
		"whole element":  {`output "o" { value = [for v in ` + each + ` : v] }`, "", "all"},
		"loop of one":    {`output "o" { value = [for v in ` + one + `.outputs : v] }`, "all", ""},
		"inner loop": {
			`output "o" { value = [for v in ` + each + ` : [for w in v.outputs.x : [for v in w : v.outputs.z]]] }`, "", "x"},
		"shadowed":   {`output "o" { value = [for v in ` + each + ` : [for v in v.outputs : v]] }`, "", "all"},
		"local":      {"locals {\n  o = " + one + ".outputs\n}\n" + `output "o" { value = local.o.x }`, "x", ""},
		"unused":     {"locals {\n  o = " + one + ".outputs\n}", "", ""},
		"two locals": {"locals {\n  a = " + one + "\n  b = local.a.outputs\n}\n" + `output "o" { value = local.b.x }`, "x", ""},
		"local loop": {
			"locals {\n  a = " + each + "\n}\n" + `output "o" { value = [for s in local.a : s.outputs.x] }`, "", "x"},
		"cycle":      {"locals {\n  a = local.b\n  b = local.a\n}\n" + `output "o" { value = local.a.x }`, "", ""},
		"depends_on": {`resource "terraform_data" "d" { depends_on = [` + one + `] }`, "", ""},
		"block": {"resource \"terraform_data\" \"d\" {\n  lifecycle {\n    precondition {\n      condition = " + one +
			".outputs.x == 1\n      error_message = \"no\"\n    }\n  }\n}", "x", ""},
		"self": {"data \"terraform_remote_state\" \"three\" {\n  backend = \"local\"\n}\n" +
			"resource \"terraform_data\" \"d\" {\n  lifecycle {\n    postcondition {\n      condition = self.outputs.x\n" +
			"      error_message = \"no\"\n    }\n  }\n}", "", ""},
		"JSON": {"\n-- b.tf.json --\n" + `{"output": {"o": {"value": "${` + one + `.outputs.x}"}}}`, "all", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := load(t, "-- main.tf --"+sources+c.config+"\n")
			if err != nil {
				t.Fatal(err)
			}
			found := make(map[string]string)
			for _, read := range e.Roots[0].Reads {
				text := strings.Join(read.Outputs.Names, " ")
				if read.Outputs.All {
					text = "all"
				}
				found[read.User] = text
			}
			if found[one] != c.one || found[each] != c.each {
				t.Errorf("found %q of one and %q of each, and not %q and %q", found[one], found[each], c.one, c.each)
			}
		})
	}
}

// TestSelfOutputs checks that outputs used in conditions within the data source's block are found
// too.
func TestSelfOutputs(t *testing.T) {
	e, err := load(t, `
-- main.tf --
data "terraform_remote_state" "one" {
  backend = "local"
  config  = { path = "one.tfstate" }
  lifecycle {
    postcondition {
      condition     = self.outputs.x == 1
      error_message = "no"
    }
  }
}
`)
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Roots[0].Reads[0].Outputs; got.All || len(got.Names) != 1 || !got.Has("x") {
		t.Errorf("found %v", got)
	}
	var none roots.Outputs
	if none.Has("x") || len(none.Select(nil)) > 0 {
		t.Error("the zero value is not empty")
	}
}
