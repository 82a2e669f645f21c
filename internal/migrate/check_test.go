package migrate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/configs"
	"tofu/internal/migrate"
	"tofu/internal/testenv"
)

// TestGolden checks the root module in the directory app of each archive, or in ".".
func TestGolden(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
		last := &archive.Files[len(archive.Files)-1]
		if last.Name != "golden" {
			t.Fatal("the last section must be golden")
		}
		work := t.TempDir()
		for _, f := range archive.Files[:len(archive.Files)-1] {
			testenv.WriteFile(t, filepath.Join(work, filepath.FromSlash(f.Name)), string(f.Data))
		}
		back, err := os.Getwd()
		if err == nil {
			err = os.Chdir(work)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chdir(back) }() // the golden files are there
		dir := "."
		if _, err := os.Stat("app"); err == nil {
			dir = "app"
		}
		last.Data = []byte(report(dir))
		return archive
	})
}

func report(dir string) string {
	notInstalled := func(context.Context, *configs.ModuleRequest) (configs.ResolvedModule, error) {
		return configs.ResolvedModule{}, nil
	}
	r, err := migrate.Check(context.Background(), &migrate.Options{Dir: dir, Parser: configs.NewParser(nil),
		Resolve: notInstalled})
	if err != nil {
		return err.Error() + "\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "must change: %t\n", r.Must())
	for _, f := range r.Findings {
		fmt.Fprintf(&out, "%s %s %s\n", f.Kind, f.Place(), f.Summary)
	}
	return out.String()
}
