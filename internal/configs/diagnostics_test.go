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
