package roots_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// load writes files into a new working directory and loads the estate there.
func load(t testing.TB, archive string) (*roots.Estate, error) {
	t.Helper()
	dir := t.TempDir()
	testenv.Unpack(t, dir, archive)
	t.Chdir(dir)
	return again(t)
}

// again reloads the estate in the working directory.
func again(t testing.TB) (*roots.Estate, error) {
	quiet := func() *terminal.Terminal {
		term := terminal.New(&terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		term.Printer = ui.NewHuman(ui.Options{Out: io.Discard, Err: io.Discard})
		return term
	}
	s := session.New(session.NewProcess(nil, nil, io.Discard), "", quiet())
	return roots.Load(t.Context(), []string{"."}, func(m session.RootModule) *session.Session { return s.At(m, quiet()) })
}

const grid = `
-- roots.tofu.hcl --
locals {
  regions = toset(["eu", "us"])
}
root "network" {
  for_each  = local.regions
  name      = "${each.key}/network"
  path      = "network"
  workspace = each.key
  tags      = [each.key, "network"]
  var_files = ["../vars/${each.key}.tfvars"]
}
root "cluster" {
  for_each  = local.regions
  name      = "${each.key}/cluster"
  path      = "cluster"
  workspace = each.key
  tags      = [each.key, "cluster"]
  variables = { id = root["${each.key}/network"].id }
}
root "audit" {
  after = [root["dns"]]
}
-- network/main.tf --
variable "size" {
  default = 1
}
module "labels" {
  source = "../modules/labels"
}
output "id" {
  value = "n"
}
-- cluster/main.tf --
variable "id" {
}
resource "terraform_data" "a" {
  input = templatefile("${path.module}/../templates/a.tftpl", {})
}
output "endpoint" {
  value = "e"
}
-- dns/main.tf --
data "terraform_remote_state" "cluster" {
  for_each  = toset(["eu", "us"])
  backend   = "local"
  workspace = each.key
  config    = { path = "${path.module}/../cluster/terraform.tfstate", workspace_dir = "../cluster/terraform.tfstate.d" }
}
-- audit/main.tf --
-- audit/policies/a.json --
-- vars/eu.tfvars --
size = 2
-- vars/us.tfvars --
size = 3
-- modules/labels/main.tf --
module "deep" {
  source = "../deep"
}
-- modules/deep/main.tf --
-- templates/a.tftpl --
-- README.md --
`

func names(list []*roots.Root) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}

func TestSelect(t *testing.T) {
	e, err := load(t, grid)
	if err != nil {
		t.Fatal(err)
	}
	only := func(patterns ...string) roots.Selection { return roots.Selection{Only: patterns} }
	with := func(s roots.Selection, change func(*roots.Selection)) roots.Selection {
		change(&s)
		return s
	}
	dependents := func(s *roots.Selection) { s.Dependents = true }
	dependencies := func(s *roots.Selection) { s.Dependencies = true }
	for _, c := range []struct {
		selection roots.Selection
		want      string // names, or a part of the error message
	}{
		{roots.Selection{}, "audit dns eu/cluster eu/network us/cluster us/network"},
		{only("dns"), "dns"},
		{only("*/network"), "eu/network us/network"},
		{only("eu/**", "audit"), "audit eu/cluster eu/network"},
		{only("{eu,us}/cluster"), "eu/cluster us/cluster"},
		{with(only("eu/*"), func(s *roots.Selection) { s.Skip = []string{"*/cluster"} }), "eu/network"},
		{with(only("eu/network"), dependents), "audit dns eu/cluster eu/network"},
		{with(only("dns"), dependencies), "dns eu/cluster eu/network us/cluster us/network"},
		{with(with(only("eu/cluster"), dependencies), dependents), "audit dns eu/cluster eu/network"},
		{with(with(only("dns"), dependencies), func(s *roots.Selection) { s.Skip = []string{"us/*"} }), "dns eu/cluster eu/network"},
		{roots.Selection{Tags: []string{"eu"}}, "eu/cluster eu/network"},
		{roots.Selection{Tags: []string{"eu", "cluster"}}, "eu/cluster"},
		{roots.Selection{Tags: []string{"cluster,network", "us"}}, "us/cluster us/network"},
		{roots.Selection{Changed: func(r *roots.Root) bool { return r.Name == "dns" }}, "dns"},
		{roots.Selection{Changed: func(*roots.Root) bool { return false }}, ""},
		{only("eu/netwrok"), `-only=eu/netwrok matches no root module. Did you mean "eu/network"?`},
		{only("uu/**"), `-only=uu/** matches no root module. Did you mean "eu/**"?`},
		{only("*/netwrok"), `Did you mean "*/network"?`},
		{only("nothing/*"), `-only=nothing/* matches no root module. To list the names`},
		{only("network"), `Did you mean "eu/network"?`},
		{only("[eu"), "The pattern in -only=[eu is not valid"},
		{roots.Selection{Skip: []string{"x"}}, "-skip=x matches no root module"},
		{roots.Selection{Tags: []string{"prod"}}, `No root module has the tag "prod"`},
	} {
		list, err := e.Select(&c.selection)
		switch {
		case err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: %v", c.selection, err)
		case err == nil && names(list) != c.want:
			t.Errorf("%+v selects %s, want %s", c.selection, names(list), c.want)
		}
	}
}

