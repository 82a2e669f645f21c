package warm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/ui"
	"tofu/internal/version"
)

// pluginKind has one root module with the providers of testing/providers: their processes are kept.
type pluginKind struct{}

func (pluginKind) prepare(t *testing.T) *cliconfig.Config {
	installed(t, "files", "notes")
	for name, text := range map[string]string{"input.txt": "first", "template.txt": "hello ${name}", "data/in.txt": "in",
		"data/other.txt": "other", "data2/in.txt": "in 2", ".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},` +
			`{"Key":"m","Source":"./m","Dir":"m"}]}`} {
		write(t, name, text)
	}
	t.Setenv("FILES_DEFER", "1")
	return &cliconfig.Config{CacheDir: t.TempDir()}
}

// built is the directory with the test providers.
var built, _ = filepath.Abs("../../build/mirror") // tests change the working directory

// installed installs the test providers in the working directory.
func installed(t *testing.T, names ...string) {
	t.Helper()
	platform := runtime.GOOS + "_" + runtime.GOARCH
	var locks strings.Builder
	for _, name := range names {
		path := filepath.Join("example.com/tofu", name, "1.0.0", platform)
		mirror := filepath.Join(built, path)
		hash, err := pkgstore.HashDir(mirror)
		if err != nil {
			t.Skipf("the test providers are not built (make providers): %s", err)
		}
		link := filepath.Join(".terraform/providers", path)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(mirror, link); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&locks, "provider \"example.com/tofu/%s\" {\n  version = \"1.0.0\"\n  hashes  = [%q]\n}\n", name, hash)
	}
	write(t, ".terraform.lock.hcl", locks.String())
}

func (pluginKind) open(c *Core) ([]*Module, error) { return builtinKind{}.open(c) }
func (pluginKind) check(*world, PlanOptions)       {}

// outside changes a file that a function or a data source reads, changes an object, or kills the processes.
func (pluginKind) outside(w *world) {
	switch w.n(4) {
	case 0:
		w.log = append(w.log, "change what functions read")
		write(w.t, w.pick("input.txt", "template.txt"), w.pick("one", "two ${name}"))
	case 1, 2:
		name := w.pick("data/in.txt", "data/other.txt", "data/f0", "data/f1")
		w.log = append(w.log, "change "+name)
		write(w.t, name, w.pick("one", "two"))
		w.anew = true
	default:
		w.log = append(w.log, "kill the providers")
		for _, pid := range children() {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended
			}
		}
	}
}

// children returns the child processes of this one; none on other systems than Linux.
func children() (out []int) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, name := range lists {
		text, _ := os.ReadFile(name)
		for _, field := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(field)
			out = append(out, pid)
		}
	}
	return out
}

func (pluginKind) names() []string {
	return []string{"providers.tf", "files.tf", "notes.tf", "data.tf", "m/main.tf", "x.auto.tfvars", "variables.tf"}
}

