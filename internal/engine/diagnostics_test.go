package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/states"
	"tofu/internal/testenv/diagtest"
	"tofu/internal/tfdiags"
)

// TestDiagnostics validates each configuration in testdata/diagnostics and, if it has no errors,
// plans it. Comments in the configuration name the expected diagnostics (see package diagtest). The
// plan sets no variables, so those without a default have no value.
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
			var diags tfdiags.Diagnostics
			env := session.Env()
			env.Warn = diags.Add
			cfg, err := loadArchive(archive, diags.Add)
			if err == nil {
				err = engine.Validate(context.Background(), cfg, env)
			}
			if err == nil {
				_, err = engine.Plan(context.Background(), cfg, states.New(), env, nil)
			}
			diagtest.Check(t, archive, diags.AppendError(err), "")
		})
	}
}

// loadArchive loads the configuration and modules in an archive.
func loadArchive(archive *txtar.Archive, warn tfdiags.Sink) (*configs.Config, error) {
	files := &configs.Snapshot{Files: map[string][]byte{}, Modules: []configs.SnapshotModule{{Dir: "."}}}
	for _, f := range archive.Files {
		files.Files[f.Name] = f.Data
	}
	return configs.LoadRoot(context.Background(), ".", &configs.LoadOptions{
		Parser: configs.NewParser(files.FS()), WorkDir: "/work",
		Resolve: func(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		},
	}, warn)
}

// FuzzEvaluate loads, validates and plans an archive of arbitrary files, which may be invalid.
// Nothing may panic.
func FuzzEvaluate(f *testing.F) {
	files, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("-- main.tf --\n" +
		`output "o" { value = { for k, v in [1, null, "x"] : k => "${v}"... if k != v } }` + "\n"))
	f.Add([]byte("-- main.tf --\nlocals {\n  a = [[[{}]]][*][0].b\n  b = try(local.a.c[0], \"%{ for x in " +
		"local.a }${x}%{ endfor }\")\n}\noutput \"b\" { value = local.b }\n"))
	f.Add([]byte("-- main.tf.json --\n" +
		`{"locals": {"a": "${[for x in local.b : x...]}", "b": ["${null}", {"c": "%{if true}x%{endif}"}]}, "output": {"o": {"value": "${local.a}"}}}` + "\n"))
	// Skip inputs that are slow to evaluate or that read files of this machine.
	many := regexp.MustCompile(`[0-9]{4}|[eE][0-9]|file|path`)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 4096 || many.Match(text) {
			t.Skip()
		}
		cfg, err := loadArchive(txtar.Parse(text), tfdiags.Drop)
		if err != nil {
			return
		}
		env := enginetest.NewSession(t.TempDir()).Env()
		if engine.Validate(context.Background(), cfg, env) != nil {
			return
		}
		_, _ = engine.Plan(context.Background(), cfg, states.New(), env, nil)
	})
}
