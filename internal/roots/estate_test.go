package roots_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/testenv"
	"tofu/internal/ui"
)

// output is a configuration with an output.
const output = "output \"id\" {\n  value = 1\n}\n"

// TestDiscovery checks which directories are root modules.
func TestDiscovery(t *testing.T) {
	const calls = "module \"m\" {\n  source = \"%s\"\n}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"one below another":     {map[string]string{"a/main.tf": output, "a/b/main.tf": output}, "a a/b"},
		"other kinds of files":  {map[string]string{"a/main.tf.json": "{}", "b/x.tofu": output, "c/x.tfvars": "", "d/x.tftest.hcl": ""}, "a b"},
		"the top itself":        {map[string]string{"main.tf": output}, "."},
		"hidden":                {map[string]string{".a/main.tf": output, "b/.terraform/modules/c/main.tf": output, "b/main.tf": output}, "b"},
		"called":                {map[string]string{"a/main.tf": fmt.Sprintf(calls, "../m"), "m/main.tf": output}, "a"},
		"called by one called":  {map[string]string{"a/main.tf": fmt.Sprintf(calls, "../m"), "m/main.tf": fmt.Sprintf(calls, "./n"), "m/n/main.tf": output}, "a"},
		"called and locked":     {map[string]string{"a/main.tf": fmt.Sprintf(calls, "../m"), "m/main.tf": output, "m/.terraform.lock.hcl": ""}, "a"},
		"excluded":              {map[string]string{"a/main.tf": output, "x/y/main.tf": "oops {", "x/main.tf": fmt.Sprintf(calls, "../m"), "m/main.tf": output, "roots.tofu.hcl": "exclude = [\"x/**\"]"}, "a"},
		"all excluded but one":  {map[string]string{"a/main.tf": output, "x/main.tf": output, "roots.tofu.hcl": "exclude = [\"**\"]\nroot \"n\" {\n  path = \"a\"\n}"}, "n"},
		"excluded by pattern":   {map[string]string{"a/main.tf": output, "a/x1/main.tf": output, "x2/main.tf": output, "roots.tofu.hcl": "locals {\n  e = \"*/x?\"\n}\nexclude = [local.e]"}, "a x2"},
		"called and declared":   {map[string]string{"a/main.tf": fmt.Sprintf(calls, "../m"), "m/main.tf": output, "roots.tofu.hcl": "root \"m\" {}"}, "a m"},
		"locked without files":  {map[string]string{"a/main.tf": output, "b/.terraform.lock.hcl": ""}, "a"},
		"renamed":               {map[string]string{"a/main.tf": output, "roots.tofu.hcl": "root \"x/y\" {\n  path = \"a\"\n}"}, "x/y"},
		"outside of the top":    {map[string]string{"top/roots.tofu.hcl": "", "a/main.tf": output}, "a"},
		"nothing":               {map[string]string{"README.md": ""}, ""},
		"two names for one dir": {map[string]string{"a/main.tf": "terraform {\n  backend \"local\" {}\n}", "roots.tofu.hcl": "root \"a\" {\n  for_each = toset([\"x\", \"y\"])\n  path = \"a\"\n  backend = { path = \"${self.name}.tfstate\" }\n}"}, "a/x a/y"},
	} {
		t.Run(name, func(t *testing.T) {
			e := loadFiles(t, c.files)
			if got := strings.Join(e.Names(), " "); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

// archive returns files in the form that load takes.
func archive(files map[string]string) string {
	var out strings.Builder
	for path, text := range files {
		fmt.Fprintf(&out, "-- %s --\n%s\n", path, text)
	}
	return out.String()
}

// loadFiles writes files into a new working directory and loads the estate there.
func loadFiles(t testing.TB, files map[string]string) *roots.Estate {
	t.Helper()
	e, err := load(t, archive(files))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestUnread checks which roots.tofu.hcl files are reported as not read.
func TestUnread(t *testing.T) {
	e := loadFiles(t, map[string]string{"main.tf": output, "roots.tofu.hcl": "", "b/roots.tofu.hcl": "x = 1",
		"a/c/roots.tofu.hcl": "", ".d/roots.tofu.hcl": ""})
	want := []string{filepath.Join("a", "c", "roots.tofu.hcl"), filepath.Join("b", "roots.tofu.hcl")}
	if !slices.Equal(e.Unread, want) {
		t.Errorf("got %v, want %v", e.Unread, want)
	}
}

// TestEdges checks which root modules a root module needs. The root module "user" reads "net",
// which has a local state, and "far", whose state is in a bucket.
func TestEdges(t *testing.T) {
	read := func(settings string) string {
		return "data \"terraform_remote_state\" \"r\" {\n" + settings + "\n}\n"
	}
	local := func(path string) string {
		return read("  backend = \"local\"\n  config  = { path = \"" + path + "\" }")
	}
	bucket := func(more string) string {
		return read("  backend = \"s3\"\n" + more)
	}
	for name, c := range map[string]struct{ user, want string }{
		"nothing":                {output, ""},
		"relative path":          {local("../net/terraform.tfstate"), "net"},
		"with the module's path": {local("${path.module}/../net/terraform.tfstate"), "net"},
		"longer path":            {local("./../user/../net/./terraform.tfstate"), "net"},
		"absolute path":          {local("${abspath(\"../net\")}/terraform.tfstate"), "net"},
		"a local value":          {local("${local.dir}/terraform.tfstate") + "locals {\n  dir = \"../${local.n}\"\n  n = \"net\"\n}", "net"},
		"a variable":             {local("../${var.n}/terraform.tfstate") + "variable \"n\" {\n  default = \"net\"\n}", "net"},
		"another file":           {local("../net/other.tfstate"), ""},
		"its own state":          {local("terraform.tfstate"), ""},
		"another workspace":      {read("  backend = \"local\"\n  workspace = \"w\"\n  config = { path = \"../net/terraform.tfstate\" }"), ""},
		"a resource":             {local("${terraform_data.a.id}") + "resource \"terraform_data\" \"a\" {}", ""},
		"for_each": {read("  for_each = toset([\"net\", \"none\"])\n  backend = \"local\"\n  config = { path = " +
			"\"../${each.key}/terraform.tfstate\" }"), "net"},
		"count": {read("  count = 2\n  backend = \"local\"\n  config = { path = [\"../net/terraform.tfstate\", " +
			"\"x\"][count.index] }"), "net"},
		"the same bucket":   {bucket("  config = { bucket = \"b\", key = \"k\", region = \"eu-west-1\" }"), "far"},
		"how to reach it":   {bucket("  config = { bucket = \"b\", key = \"k\", region = \"eu-west-1\", profile = \"p\", max_retries = 7 }"), "far"},
		"another key":       {bucket("  config = { bucket = \"b\", key = \"k2\", region = \"eu-west-1\" }"), ""},
		"another bucket":    {bucket("  config = { bucket = \"b2\", key = \"k\", region = \"eu-west-1\" }"), ""},
		"a workspace of it": {bucket("  workspace = \"w\"\n  config = { bucket = \"b\", key = \"k\", region = \"eu-west-1\" }"), ""},
		"within a module":   {"module \"m\" {\n  source = \"./m\"\n  path = \"../net/terraform.tfstate\"\n}\n", "net"},
	} {
		t.Run(name, func(t *testing.T) {
			e := loadFiles(t, map[string]string{
				"net/main.tf":    output,
				"far/main.tf":    "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    region = \"eu-west-1\"\n  }\n}\n" + output,
				"user/main.tf":   c.user,
				"user/m/main.tf": "variable \"path\" {}\n" + local("${var.path}"),
				"other/main.tf":  "module \"m\" {\n  source = \"../user/m\"\n  path = \"none\"\n}",
			})
			if got := names(e.Needs(e.ByName("user"))); got != c.want {
				t.Errorf("needs %q, want %q", got, c.want)
			}
		})
	}
}

// TestLargeEstate checks which parsed root modules stay in memory after the search if their source
// text is large in total: only those with errors and those that share a directory.
func TestLargeEstate(t *testing.T) {
	text := "# " + strings.Repeat(strings.Repeat("x", 98)+"\n# ", 10_000) + "\n" + output
	files := map[string]string{"shared/main.tf": "terraform {\n  backend \"local\" {}\n}\n" + text,
		"zbroken/main.tf": text + "output \"x\" {}\n",
		"roots.tofu.hcl": "root \"shared\" {\n  for_each = toset([\"x\", \"y\"])\n  path = \"shared\"\n  backend = { path = " +
			"\"${self.name}.tfstate\" }\n}\n"}
	const many = 10
	for i := range many {
		files[fmt.Sprintf("r%d/main.tf", i)] = text
	}
	dir := t.TempDir()
	for path, text := range files {
		testenv.Unpack(t, dir, fmt.Sprintf("-- %s --\n%s\n", path, text))
	}
	t.Chdir(dir)
	term := terminal.New(&terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	term.Printer = ui.NewHuman(ui.Options{Out: io.Discard, Err: io.Discard})
	s := session.New(session.NewProcess(nil, nil, io.Discard), "", term)
	e, err := roots.Load(t.Context(), []string{"."}, func(m session.RootModule) *session.Session { return s.At(m, term) })
	if e == nil || err == nil {
		t.Fatal("no error for a broken root module", err)
	}
	kept := 0
	for i := range many {
		if s.Parser.Size(fmt.Sprintf("r%d", i)) > 0 {
			kept++
		}
	}
	if kept == 0 || kept > 5 {
		t.Errorf("%d of %d root modules stay decoded", kept, many)
	}
	for _, dir := range []string{"shared", "zbroken"} {
		if s.Parser.Size(dir) == 0 {
			t.Errorf("%s is not decoded any more", dir)
		}
	}
	info, err := os.Stat("shared/main.tf")
	if err != nil || s.Parser.Size("shared") != int(info.Size()) {
		t.Errorf("%d bytes of text are kept of %v: %v", s.Parser.Size("shared"), info, err)
	}
}
