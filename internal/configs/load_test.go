package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/tfdiags"
)

// load loads an archive that must not have errors.
func load(t testing.TB, text string, opts *LoadOptions) *Config {
	t.Helper()
	cfg, diags := loadArchive(txtar.Parse([]byte(text)), opts)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return cfg
}

// TestSharing checks that a module's files are decoded once for all calls, and that endless
// recursion of modules is an error.
func TestSharing(t *testing.T) {
	root := load(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./m\"\n}\nmodule \"b\" {\n  source = "+
		"\"./m/../m\"\n}\n-- m/main.tf --\n", nil)
	if root.Children["a"].Module != root.Children["b"].Module {
		t.Error("two calls do not share the module")
	}
	_, diags := loadArchive(txtar.Parse([]byte("-- main.tf --\nmodule \"a\" {\n  source = \"./\"\n}\n")), nil)
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("got %v", err)
	}
}

// FuzzLoad checks that no directory crashes the loader and that all diagnostics have a severity and
// a summary. The input is a txtar archive, so that fuzzing also changes file names and thus the
// kinds of files: native and JSON syntax, overrides, tests and called modules.
func FuzzLoad(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{providersText, overrideText, staticText, testsText} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		archive := txtar.Parse(text)
		cfg, diags := loadArchive(archive, nil)
		if cfg != nil {
			_, err := cfg.static.env.parser.TestFiles(".", DefaultTestDirectory, diags.Add)
			diags = diags.AppendError(err)
		}
		for _, d := range diags {
			if d.Summary == "" || d.Severity != tfdiags.Error && d.Severity != tfdiags.Warning {
				t.Errorf("empty diagnostic: %+v", d)
			}
		}
	})
}

// testsText contains a test file of each kind.
const testsText = `
-- main.tf --
variable "x" {
  default = 1
}
-- tests/a.tftest.hcl --
variables {
  x = 2
}
provider "p" {
  alias = "q"
}
mock_provider "m" {
  source = "./mocks"
  mock_resource "a" {
    defaults = { b = 1 }
  }
  override_data {
    target = data.a.b["c"]
    values = {}
  }
}
override_module {
  target  = module.m
  outputs = { o = 1 }
}
run "one" {
  command   = plan
  variables {
    x = run.zero.y
  }
  plan_options {
    mode   = refresh-only
    target = [a.b]
  }
  module {
    source = "./m"
  }
  assert {
    condition     = var.x == 2
    error_message = "no"
  }
  expect_failures = [var.x]
}
-- tests/mocks/m.tfmock.hcl --
mock_data "a" {
  defaults = {}
}
-- b.tofutest.json --
{"run": {"two": {"assert": [{"condition": "${true}", "error_message": "no"}]}}}
`

// BenchmarkLoad loads n resources in one file, and n/20 calls of one module with 20 resources.
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

// BenchmarkDecode decodes the blocks of a parsed file.
func BenchmarkDecode(b *testing.B) {
	text := strings.TrimPrefix(wideText(1000), "-- main.tf --\n")
	source, err := NewParser(nil).ParseSource("main.tf", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d := &decoder{file: &file{name: "main.tf"}, warn: tfdiags.Drop}
		for _, block := range d.content(source.Body, fileSchema).Blocks {
			blockDecoders[block.Type](d, block)
		}
		if len(d.file.resources) != 1000 {
			b.Fatal(d.errs)
		}
	}
}
