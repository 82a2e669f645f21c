package testenv

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite golden files")

// Glob returns the files that match a pattern. The test fails if there are none.
func Glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return files
}

// Golden runs a subtest for each archive. run returns the archive with the actual results. If it
// differs from the file, the test fails or, with the flag -update, the file is overwritten.
func Golden(t *testing.T, files []string, run func(*testing.T, *txtar.Archive) *txtar.Archive) {
	t.Helper()
	for _, path := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), ".txtar")
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, path, want, txtar.Format(run(t, txtar.Parse(want))))
		})
	}
}

// GoldenText checks that a file contains text. With the flag -update, it overwrites the file
// instead.
func GoldenText(t testing.TB, path, text string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, path, want, []byte(text))
}

func compare(t testing.TB, path string, want, got []byte) {
	t.Helper()
	switch {
	case bytes.Equal(got, want):
	case *update:
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s (-want +got):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}
