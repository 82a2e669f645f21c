package warm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
	"tofu/internal/configs/inputs"
	"tofu/internal/plans"
	"tofu/internal/session"
)

// open returns a core in a new directory with the given files.
func open(t testing.TB, files map[string]string) (*Core, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	t.Chdir(dir)
	return newCore(t, &cliconfig.Config{}), dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestQuestions(t *testing.T) {
	c, dir := open(t, map[string]string{
		"app/main.tf": `
variable "n" { default = 2 }
resource "terraform_data" "a" {
  count = var.n
  input = "x${count.index}"
}
module "m" {
  source = "../m"
  value  = terraform_data.a[0].input
}
output "o" { value = module.m.out }
`,
		"m/main.tf": `
variable "value" {}
locals { twice = "${var.value}${var.value}" }
output "out" { value = local.twice }
`,
		"app/.terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"../m","Dir":"../m"}]}`,
	})
	m, err := c.Open("app", Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.Diagnose(t.Context())
	if err != nil || len(answer.Diagnostics) > 0 {
		t.Fatal(err, answer.Diagnostics)
	}
	plan, err := m.Plan(t.Context(), PlanOptions{})
	if err != nil || len(plan.Diagnostics) > 0 {
		t.Fatal(err, plan.Diagnostics)
	}
	if n := len(plan.View.Plan.Changes.Instances); n != 2 {
		t.Errorf("%d changes", n)
	}
	v, err := plan.Evaluate(t.Context(), "", "terraform_data.a[1].input")
	if err != nil || v.AsString() != "x1" {
		t.Error(v, err)
	}
	v, err = plan.Evaluate(t.Context(), "module.m", "upper(local.twice)")
	if err != nil || v.AsString() != "X0X0" {
		t.Error(v, err)
	}
	why, err := plan.Explain(t.Context(), "terraform_data.a[1]")
	if err != nil || !why.InPlan {
		t.Error(why, err)
	}
	if _, err := plan.Graph(t.Context()); err != nil {
		t.Error(err)
	}
	var doc bytes.Buffer
	if err := plan.WriteJSON(&doc); err != nil || !strings.Contains(doc.String(), `"terraform_data.a[1]"`) {
		t.Error(doc.String(), err)
	}

	c.SetText("m/main.tf", []byte("variable \"value\" {}\noutput \"out\" { value = nothing.at }\n"))
	answer, _ = m.Diagnose(t.Context())
	if len(answer.Diagnostics) != 1 || !strings.Contains(answer.Diagnostics[0].Subject.Filename, "m/main.tf") {
		t.Error(answer.Diagnostics)
	}
	c.DropText(filepath.Join(dir, "m/main.tf"))
	answer, _ = m.Diagnose(t.Context())
	if len(answer.Diagnostics) > 0 {
		t.Error(answer.Diagnostics)
	}
	write(t, "app/more.tf", `output "more" { value = 1 }`)
	plan, _ = m.Plan(t.Context(), PlanOptions{})
	if plan.View == nil || plan.View.Plan.Changes.Output("more") == nil {
		t.Error(plan.Diagnostics)
	}
	state, err := m.State(t.Context())
	if err != nil || state.View == nil || !state.View.State.Empty() {
		t.Error(state.Diagnostics, err)
	}
	drift, err := m.Drift(t.Context(), nil)
	if err != nil || drift.Report == nil {
		t.Error(drift.Diagnostics, err)
	}
}

// TestSamePlan checks that a plan is taken again only as long as nothing that it was made of has changed.
func TestSamePlan(t *testing.T) {
	const remote = `{"version":4,"serial":1,"lineage":"x","outputs":{"v":{"value":"%s","type":"string"}},"resources":[]}`
	c, _ := open(t, map[string]string{
		"main.tf": `
variable "v" { default = "d" }
output "file" { value = file("in.txt") }
output "names" { value = fileset("d", "**") }
output "missing" { value = fileexists("none.txt") }
output "v" { value = var.v }
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "other.tfstate" }
}
output "other" { value = data.terraform_remote_state.other.outputs.v }
`, "in.txt": "1", "d/e/x.txt": "", "other.tfstate": strings.ReplaceAll(remote, "%s", "1")})
	m, err := c.Open(".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan := func() *plans.Plan {
		t.Helper()
		p, err := m.Plan(t.Context(), PlanOptions{})
		if err != nil || p.Diagnostics.HasErrors() {
			t.Fatal(err, p.Diagnostics)
		}
		return p.View.Plan
	}
	before := plan()
	if plan() == before {
		t.Error("a plan is taken again although a file that it reads could change within its time of modification")
	}
	for _, change := range []struct {
		what   string
		change func()
	}{
		{"nothing", func() {}},
		{"a file", func() { write(t, "in.txt", "2") }},
		{"a new file", func() { write(t, "d/e/y.txt", "") }},
		{"a file that appears", func() { write(t, "none.txt", "") }},
		{"another state", func() { write(t, "other.tfstate", strings.ReplaceAll(remote, "%s", "2")) }},
		{"its state", func() { write(t, "terraform.tfstate", strings.ReplaceAll(remote, "%s", "3")) }},
		{"a variable file", func() { write(t, "terraform.tfvars", "v = \"e\"\n") }},
		{"an unsaved text", func() { c.SetText("terraform.tfvars", []byte("v = \"f\"\n")) }},
		{"options", func() { _, _ = c.Open(".", Options{Variables: session.Variables{Vars: []inputs.Flag{{Text: "v=g"}}}}) }},
		{"an apply", c.expire},
		{"its text", func() { c.SetText("more.tf", []byte("output \"more\" { value = plantimestamp() }\n")) }},
	} {
		age(t, ".")
		plan() // it reads what has aged
		before = plan()
		change.change()
		age(t, ".")
		if same := plan() == before; same != (change.what == "nothing") {
			t.Errorf("after a change of %s, the same plan: %t", change.what, same)
		}
	}
	before = plan()
	if plan() == before {
		t.Error("a plan with its own time in it is taken again")
	}
}
