package api

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of what is exported")

// TestExported compares what the package exports with the stored list. A line may be added to the list;
// one that is changed or removed breaks programs, and needs a new major version.
func TestExported(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "api.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := doc.NewFromFiles(fset, []*ast.File{file}, "tofu/api")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	print := func(decl ast.Node) {
		if err := format.Node(&b, fset, decl); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			f.Decl.Body = nil
			print(f.Decl)
		}
	}
	functions(pkg.Funcs)
	for _, typ := range pkg.Types {
		print(typ.Decl)
		functions(typ.Funcs)
		functions(typ.Methods)
	}
	path := filepath.Join("testdata", "exported.txt")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the package exports something else than testdata/exported.txt says:\n%s", got)
	}
}

const config = `
variable "n" {}
resource "terraform_data" "a" {
  count = var.n
  input = "x${count.index}"
}
output "o" { value = terraform_data.a[*].input }
`

func TestProblems(t *testing.T) {
	files := func(text string) map[string][]byte { return map[string][]byte{"main.tf": []byte(text)} }
	one := map[string]string{"n": "1"}
	for name, c := range map[string]struct {
		source Source
		want   string
	}{
		"no files":          {Source{}, "No configuration"},
		"syntax":            {Source{Files: files("resource {")}, "main.tf:1"},
		"missing variable":  {Source{Files: files(config)}, "No value for required variable"},
		"unknown variable":  {Source{Files: files(config), Variables: map[string]string{"n": "1", "x": "1"}}, "x"},
		"module elsewhere":  {Source{Files: files("module \"m\" { source = \"git::https://example.com/x\" }")}, "Only modules with local sources"},
		"missing module":    {Source{Files: files("module \"m\" { source = \"./m\" }")}, "Module not installed"},
		"no provider":       {Source{Files: files("resource \"other_thing\" \"a\" {}")}, "set Source.Provider"},
		"no such program":   {Source{Files: files("resource \"other_thing\" \"a\" {}"), Provider: func(context.Context, string) (string, error) { return "/nowhere", nil }}, "/nowhere"},
		"unreadable state":  {Source{Files: files(config), Variables: one, ReadState: func(context.Context) ([]byte, error) { return nil, errors.New("no connection") }}, "No connection"},
		"damaged state":     {Source{Files: files(config), Variables: one, ReadState: func(context.Context) ([]byte, error) { return []byte("{"), nil }}, "state"},
		"unsuitable values": {Source{Files: files(config), Variables: map[string]string{"n": "many"}}, "main.tf:4"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := Load(t.Context(), c.source)
			if err == nil {
				_, err = loaded.Plan(t.Context(), PlanOptions{})
			}
			var list Problems
			if !errors.As(err, &list) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestUnwritable checks that an apply whose state can't be stored fails, and that another plan with the
// same directory knows what was created.
func TestUnwritable(t *testing.T) {
	broken, dir := true, t.TempDir()
	var state []byte
	c, err := Load(t.Context(), Source{Files: map[string][]byte{"main.tf": []byte(config)}, Variables: map[string]string{"n": "2"},
		Dir: dir, ReadState: func(context.Context) ([]byte, error) { return state, nil },
		WriteState: func(_ context.Context, text []byte) error {
			if broken {
				return errors.New("disk full")
			}
			state = text
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan(t.Context(), PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if text, err := plan.JSON(); err != nil || !strings.Contains(string(text), `"terraform_data.a[1]"`) {
		t.Error(string(text), err)
	}
	if text, err := plan.Explain(t.Context(), "terraform_data.a[0]"); err != nil || !strings.Contains(string(text), `"in_plan": true`) && !strings.Contains(string(text), `"in_plan":true`) {
		t.Error(string(text), err)
	}
	if got := string(plan.Output("o")); got != `["x0","x1"]` {
		t.Error(got)
	}
	if _, err := plan.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
	if state != nil {
		t.Errorf("a state was stored: %s", state)
	}
	broken = false
	again, err := c.Plan(t.Context(), PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	result, err := again.Apply(t.Context())
	if err != nil || !strings.Contains(string(result.State), "terraform_data") {
		t.Error(result, err)
	}
}
