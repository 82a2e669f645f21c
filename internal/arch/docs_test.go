package arch

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents returns the documents whose names of files, tests and make targets are checked.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "docs/ARCHITECTURE.md", "docs/DESIGN.md", "docs/HACKING.md"}
	return append(names, designs(t)...)
}

// designs returns the names of the documents below docs/design.
func designs(t *testing.T) []string {
	t.Helper()
	names := slices.DeleteFunc(markdown(t), func(name string) bool { return filepath.Dir(name) != "docs/design" })
	if len(names) == 0 {
		t.Fatal("no documents below docs/design")
	}
	return names
}

const top = "../.." // the root of the repository

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestArchitectureListsPackages checks that the list of packages in ARCHITECTURE.md is complete.
func TestArchitectureListsPackages(t *testing.T) {
	_, after, _ := strings.Cut(read(t, "docs/ARCHITECTURE.md"), "## Packages")
	listed, _, _ := strings.Cut(after, "\n| Layer")
	for _, p := range load(t) {
		if !regexp.MustCompile(`(^|[\s/])` + filepath.Base(p.path) + `/`).MatchString(listed) {
			t.Errorf("the list of packages in docs/ARCHITECTURE.md lacks internal/%s", p.path)
		}
	}
}

// TestNamesInDocuments checks that the files, tests and make targets named in the documents
// exist.
func TestNamesInDocuments(t *testing.T) {
	targets, tests := read(t, "Makefile"), testNames(t)
	code := regexp.MustCompile("`([^`\n]+)`")
	file := regexp.MustCompile(`^[a-z][\w./-]*\.(go|md|sh|txtar)$`)
	test := regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w+$`)
	checked := 0
	for _, doc := range documents(t) {
		for _, match := range code.FindAllStringSubmatch(read(t, doc), -1) {
			name := match[1]
			target, isTarget := strings.CutPrefix(name, "make ")
			target, _, _ = strings.Cut(target, " ")
			var found bool
			switch {
			case strings.ContainsAny(name, "*…") || strings.Contains(name, "NAME") || strings.Contains(name, "BLOCK") ||
				strings.Contains(name, "THEME") || strings.Contains(name, "vN"):
				continue
			case isTarget:
				found = strings.Contains(targets, "\n"+target+":")
			case test.MatchString(name):
				found = tests[name]
			case file.MatchString(name):
				found = slices.ContainsFunc([]string{"", "internal", "docs"}, func(dir string) bool {
					_, err := os.Stat(filepath.Join(top, dir, name))
					return err == nil
				})
			default:
				continue
			}
			checked++
			if !found {
				t.Errorf("%s names `%s`, which does not exist", doc, name)
			}
		}
	}
	if checked < 40 {
		t.Errorf("found only %d names", checked)
	}
}

// TestLifeOfAPlan checks that the functions named in the section "The life of a plan" exist.
func TestLifeOfAPlan(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/ARCHITECTURE.md"), "## The life of a plan")
	section, _, _ = strings.Cut(section, "\n## ")
	declared := functionNames(t)
	names := regexp.MustCompile("`([A-Za-z]+\\.[A-Za-z]+|[a-z]+[A-Z][A-Za-z]+)`").FindAllStringSubmatch(section, -1)
	for _, match := range names {
		if !declared[match[1]] {
			t.Errorf("docs/ARCHITECTURE.md names `%s`, which is not declared", match[1])
		}
	}
	if len(names) < 25 {
		t.Errorf("found only %d functions", len(names))
	}
}

// functionNames returns the names of all functions, as "name" and "package.Name", and of all
// methods, as "Type.Name".
func functionNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, p := range load(t) {
		for _, file := range p.files {
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if f.Recv == nil {
					names[f.Name.Name], names[file.Name.Name+"."+f.Name.Name] = true, true
					continue
				}
				recv := f.Recv.List[0].Type
				if star, ok := recv.(*ast.StarExpr); ok {
					recv = star.X
				}
				if id, ok := recv.(*ast.Ident); ok {
					names[id.Name+"."+f.Name.Name] = true
				}
			}
		}
	}
	return names
}

// testNames returns the names of all tests below internal.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((Test|Fuzz)\w+)\(`)
	found := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			found[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDesignIsListed checks that DESIGN.md lists every file below docs/design.
func TestDesignIsListed(t *testing.T) {
	contents := read(t, "docs/DESIGN.md")
	for _, doc := range designs(t) {
		if name := strings.TrimPrefix(doc, "docs/"); !strings.Contains(contents, "("+name+")") {
			t.Errorf("docs/DESIGN.md does not list %s", name)
		}
	}
}

// TestLinksInDocuments checks that the files and headings to which documents link exist.
func TestLinksInDocuments(t *testing.T) {
	link := regexp.MustCompile(`\]\(([\w./-]*)(?:#([\w-]+))?\)`)
	checked := 0
	for _, doc := range markdown(t) {
		for _, match := range link.FindAllStringSubmatch(read(t, doc), -1) {
			target, heading := doc, match[2]
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(doc), match[1])
			}
			checked++
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", doc, target)
			} else if heading != "" && !slices.Contains(anchors(read(t, target)), heading) {
				t.Errorf("%s links to a heading %q, which %s does not have", doc, heading, target)
			}
		}
	}
	if checked < 60 {
		t.Errorf("found only %d links", checked)
	}
}

// markdown returns the names of all documents, those of the folders docs and examples included.
func markdown(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(top, path)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names
}

// anchors returns the names by which links refer to the headings of a document.
func anchors(text string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestRequirementsAreJustified checks that design/requirements.md states the purpose of each direct requirement
// in go.mod, and names no others.
func TestRequirementsAreJustified(t *testing.T) {
	const doc = "docs/design/requirements.md"
	named := make(map[string]bool)
	for _, match := range regexp.MustCompile("`([\\w-]+\\.[\\w./-]+/[^`]+)`").FindAllStringSubmatch(read(t, doc), -1) {
		named[match[1]] = true
	}
	required := make(map[string]bool)
	for _, match := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		required[match[1]] = true
		if !named[match[1]] {
			t.Errorf("%s does not list the requirement %s", doc, match[1])
		}
	}
	for path := range named {
		if !required[path] {
			t.Errorf("%s lists %s, which is not a requirement", doc, path)
		}
	}
}
