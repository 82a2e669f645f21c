package warm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tofu/internal/plans"
)

// chain returns n root modules, each of which reads an output of the one before it.
func chain(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		text := "resource \"terraform_data\" \"r\" {\n  count = 10\n  input = count.index\n}\noutput \"v\" { value = \"v\" }\n"
		if i > 0 {
			text += fmt.Sprintf("data \"terraform_remote_state\" \"before\" {\n  backend  = \"local\"\n  config   = { path = "+
				"\"../r%02d/terraform.tfstate\" }\n}\noutput \"before\" { value = data.terraform_remote_state.before.outputs.v }\n", i-1)
		}
		files[fmt.Sprintf("r%02d/main.tf", i)] = text
	}
	return files
}

// TestEstate checks that only root modules that have changed are read and planned again, and that new ones are
// there at once.
func TestEstate(t *testing.T) {
	c, _ := open(t, chain(4))
	age(t, ".")
	e, err := c.OpenEstate(t.Context(), ".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan := func() []*plans.Plan {
		t.Helper()
		var out []*plans.Plan
		for _, m := range e.Modules() {
			p, err := m.Plan(t.Context(), PlanOptions{})
			if err != nil || p.Diagnostics.HasErrors() {
				t.Fatal(err, p.Diagnostics)
			}
			out = append(out, p.View.Plan)
		}
		return out
	}
	changed := func(before, after []*plans.Plan) (out string) {
		for i := range after {
			if i >= len(before) || before[i] != after[i] {
				out += e.Modules()[i].Name() + " "
			}
		}
		return strings.TrimSpace(out)
	}
	first := plan()
	second := plan()
	if got := changed(first, second); got != "" {
		t.Errorf("planned again without a reason: %s", got)
	}
	if n := e.read.cache.Taken(); n != 4 {
		t.Errorf("%d root modules were not read again", n)
	}
	text := chain(4)["r01/main.tf"]
	c.SetText("r01/main.tf", []byte("# other\n"+text))
	if _, err := c.Module("r00").Plan(t.Context(), PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := e.read.cache.Taken(); n != 3 {
		t.Errorf("%d root modules were not read again", n)
	}
	third := plan()
	if got := changed(second, third); got != "r01" {
		t.Errorf("planned again after a comment: %q", got)
	}
	c.SetText("r01/main.tf", []byte(strings.Replace(text, "\"v\" }", "\"w\" }", 1)))
	fourth := plan()
	if got := changed(third, fourth); got != "r01 r02 r03" {
		t.Errorf("planned again after a change of an output: %q", got)
	}

	revision := c.Revision()
	write(t, "r09/main.tf", "output \"v\" { value = 1 }\n")
	if c.Revision() == revision {
		t.Error("a new directory is not noticed")
	}
	if m := c.Find(t.Context(), "r09"); m == nil {
		t.Error("a new root module is not found")
	}
	if c.Find(t.Context(), "r10") != nil {
		t.Error("a root module that doesn't exist is found")
	}
}

// TestLayout checks which root modules use which directories, also if they have errors.
func TestLayout(t *testing.T) {
	c, dir := open(t, map[string]string{
		"app/main.tf":    "module \"m\" { source = \"../m\" }\n",
		"broken/main.tf": "module \"m\" { source = \"../m\" }\nvariable {}\n",
		"m/main.tf":      "module \"deep\" { source = \"../deep\" }\n",
		"deep/main.tf":   "locals { a = 1 }\n",
	})
	users := func() string {
		var out []string
		for used, list := range c.Layout(t.Context(), []string{dir}, Options{}).Users {
			of, _ := filepath.Rel(dir, used)
			for _, user := range list {
				name, _ := filepath.Rel(dir, user)
				out = append(out, of+":"+name)
			}
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	const want = "app:app broken:broken deep:app deep:broken m:app m:broken"
	if got := users(); got != want {
		t.Error(got)
	}
	c.SetText("deep/main.tf", []byte("locals {"))
	if got := users(); got != want {
		t.Errorf("with an error in a module: %s", got)
	}
	c.SetText("app/main.tf", []byte("locals {}\n"))
	if got := users(); got != strings.ReplaceAll(strings.ReplaceAll(want, " deep:app", ""), " m:app", "") {
		t.Errorf("without a call: %s", got)
	}
}
