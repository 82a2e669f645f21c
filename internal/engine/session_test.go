package engine_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"tofu/internal/engine/enginetest"
)

var update = flag.Bool("update", false, "rewrite the golden sections")

// TestSessions runs every archive in testdata: see enginetest.Run for what its sections mean.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "testdata/"), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := enginetest.Run(txtar.Parse(want), t.TempDir())
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
		})
	}
}