func TestCheckDestroy(t *testing.T) {
	e, err := load(t, grid)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		only []string
		want []string // parts of the error message
	}{
		{[]string{"**"}, nil},
		{[]string{"dns"}, nil}, // audit runs after dns but uses none of its outputs
		{[]string{"eu/network"}, []string{"eu/cluster reads eu/network at roots.tofu.hcl:18"}},
		{[]string{"*/cluster"}, []string{"dns reads eu/cluster at " + filepath.Join("dns", "main.tf") + ":1"}},
		{[]string{"*/cluster", "dns"}, nil},
	} {
		list, err := e.Select(&roots.Selection{Only: c.only})
		if err != nil {
			t.Fatal(err)
		}
		err = e.CheckDestroy(list)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%v: %v", c.only, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%v: %v lacks %s", c.only, err, part)
			}
		}
	}
}

func TestChanged(t *testing.T) {
	e, err := load(t, grid)
	if err != nil {
		t.Fatal(err)
	}
	const all = "audit dns eu/cluster eu/network us/cluster us/network"
	for _, c := range []struct{ file, want string }{
		{"README.md", ""},
		{"audit/main.tf", "audit"},
		{"audit/policies/a.json", "audit"},
		{"dns/new.tf", "audit dns"},
		{"vars/eu.tfvars", "audit dns eu/cluster eu/network"},
		{"modules/labels/main.tf", all},
		{"modules/deep/removed.tf", all},
		{"modules/other/main.tf", ""},
		{"templates/a.tftpl", "audit dns eu/cluster us/cluster"},
		{"templates/b.tftpl", ""},
		{"network/terraform.tfstate", ""},
		{"network/terraform.tfstate.d/eu/terraform.tfstate.backup", ""},
		{"dns/.terraform/providers/x", ""},
		{"roots.tofu.hcl", all},
	} {
		path, err := filepath.Abs(filepath.FromSlash(c.file))
		if err != nil {
			t.Fatal(err)
		}
		list, err := e.Select(&roots.Selection{Changed: e.Changed([]string{path})})
		if err != nil || names(list) != c.want {
			t.Errorf("%s changes %s (%v), want %s", c.file, names(list), err, c.want)
		}
	}
}

