package roots_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/ui"
)

// variants are the files of an estate with the contents that random edits give them. "" removes a file, or the
// environment variable that a name with $ stands for.
var variants = map[string][]string{
	"a/main.tf": {
		"terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = local.k\n  }\n}\nlocals {\n  k = trimspace(file(\"keys/a\"))\n}\noutput \"id\" {\n  value = 1\n}\n",
		"terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = join(\"-\", fileset(\"keys\", \"**\"))\n  }\n}\noutput \"id\" {\n  value = 1\n  sensitive = true\n}\n",
		"output \"id\" {\n  value = 1\n}\noutput \"other\" {\n  value = 2\n}\n",
		"terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = var.name\n  }\n}\nvariable \"name\" {\n  default = \"a\"\n}\n",
		"oops {",
		"",
	},
	"a/keys/a":   {"k1", "k2", ""},
	"a/keys/b/c": {"k1", ""},
	"b/main.tf": {
		"data \"terraform_remote_state\" \"a\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"k1\"\n  }\n}\noutput \"x\" {\n  value = data.terraform_remote_state.a.outputs.id\n}\n",
		"module \"m\" {\n  source = \"../m\"\n  key = \"k2\"\n}\n",
		"module \"m\" {\n  source = var.from\n}\nvariable \"from\" {\n}\n",
		"data \"terraform_remote_state\" \"a\" {\n  for_each = toset([\"a\", \"k2\"])\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = each.key\n  }\n}\n",
	},
	"b/terraform.tfvars": {"from = \"../m\"\n", "from = \"../n\"\n", "oops", ""},
	"m/main.tf": {
		"variable \"key\" {\n  default = \"k1\"\n}\ndata \"terraform_remote_state\" \"a\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = var.key\n  }\n}\noutput \"y\" {\n  value = data.terraform_remote_state.a.outputs\n}\n",
		"variable \"key\" {\n  default = \"k1\"\n}\nmodule \"n\" {\n  source = \"../n\"\n}\nresource \"terraform_data\" \"x\" {\n  input = file(\"${path.module}/x.txt\")\n}\n",
		"oops {",
		"",
	},
	"m/x.txt":                  {"1", "2", ""},
	"n/main.tf":                {"output \"z\" {\n  value = 1\n}\n", "data \"terraform_remote_state\" \"a\" {\n  backend = \"local\"\n}\n", ""},
	"b/tests/x.tftest.hcl":     {"run \"x\" {\n  module {\n    source = \"./../n\"\n  }\n}\n", ""},
	"b/.terraform/environment": {"prod", ""},
	"c/main.tf":                {"terraform {\n  backend \"local\" {}\n}\nvariable \"v\" {\n  default = 1\n}\n"},
	"roots.tofu.hcl": {
		"", "root \"c/x\" {\n  path = \"c\"\n  backend = { path = \"x\" }\n}\nroot \"c/y\" {\n  path = \"c\"\n  backend = { path = \"y\" }\n  variables = { v = root[\"a\"].id }\n}\n",
		"root \"c\" {\n  workspace = \"w\"\n  var_files = [\"../c.tfvars\"]\n}\nexclude = [\"n\"]\n",
	},
	"c.tfvars":             {"v = 1", "v = 2"},
	"$TF_VAR_name":         {"", "k1", "k2"},
	"$TF_WORKSPACE":        {"", "w2"},
	"$AWS_REGION":          {"", "eu-central-1"},
	"$AWS_ENDPOINT_URL_S3": {"", "http://localhost:9"},
}

// TestCache checks that an estate that is read with a cache is the same as one that is read without, after any edits.
func TestCache(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	environ := map[string]string{}
	taken := 0
	for i := range 120 {
		seed := rand.New(rand.NewPCG(uint64(i), 1))
		for _, name := range slices.Sorted(maps.Keys(variants)) {
			texts := variants[name]
			if i > 0 && seed.IntN(len(variants)) > 2 {
				continue
			}
			text := texts[seed.IntN(len(texts))]
			if variable, ok := strings.CutPrefix(name, "$"); ok {
				environ[variable] = text
				continue
			}
			edit(t, name, text, seed.IntN(8) > 0)
		}
		if seed.IntN(30) == 0 {
			damage(t, cache, seed)
		}
		want := describe(t, nil, environ)
		c := roots.OpenCache(cache, []string{"."}, list(environ))
		if got := describe(t, c, environ); got != want {
			t.Fatalf("edit %d: with a cache:\n%s\nwithout:\n%s", i, got, want)
		}
		taken += c.Taken()
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	if taken < 50 {
		t.Errorf("only %d root modules were taken from the cache", taken)
	}
}

func list(environ map[string]string) (out []string) {
	for name, value := range environ {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// edit writes or removes a file. If old is set, its time of modification is long ago, and no other file ever had it.
func edit(t *testing.T, name, text string, old bool) {
	t.Helper()
	if text == "" && name != "roots.tofu.hcl" {
		_ = os.RemoveAll(name)
	} else {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if old {
		edits++
		at := time.Now().Add(-time.Hour + time.Duration(edits)*time.Millisecond)
		_ = os.Chtimes(name, at, at)
		for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
			_ = os.Chtimes(dir, at, at)
			if dir == "." {
				break
			}
		}
	}
}

var edits int

// damage changes a byte in the file of the cache, or cuts it off.
func damage(t *testing.T, cache string, seed *rand.Rand) {
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 {
		return
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	at := seed.IntN(len(text))
	if text[at]++; seed.IntN(3) == 0 {
		text = text[:at]
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// describe loads the estate in the working directory and describes all of it.
func describe(t *testing.T, c *roots.Cache, environ map[string]string) string {
	t.Helper()
	quiet := func() *terminal.Terminal {
		term := terminal.New(&terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		term.Printer = ui.NewHuman(ui.Options{Out: io.Discard, Err: io.Discard})
		return term
	}
	s := session.New(session.NewProcess(list(environ), nil, io.Discard), "", quiet())
	e, err := roots.LoadCached(t.Context(), []string{"."}, c, func(m session.RootModule) *session.Session { return s.At(m, quiet()) })
	var out bytes.Buffer
	fmt.Fprintf(&out, "error: %v\n", err)
	if e == nil {
		return out.String()
	}
	fmt.Fprintf(&out, "called: %v unsure: %v variables: %v\n", e.Called, e.Unsure, e.Variables())
	for _, r := range e.Roots {
		fmt.Fprintf(&out, "%s %s %s %v %+v\n", r.Name, r.Dir, r.State, r.Outputs, r.Summary())
		for _, read := range r.Reads {
			of := ""
			if read.Root != nil {
				of = read.Root.Name
			}
			fmt.Fprintf(&out, "  %s %s %s %s %v %s\n", read.Kind, read.User, read.Range, read.State, read.Outputs, of)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		list, err := e.Select(&roots.Selection{Changed: e.Changed([]string{path})})
		fmt.Fprintf(&out, "%s changes %s %v\n", name, names(list), err)
	}
	return out.String()
}
