// Command codestats counts properties that make Go code hard to read: large packages, types with
// many methods, wide structs, long lines, code that only passes on diagnostics, and repetitive
// beginnings of comments. It reads the files below the given directories, except tests and
// generated files.
//
//	go run ./testing/codestats internal cmd
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	top := flag.Int("top", 10, "how many rows each list has")
	flag.Parse()
	stats := newStats()
	for _, dir := range flag.Args() {
		if err := stats.addTree(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	stats.print(*top)
}

// stats holds the counts of all files read so far.
type stats struct {
	files, lines, comments int

	packageLines map[string]int // lines by directory
	methods      map[string]int // number of methods by package.Type
	methodFiles  map[string]map[string]bool
	fields       map[string]int // number of struct fields by package.Type
	functions    []function
	longLines    map[int]int // number of longer lines, by column limit
	calls        map[string]int
	openings     map[string]int // number of comments by their first two words
}

// function is a function declaration and the number of its lines.
type function struct {
	name  string
	lines int
}

// columns lists the column limits that lines are compared with. A tab is as wide as tabWidth
// columns.
var columns = []int{100, 120, 140}

const tabWidth = 4

// plumbing lists code fragments that handle diagnostics. Their occurrences are counted.
var plumbing = []string{".HasErrors()", ", more :=", ".Append(", "tfdiags.Diagnostics{tfdiags.Errorf("}

func newStats() *stats {
	return &stats{
		packageLines: map[string]int{}, methods: map[string]int{}, methodFiles: map[string]map[string]bool{},
		fields: map[string]int{}, longLines: map[int]int{}, calls: map[string]int{}, openings: map[string]int{},
	}
}

func (s *stats) addTree(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		case strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".pb.go"):
			return nil
		}
		return s.addFile(path)
	})
}

func (s *stats) addFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	s.files++
	s.addText(path, string(text))
	for _, group := range file.Comments {
		s.addComment(group)
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			s.addFunction(files, path, file.Name.Name, d)
		case *ast.GenDecl:
			s.addTypes(file.Name.Name, d)
		}
	}
	return nil
}

func (s *stats) addText(path, text string) {
	for line := range strings.Lines(text) {
		s.lines++
		s.packageLines[filepath.Dir(path)]++
		width := len([]rune(strings.TrimRight(line, "\n"))) + (tabWidth-1)*strings.Count(line, "\t")
		for _, limit := range columns {
			if width > limit {
				s.longLines[limit]++
			}
		}
	}
	for _, expr := range plumbing {
		s.calls[expr] += strings.Count(text, expr)
	}
}

func (s *stats) addComment(group *ast.CommentGroup) {
	s.comments += len(group.List)
	words := strings.Fields(group.Text())
	if len(words) < 2 {
		return
	}
	second := strings.Trim(words[1], ".,:;")
	s.openings["X "+second]++
	if first := words[0]; first == "What" || first == "Whoever" || first == "Who" {
		s.openings[first+" …"]++
	}
}

func (s *stats) addFunction(files *token.FileSet, path, pkg string, d *ast.FuncDecl) {
	name := pkg + "." + d.Name.Name
	if d.Recv != nil {
		owner := pkg + "." + receiver(d.Recv.List[0].Type)
		name = owner + "." + d.Name.Name
		s.methods[owner]++
		if s.methodFiles[owner] == nil {
			s.methodFiles[owner] = map[string]bool{}
		}
		s.methodFiles[owner][path] = true
	}
	lines := files.Position(d.End()).Line - files.Position(d.Pos()).Line + 1
	s.functions = append(s.functions, function{name, lines})
}

// receiver returns the name of a receiver's type, without a pointer or type parameters.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func (s *stats) addTypes(pkg string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		typ, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if st, ok := typ.Type.(*ast.StructType); ok {
			s.fields[pkg+"."+typ.Name.Name] = st.Fields.NumFields()
		}
	}
}

func (s *stats) print(top int) {
	slices.SortFunc(s.functions, func(a, b function) int { return cmp.Compare(a.lines, b.lines) })
	fmt.Printf("files %d, lines %d, lines of comment %d\n", s.files, s.lines, s.comments)
	if n := len(s.functions); n > 0 {
		at := func(part float64) int { return s.functions[int(part*float64(n-1))].lines }
		fmt.Printf("functions %d: median %d, p90 %d, p99 %d, longest %d lines\n", n, at(0.5), at(0.9), at(0.99), at(1))
	}
	for _, limit := range columns {
		fmt.Printf("lines over %d columns: %d\n", limit, s.longLines[limit])
	}
	for _, expr := range plumbing {
		fmt.Printf("%q: %d\n", expr, s.calls[expr])
	}
	printTop("lines by package", s.packageLines, top, nil)
	printTop("methods by type", s.methods, top, func(name string) string {
		return fmt.Sprintf(" in %d files", len(s.methodFiles[name]))
	})
	printTop("fields by struct", s.fields, top, nil)
	printTop("comments by their opening", s.openings, 3*top, nil)
}

// printTop prints the largest counts. If note is not nil, each count is followed by a note.
func printTop(title string, counts map[string]int, top int, note func(string) string) {
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	fmt.Printf("\n%s\n", title)
	for _, name := range names[:min(top, len(names))] {
		more := ""
		if note != nil {
			more = note(name)
		}
		fmt.Printf("%7d  %s%s\n", counts[name], name, more)
	}
}
