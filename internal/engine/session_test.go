package engine_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"tofu/internal/engine/enginetest"
	"tofu/internal/testenv"
)

// TestSessions runs the archives in testdata, except those of TestDiagnostics. enginetest.Run
// explains the sections of an archive.
func TestSessions(t *testing.T) {
	files := slices.DeleteFunc(testenv.Glob(t, "testdata/*/*.txtar"), func(path string) bool {
		return strings.HasPrefix(path, "testdata/diagnostics/")
	})
	testenv.Golden(t, files, func(t *testing.T, in *txtar.Archive) (out *txtar.Archive) {
		t.Parallel()
		dir := t.TempDir()
		var err error
		synctest.Test(t, func(*testing.T) { out, err = enginetest.Run(in, dir) })
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}