func (pluginKind) text(w *world, name string) string {
	n, pick := w.n, w.pick
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	switch name {
	case "providers.tf":
		say("terraform {\n  required_providers {\n    files = { source = \"example.com/tofu/files\" }\n    notes = { source = \"example.com/tofu/notes\" }\n  }\n}\n")
		say("provider \"files\" { root = %s }\n", pick(`"data"`, `"data"`, `"data"`, `"data2"`, "terraform_data.late.output"))
		say("provider \"notes\" {\n  folder = \"n\"\n  author = %s\n}\n", pick("var.author", `"plain"`, `file("input.txt")`))
		say("resource \"terraform_data\" \"late\" { input = \"data\" }\n")
	case "x.auto.tfvars":
		say("author = %q\nsize = %d\n", pick("x", "y"), n(4))
	case "variables.tf":
		say("variable \"size\" { default = 1 }\nvariable \"author\" {\n  default   = \"d\"\n  sensitive = %t\n}\n", n(3) == 0)
		say("variable \"secret\" {\n  default   = \"constant\"\n  ephemeral = %t\n}\n", n(3) == 0)
	case "files.tf":
		for i := range 2 + n(2) {
			say("resource \"files_file\" \"f%d\" {\n  path = \"f%d\"\n", i, i)
			switch n(6) {
			case 0:
				say("  content = file(\"input.txt\")\n")
			case 1:
				say("  content = templatefile(\"template.txt\", { name = var.author })\n")
			case 2:
				say("  sensitive_content = %s\n", pick("var.author", `"plain"`))
			case 3:
				say("  content_wo = var.secret\n  content_wo_version = %d\n", n(3))
			case 4:
				say("  content = provider::files::sha256_of(%s)\n", pick(`"constant"`, "var.author", "notes_note.a.body"))
			default:
				say("  content = %s\n", pick(`"constant"`, "data.files_file.in.content", "notes_note.a.revision", "local.joined"))
			}
			if n(3) == 0 {
				say("  overwrite = true\n  lifecycle { ignore_changes = [mode] }\n")
			}
			say("}\n")
		}
		say("resource \"files_file\" \"many\" {\n  for_each = %s\n  path     = \"many-${each.key}\"\n  content  = each.value\n}\n",
			pick(`{ a = "1", b = "2" }`, `{ for k in ["a", "c"] : k => "${k}-${var.size}" }`, "{ for k in data.files_folder.all.names : k => k }",
				`{ for f in fileset(".", "*.txt") : f => f }`, "{ (notes_note.a.id) = \"1\" }"))
		say("locals { joined = join(\",\", [for f in files_file.many : f.path]) }\n")
	case "notes.tf":
		say("resource \"notes_note\" \"a\" {\n  key      = \"a\"\n  body     = %s\n  priority = %d\n", pick(`"plain"`, "data.files_file.in.content", "file(\"input.txt\")"), 1+n(5))
		if n(2) == 0 {
			say("  secret = %s\n  tags = [%s]\n", pick("var.author", `"constant"`), pick(`"x"`, "var.author", `"x", "fixed"`))
		}
		if n(2) == 0 {
			say("  section {\n    heading = \"plain\"\n    text = %s\n  }\n", pick("tostring(var.size)", `"x"`))
		}
		say("}\nmodule \"m\" {\n  source   = \"./m\"\n  for_each = %s\n  body     = %s\n}\n", pick(`toset(["x"])`, `toset(["x", "y"])`),
			pick("each.key", "notes_note.a.author", "data.notes_search.s.keys"))
	case "data.tf":
		say("data \"files_file\" \"in\" {\n  path = %s\n}\n", pick(`"in.txt"`, `"in.txt"`, `"other.txt"`, "files_file.many[\"a\"].id"))
		say("data \"files_folder\" \"all\" {\n  path    = \".\"\n  pattern = %s\n}\n", pick(`"*.txt"`, `"f*"`))
		say("data \"notes_search\" \"s\" {\n  tag = %s\n%s}\n", pick(`"x"`, "var.author"), pick("", "  depends_on = [notes_note.a]\n"))
		say("resource \"files_folder\" \"d\" { path = \"dir%d\" }\n", n(2))
		say("output \"o\" {\n  value     = %s\n  sensitive = %t\n}\n", pick("data.files_folder.all.sizes", "module.m", "local.joined", "data.notes_search.s.keys"), n(2) == 0)
	default:
		say("terraform {\n  required_providers {\n    notes = { source = \"example.com/tofu/notes\" }\n  }\n}\n")
		say("variable \"body\" {}\nresource \"notes_note\" \"in\" {\n  count = %d\n  key   = \"m-${substr(md5(jsonencode(var.body)), 0, 6)}-${count.index}\"\n  body  = %s\n}\noutput \"keys\" { value = notes_note.in[*].%s }\n",
			n(3), pick("path.module", `"x"`, "jsonencode(var.body)"), pick("key", "revision", "all_tags"))
	}
	if n(20) == 0 {
		b.WriteString("} broken {")
	}
	return b.String()
}

// estateKind has root modules that read outputs of others: by data sources, and as roots.tofu.hcl says.
type estateKind struct{}

func (estateKind) prepare(*testing.T) *cliconfig.Config { return &cliconfig.Config{} }

func (estateKind) names() []string {
	return []string{"net/main.tf", "app/main.tf", "web/main.tf", "far/main.tf", "roots.tofu.hcl"}
}

func (estateKind) open(c *Core) ([]*Module, error) {
	e, err := c.OpenEstate(context.Background(), ".", Options{})
	if e == nil {
		return nil, err
	}
	return e.Modules(), err
}

// outside changes a state that is read, a root module that comes and goes, or the times of all files: only
// what has an old time is taken from memory.
func (estateKind) outside(w *world) {
	switch w.n(4) {
	case 0:
		w.log = append(w.log, "a root module comes or goes")
		if os.RemoveAll("new/inner") == nil && w.n(2) == 0 {
			write(w.t, "new/inner/main.tf", fmt.Sprintf("output \"v\" { value = %d }\n", w.n(3)))
		}
		return
	case 1, 2:
		w.log = append(w.log, "time passes")
		age(w.t, ".")
		return
	}
	w.log = append(w.log, "change another state")
	write(w.t, "other.tfstate", fmt.Sprintf(`{"version":4,"serial":1,"lineage":"x","outputs":{"v":{"value":"%d","type":"string"}},"resources":[]}`, w.n(5)))
}

// aged counts the times that age has given.
var aged atomic.Int64

// age sets the times of all new files and directories to long ago, each to one that no other file has had.
func age(t testing.TB, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) > time.Hour {
			return err
		}
		then := time.Now().Add(-24*time.Hour + time.Duration(aged.Add(1))*time.Millisecond)
		return os.Chtimes(path, then, then)
	}); err != nil {
		t.Fatal(err)
	}
}

