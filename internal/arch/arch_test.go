package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vague lists package names that don't describe a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "impl", "misc", "base"}

// methodLimit is the maximum number of methods of an interface. providers.Interface is exempt,
// because it follows the plugin protocol.
const methodLimit = 7

type pkg struct {
	path  string // path relative to the directory internal
	files map[string]*ast.File
}

// httpShortcuts lists the parts of net/http that only package httpclient may use. Requests that
// other packages sent with them would not follow its policy.
var httpShortcuts = []string{"Client", "DefaultClient", "DefaultTransport", "Transport", "Get", "Head",
	"Post", "PostForm"}

// TestHTTPClients checks that only the clients of package httpclient send requests.
func TestHTTPClients(t *testing.T) {
	found := false
	for _, p := range load(t) {
		for name, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !slices.Contains(httpShortcuts, sel.Sel.Name) {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "http" || !imports(file, "net/http") {
					return true
				}
				if p.path == "httpclient" {
					found = true
				} else {
					t.Errorf("%s uses http.%s; use a client from httpclient.New", name, sel.Sel.Name)
				}
				return true
			})
		}
	}
	if !found {
		t.Error("found no use in package httpclient: the check is broken")
	}
}

func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports,
		func(imp *ast.ImportSpec) bool { return imp.Path.Value == strconv.Quote(path) })
}

func TestPackages(t *testing.T) {
	for _, p := range load(t) {
		if slices.Contains(vague, filepath.Base(p.path)) {
			t.Errorf("internal/%s: the name is too vague", p.path)
		}
		documented := false
		for name, file := range p.files {
			if file.Doc != nil {
				documented = documented || len(file.Doc.Text()) > 80
			}
			for _, decl := range file.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !generated(file) {
					t.Errorf("%s has an init function", name)
				}
			}
			for _, call := range blankCalls(file) {
				t.Errorf("%s assigns the result of the call %s to _, which hides an initialization", name, call)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if iface, ok := spec.Type.(*ast.InterfaceType); ok && len(iface.Methods.List) > methodLimit &&
					spec.Name.Name != "Interface" {
					t.Errorf("%s: interface %s has %d methods", name, spec.Name.Name, len(iface.Methods.List))
				}
				return true
			})
		}
		if !documented {
			t.Errorf("internal/%s has no package comment", p.path)
		}
	}
}

// blankCalls returns the names of the functions called to initialize package-level variables named
// _. Such calls run when the program starts, as init functions do. Conversions in interface
// assertions, such as (*T)(nil), are not calls of a named function and are left out.
func blankCalls(file *ast.File) []string {
	var out []string
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			for i, name := range value.Names {
				if name.Name != "_" || i >= len(value.Values) {
					continue
				}
				call, ok := value.Values[i].(*ast.CallExpr)
				if !ok {
					continue
				}
				switch fn := call.Fun.(type) {
				case *ast.Ident:
					out = append(out, fn.Name)
				case *ast.SelectorExpr:
					out = append(out, fn.Sel.Name)
				case *ast.FuncLit:
					out = append(out, "func literal")
				}
			}
		}
	}
	return out
}

// TestBlankCalls checks that blankCalls finds calls and ignores interface assertions.
func TestBlankCalls(t *testing.T) {
	for src, want := range map[string]int{
		"var _ I = T{}": 0, "var _ I = (*T)(nil)": 0, "var _ = f()": 1, "var _ = p.f()": 1,
		"var (\n\t_ = func() int { return 1 }()\n)": 1, "var x = f()": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+src, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(blankCalls(file)); got != want {
			t.Errorf("%s: %d calls, want %d", src, got, want)
		}
	}
}

func generated(file *ast.File) bool { return ast.IsGenerated(file) }

// load parses all packages below internal, without tests.
func load(t *testing.T) []*pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "testdata") {
			return err
		}
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), "../"))
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if byDir[dir] == nil {
			byDir[dir] = &pkg{path: dir, files: map[string]*ast.File{}}
		}
		byDir[dir].files[path] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(byDir) < 10 {
		wd, _ := os.Getwd()
		t.Fatalf("found only %d packages from %s", len(byDir), wd)
	}
	out := make([]*pkg, 0, len(byDir))
	for _, p := range byDir {
		out = append(out, p)
	}
	return out
}
