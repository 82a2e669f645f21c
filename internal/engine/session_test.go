package engine_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tofu/internal/engine/enginetest"
)

var update = flag.Bool("update", false, "rewrite the golden sections")

// TestSessions runs every archive in testdata (but those of graphs): see enginetest.Run for what its sections mean.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar")
		if strings.HasPrefix(name, "graph/") || strings.HasPrefix(name, "diagnostics/") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, path, func(t *testing.T, in *txtar.Archive) (out *txtar.Archive, err error) {
				dir := t.TempDir()
				synctest.Test(t, func(*testing.T) { out, err = enginetest.Run(in, dir) })
				return out, err
			})
		})
	}
}

// golden runs an archive and compares the result with it, or rewrites it.
func golden(t *testing.T, path string, run func(*testing.T, *txtar.Archive) (*txtar.Archive, error)) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, txtar.Parse(want))
	if err != nil {
		t.Fatal(err)
	}
	text := txtar.Format(got)
	if bytes.Equal(text, want) {
		return
	}
	if *update {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error(cmp.Diff(string(want), string(text)))
}
