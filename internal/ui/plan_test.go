package ui

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/states"
	"tofu/internal/testenv"
	"tofu/internal/version"
)

// golden runs a subtest for each archive in a directory. run gets the sections of the archive
// that are its input, and returns the sections to compare.
func golden(t *testing.T, folder string, run func(t *testing.T, files map[string]string) map[string]string) {
	t.Helper()
	testenv.Golden(t, testenv.Glob(t, "testdata/"+folder+"/*.txtar"),
		func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
			files := make(map[string]string)
			for _, f := range archive.Files {
				files[f.Name] = string(f.Data)
			}
			got := run(t, files)
			for i, f := range archive.Files {
				if text, ok := got[f.Name]; ok {
					archive.Files[i].Data = []byte(text)
				}
			}
			return archive
		})
}

func testSchemas(t testing.TB) Schemas {
	t.Helper()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	return lookup(loadSchemas(t, text))
}

func TestPlan(t *testing.T) {
	schemas := testSchemas(t)
	golden(t, "plan", func(t *testing.T, files map[string]string) map[string]string {
		view := loadPlan(t, []byte(files["plan.json"]), schemas)
		var human, document bytes.Buffer
		NewHuman(Options{Out: &human}).Plan(view)
		if err := WritePlan(&document, view, "1.12.6", version.Info{Name: "tofu", Version: "1"}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(human.String(), "hush") {
			t.Error("a secret is shown")
		}
		return map[string]string{"human": human.String(), "document": indented(t, document.Bytes())}
	})
}

// indented returns a document as several lines, with short values on one line.
func indented(t *testing.T, text []byte) string {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return breakLines(doc, "") + "\n"
}

func breakLines(doc any, prefix string) string {
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	if len(prefix)+len(b) < 140 {
		return string(b)
	}
	switch doc := doc.(type) {
	case map[string]any:
		var lines []string
		for _, name := range sortedNames(doc) {
			lines = append(lines, prefix+"  "+string(states.AppendString(nil, name))+": "+
				breakLines(doc[name], prefix+"  "))
		}
		return "{\n" + strings.Join(lines, ",\n") + "\n" + prefix + "}"
	case []any:
		var lines []string
		for _, e := range doc {
			lines = append(lines, prefix+"  "+breakLines(e, prefix+"  "))
		}
		return "[\n" + strings.Join(lines, ",\n") + "\n" + prefix + "]"
	}
	return string(b)
}
