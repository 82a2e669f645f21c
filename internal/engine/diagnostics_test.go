package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/tfdiags/diagtest"
)

// TestDiagnostics validates and, when that finds no error, plans each configuration in testdata/diagnostics. Its comments say what is
// reported: see diagtest. Variables without a default have no value when planning.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			session := enginetest.NewSession(t.TempDir())
			cfg, diags := loadArchive(archive)
			if !diags.HasErrors() {
				diags = diags.Append(engine.Validate(context.Background(), cfg, session.Env()))
			}
			if !diags.HasErrors() {
				_, more := engine.Plan(context.Background(), cfg, states.New(), session.Env(), nil)
				diags = diags.Append(more)
			}
			diagtest.Check(t, archive, diags, "")
		})
	}
}

// loadArchive loads the configuration in an archive, its modules in place.
func loadArchive(archive *txtar.Archive) (*configs.Config, tfdiags.Diagnostics) {
	files := &configs.Snapshot{Files: map[string][]byte{}, Modules: []configs.SnapshotModule{{Dir: "."}}}
	for _, f := range archive.Files {
		files.Files[f.Name] = f.Data
	}
	return configs.LoadRoot(".", &configs.LoadOptions{
		Parser: configs.NewParser(files.FS()), WorkDir: "/work",
		Resolve: func(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) { return req.LocalDir(), "", nil },
	})
}