func (estateKind) text(w *world, name string) string {
	n, pick := w.n, w.pick
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	read := func(name, of string) {
		say("data \"terraform_remote_state\" %q {\n  backend  = \"local\"\n  config   = { path = \"${path.module}/../%s\" }\n  defaults = { v = \"none\" }\n}\n", name, of)
	}
	switch name {
	case "roots.tofu.hcl":
		if n(4) == 0 {
			say("root \"far\" {\n  path  = \"far\"\n  after = [root[%q]]\n  variables = { size = \"%d\" }\n}\n", pick("net", "net", "app", "app", "app", "nothing"), n(3))
			break
		}
		say("root \"far\" {\n  path = \"far\"\n  variables = { size = %s }\n}\n", pick(`root["net"].id`, `root["app"].v`, `root["web"].v`, `"plain"`))
	case "net/main.tf":
		say("resource \"terraform_data\" \"n\" {\n  count = %d\n  input = \"net-%d-${count.index}\"\n}\n", 1+n(2), n(4))
		say("output \"id\" { value = %s }\noutput \"v\" {\n  value     = \"constant%d\"\n  sensitive = %t\n}\n", pick("terraform_data.n[0].id", "terraform_data.n[0].output", `"plain"`, `file("../other.tfstate")`, `join(" ", fileset("..", "**.tf"))`), n(3), n(3) == 0)
	case "app/main.tf":
		read("net", "net/terraform.tfstate")
		if n(2) == 0 {
			read("other", "other.tfstate")
			say("resource \"terraform_data\" \"o\" { input = data.terraform_remote_state.other.outputs.v }\n")
		}
		say("resource \"terraform_data\" \"a\" {\n  input = %s\n}\noutput \"v\" {\n  value     = terraform_data.a.%s\n  sensitive = true\n}\n",
			pick("data.terraform_remote_state.net.outputs.id", "data.terraform_remote_state.net.outputs.v", `"x"`), pick("input", "output", "id"))
	case "web/main.tf":
		read("app", pick("app/terraform.tfstate", "net/terraform.tfstate"))
		say("resource \"terraform_data\" \"w\" {\n  for_each = toset([%s])\n  input    = each.key\n}\noutput \"v\" {\n  value     = length(terraform_data.w)\n  sensitive = true\n}\n",
			pick(`nonsensitive(try(data.terraform_remote_state.app.outputs.v, "x"))`, `"plain", "fixed"`, `data.terraform_remote_state.app.outputs.v`))
	default:
		say("variable \"size\" {}\nresource \"terraform_data\" \"f\" { input = \"${var.size}-%d\" }\n", n(3))
	}
	if n(25) == 0 && name != "roots.tofu.hcl" {
		b.WriteString("} broken {")
	}
	return b.String()
}

// check compares the plans with those of a run of `tofu roots plan` over the whole estate.
func (estateKind) check(w *world, opts PlanOptions) {
	w.t.Helper()
	cold := newCore(w.t, w.cli)
	defer cold.Close()
	for name := range w.given {
		cold.SetText(name, []byte(w.texts[name]))
	}
	at := cold.current()
	base := cold.base(cold.processAt(at))
	e, err := roots.Load(w.t.Context(), []string{"."}, func(m session.RootModule) *session.Session { return cold.session(base, m, nil) })
	if e == nil || !e.OnlyRootErrors(err) {
		return
	}
	planned := map[string]string{}
	run := &fleet.Run{Session: base, Estate: e, Selected: e.Roots, Show: func(*roots.Root, *fleet.Result, []byte) {},
		Options: session.OperationOptions{},
		Printer: func(r *roots.Root, _ io.Writer) ui.Printer { return &keeper{plans: planned, name: r.Name} }, Roots: 1}
	results := run.Plan(w.t.Context(), engine.PlanOptions{Mode: opts.Mode, SkipRefresh: opts.Refresh == None, Defer: true}, nil)
	for _, result := range results {
		if result.Root.Err != nil || opts.Mode == plans.Destroy && result.Skipped {
			continue // a root module is destroyed by itself
		}
		m := w.core.Module(result.Root.Name)
		p, err := m.Plan(w.t.Context(), opts)
		if err != nil {
			w.t.Fatal(err)
		}
		var got bytes.Buffer
		if result.Failed() != p.Diagnostics.HasErrors() {
			w.t.Fatalf("%s: roots plan: %v %s\nwarm: %v\nafter %q", m.Name(), result.Err, result.Why, p.Diagnostics.Err(), w.log)
		}
		if want := planned[m.Name()]; want != "" {
			if err := p.WriteJSON(&got); err != nil {
				w.t.Fatal(err)
			}
			if got := timestamp.ReplaceAllString(got.String(), ""); got != want {
				w.t.Fatalf("%s differs from that of roots plan after %q with %+v:\n%s\nconfiguration %q", m.Name(), w.log, opts,
					firstDifference(got, want), w.texts)
			}
		} else if p.View != nil && !p.Diagnostics.HasErrors() && p.View.Plan.Applyable && result.Plan.Changes {
			w.t.Fatalf("%s: only the warm plan has changes", m.Name())
		}
	}
}

// keeper keeps plans as JSON.
type keeper struct {
	silent
	plans map[string]string
	name  string
}

func (k *keeper) Plan(v *ui.PlanView) {
	var b bytes.Buffer
	if err := ui.WritePlan(&b, v, version.String, version.Engine()); err == nil {
		k.plans[k.name] = timestamp.ReplaceAllString(b.String(), "")
	}
}
