package configs

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/testenv/diagtest"
	"tofu/internal/tfdiags"
)

// TestDiagnostics loads each configuration in testdata/*.txtar. Comments in the files are the
// expected diagnostics; see diagtest.
func TestDiagnostics(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, diags := loadArchive(archive, nil)
			diagtest.Check(t, archive, diags, "")
		})
	}
}

// loadArchive loads the configuration in an archive, including its local modules. Without errors it
// also checks the arguments of module calls.
func loadArchive(archive *txtar.Archive, opts *LoadOptions) (*Config, tfdiags.Diagnostics) {
	files := &Snapshot{Files: map[string][]byte{}, Modules: []SnapshotModule{{Dir: "."}}}
	for _, f := range archive.Files {
		files.Files[f.Name] = f.Data
	}
	if opts == nil {
		opts = &LoadOptions{}
	}
	opts.Parser = NewParser(files.FS())
	opts.Resolve = func(_ context.Context, req *ModuleRequest) (found ResolvedModule, err error) {
		if req.Source.Kind != addrs.LocalModule {
			return found, nil
		}
		return ResolvedModule{Dir: req.LocalDir()}, nil
	}
	var diags tfdiags.Diagnostics
	cfg, err := LoadRoot(context.Background(), ".", opts, diags.Add)
	if err == nil {
		err = cfg.CheckArguments()
	}
	return cfg, diags.AppendError(err)
}

// TestReferencesInJSON checks that errors say how a reference is written in JSON, where it was written as a template.
func TestReferencesInJSON(t *testing.T) {
	for text, want := range map[string]int{
		`{"resource": {"a": {"b": {"depends_on": ["${c.d}"]}}}}`:                            1,
		`{"resource": {"a": {"b": {"depends_on": [" ${c.d} "]}}}}`:                          1,
		`{"resource": {"a": {"b": {"lifecycle": {"ignore_changes": ["${c.d}"]}}}}}`:         1,
		`{"resource": {"a": {"b": {"lifecycle": {"replace_triggered_by": ["${c.d}"]}}}}}`:   1,
		`{"output": {"o": {"value": 1, "depends_on": ["${c.d}"]}}}`:                         1,
		`{"moved": [{"from": "${c.d}", "to": "${c.d}"}]}`:                                   2,
		`{"removed": [{"from": "${c.d}"}]}`:                                                 1,
		`{"import": [{"to": "${c.d}", "id": "x"}]}`:                                         1,
		`{"resource": {"a": {"b": {"depends_on": ["x${c.d}", "${c.d}${c.d}", "${1}"]}}}}`:   0,
		`{"resource": {"a": {"b": {"depends_on": ["c.d"]}}, "c": {"d": {}}}}`:               0,
		`{"resource": {"a": {"b": {"x": "${c.d}", "depends_on": ["${c.d ? [] : null}"]}}}}`: 0,
	} {
		_, diags := loadArchive(txtar.Parse([]byte("-- main.tf.json --\n"+text+"\n")), nil)
		got := 0
		for _, d := range diags {
			if d.Detail == `In JSON syntax, a reference is written without ${ and }, as "c.d".` {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %v", text, diags)
		}
	}
}
