package arch

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A row of the table of layers in docs/ARCHITECTURE.md.
type row struct {
	packages  []string // paths below internal; dir/* stands for each package in dir
	imports   []string // numbers of rows, and ranges of them
	forbidden []string // other packages, and the hosts of modules
}

var tableRow = regexp.MustCompile(`(?m)^\| (\d+) \| (.+) \| (.*) ?\| (.*) ?\|$`)

func layers(t *testing.T) []row {
	t.Helper()
	quoted := func(cell string) (out []string) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
		return out
	}
	rows := make([]row, 1) // their numbers begin with 1
	for i, m := range tableRow.FindAllStringSubmatch(read(t, "docs/ARCHITECTURE.md"), -1) {
		if m[1] != strconv.Itoa(i+1) {
			t.Fatalf("row %d of the table of layers has the number %s", i+1, m[1])
		}
		rows = append(rows, row{quoted(m[2]), strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' }),
			quoted(m[4])})
	}
	if len(rows) < 10 {
		t.Fatalf("found only %d layers", len(rows)-1)
	}
	return rows
}

// mayImport returns true if the table allows imports of packages in another row.
func (r row) mayImport(other int) bool {
	return slices.ContainsFunc(r.imports, func(numbers string) bool {
		first, last, isRange := strings.Cut(numbers, "–")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		return err1 == nil && err2 == nil && from <= other && other <= to
	})
}

// forbids returns true if the last column of the table names the package, or the host of its module.
func (r row) forbids(imported string) bool {
	return slices.ContainsFunc(r.forbidden, func(bad string) bool {
		return imported == bad || strings.Contains(bad, ".") && strings.HasPrefix(imported, bad+"/")
	})
}

// place finds the row of a package and, as the table lists it, the package to which it belongs. The
// number is 0 for a package that the table lacks.
func place(rows []row, name string) (number int, unit string) {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		for _, listed := range []string{dir, path.Dir(dir) + "/*"} {
			for i, r := range rows {
				if slices.Contains(r.packages, listed) {
					return i, dir
				}
			}
		}
	}
	return 0, ""
}

func TestLayers(t *testing.T) {
	rows, used := layers(t), make(map[string]bool)
	for _, p := range load(t) {
		own, unit := place(rows, p.path)
		used[unit], used[path.Dir(unit)+"/*"] = true, true
		if own == 0 {
			t.Errorf("internal/%s is missing in the table of layers in docs/ARCHITECTURE.md", p.path)
			continue
		}
		for name, file := range p.files {
			for _, imp := range file.Imports {
				imported, _ := strconv.Unquote(imp.Path.Value)
				imported, inside := strings.CutPrefix(imported, "tofu/internal/")
				if rows[own].forbids(imported) {
					t.Errorf("%s imports %s, which row %d of the table of layers forbids", name, imported, own)
				}
				other, otherUnit := place(rows, imported)
				if inside && otherUnit != unit && !rows[own].mayImport(other) {
					t.Errorf("%s imports %s: row %d of the table of layers doesn't allow imports of row %d",
						name, imported, own, other)
				}
			}
		}
	}
	for i, r := range rows {
		for _, name := range r.packages {
			if !used[name] {
				t.Errorf("row %d of the table of layers lists %s, which does not exist", i, name)
			}
		}
	}
}

// TestRows checks how rows are read, with a small table.
func TestRows(t *testing.T) {
	rows := []row{{}, {packages: []string{"dag"}, forbidden: []string{"net", "example.com"}},
		{packages: []string{"plugin", "engine"}, imports: []string{"1"}},
		{packages: []string{"plugin/*"}, imports: []string{"1–2"}},
		{packages: []string{"plugin/all"}, imports: []string{"1", "3"}}}
	for name, want := range map[string]string{
		"dag": "1 dag", "engine/graph": "2 engine", "plugin": "2 plugin", "plugin/files": "3 plugin/files",
		"plugin/files/test": "3 plugin/files", "plugin/all": "4 plugin/all", "planner": "0 ",
	} {
		if number, unit := place(rows, name); strconv.Itoa(number)+" "+unit != want {
			t.Errorf("%s: %d %s, want %s", name, number, unit, want)
		}
	}
	for i, want := range []string{1: "", 2: "1", 3: "12", 4: "13"} {
		got := ""
		for other := range rows {
			if rows[i].mayImport(other) {
				got += strconv.Itoa(other)
			}
		}
		if got != want {
			t.Errorf("row %d may import %q, want %q", i, got, want)
		}
	}
	for imported, want := range map[string]bool{"net": true, "net/url": false, "example.com/x": true, "os": false} {
		if got := rows[1].forbids(imported); got != want {
			t.Errorf("%s: forbidden %t, want %t", imported, got, want)
		}
	}
}