func TestChangedFiles(t *testing.T) {
	_, err := exec.LookPath("git")
	if err != nil {
		testenv.Missing(t, "git", "install git")
	}
	_, err = load(t, grid)
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		err := os.WriteFile(name, []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	write(".gitignore", ".terraform\n*.tfstate\n")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	git("checkout", "-q", "-b", "topic")
	write("dns/more.tf", "# committed\n")
	git("add", ".")
	git("commit", "-q", "-m", "second")
	git("checkout", "-q", "main")
	write("network/more.tf", "# on main only\n")
	git("add", ".")
	git("commit", "-q", "-m", "third")
	git("checkout", "-q", "topic")
	write("audit/main.tf", "# not committed\n")
	write("cluster/new file.tf", "# not added\n")
	write("cluster/x.tfstate", "ignored\n")
	got, err := roots.ChangedFiles(t.Context(), "dns", "main")
	if err != nil {
		t.Fatal(err)
	}
	top, _ := filepath.EvalSymlinks(".")
	top, _ = filepath.Abs(top)
	var rel []string
	for _, path := range got {
		r, err := filepath.Rel(top, path)
		if err != nil {
			t.Fatal(err)
		}
		rel = append(rel, filepath.ToSlash(r))
	}
	if want := "audit/main.tf, dns/more.tf, cluster/new file.tf"; strings.Join(rel, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(rel, ", "), want)
	}
	for _, ref := range []string{"nothing", "--output=x"} {
		_, err := roots.ChangedFiles(t.Context(), ".", ref)
		if err == nil || !strings.Contains(err.Error(), ref) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// BenchmarkLoad loads estates whose root modules share directories and modules.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{250, 500, 1000, 2000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("-- modules/labels/main.tf --\noutput \"x\" {\n  value = 1\n}\n-- roots.tofu.hcl --\n")
			for i := range n / 2 {
				fmt.Fprintf(&text, "root \"shared/%d\" {\n  path = \"shared\"\n  workspace = \"w%d\"\n  variables = { in = root[\"plain/%d\"].id }\n}\n", i, i, i)
			}
			text.WriteString("-- shared/main.tf --\nvariable \"in\" {\n}\nmodule \"labels\" {\n  source = \"../modules/labels\"\n}\n")
			for i := range n / 2 {
				fmt.Fprintf(&text, "-- plain/%d/main.tf --\noutput \"id\" {\n  value = 1\n}\nmodule \"labels\" {\n  source = \"../../modules/labels\"\n}\n", i)
				if i > 0 {
					fmt.Fprintf(&text, "data \"terraform_remote_state\" \"before\" {\n  backend = \"local\"\n  config = { path = \"../%d/terraform.tfstate\" }\n}\n", i-1)
				}
			}
			e, err := load(b, text.String())
			if err != nil || len(e.Roots) != n {
				b.Fatalf("%d root modules: %v", len(e.Roots), err)
			}
			for b.Loop() {
				_, err := again(b)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/root")
		})
	}
}

// TestErrors checks errors about an estate as a whole.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ archive, want string }{
		{"-- a/b/main.tf --\n-- roots.tofu.hcl --\nroot \"a/b\" {\n  path = \"c\"\n}\n-- c/main.tf --\n", "Two root modules with one name"},
		{"-- roots.tofu.hcl --\nroot \"a\" {\n}\n-- a/README.md --\n", "No configuration in the directory of a root module"},
		{"-- roots.tofu.hcl --\nroot \"a\" {\n}\n", "Missing directory of a root module"},
		{"-- roots.tofu.hcl --\nroot \"a\" {\n}\n-- a --\n", "No directory of a root module"},
		{"-- roots.tofu.hcl --\nroot \"a\" {\n  path = \"a/b\"\n}\n-- a --\n", "Directory of a root module can't be read"},
		{"-- roots.tofu.hcl --\nroot \"a\" {\n  var_files = [\"no.tfvars\"]\n}\n-- a/main.tf --\n", "no.tfvars"},
	} {
		_, err := load(t, c.archive)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if diags := tfdiags.FromError(err); len(diags) != 1 {
			t.Errorf("%s: %d errors", c.want, len(diags))
		}
	}
}
