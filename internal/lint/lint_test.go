package lint_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tofu/internal/configs"
	"tofu/internal/lint"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestParse checks which rules a selection applies, by what they find in a module in which each finds
// something.
func TestParse(t *testing.T) {
	archive := txtar.Parse([]byte(`-- main.tf --
variable "v" {}
locals {
  l = 1
}
resource "a_b" "c" {
  count = true ? 1 : 0
  at    = timestamp()
}
`))
	const all = "count-instead-enabled impurefunc no-type-variable unused-local unused-variable"
	for _, test := range []struct{ options, want string }{
		{"all", all},
		{"core:all", all},
		{"core:unused-local", "unused-local"},
		{"core:confusing", "no-type-variable unused-local unused-variable"},
		{"all,!core:confusing", "count-instead-enabled impurefunc"},
		{"all,!core:confusing,core:unused-local", "count-instead-enabled impurefunc unused-local"},
		{"core:unused-local,!core:unused-local", ""},
		{"core:confusing,!core:all", "no-type-variable unused-local unused-variable"},
		{"core:later", ""},
		{"core:impurefunc; core:unused-local", "impurefunc unused-local"},
		{"all; core:unused-local,!core:improvement",
			"impurefunc no-type-variable unused-local unused-variable"},
	} {
		var s *lint.Selection
		for _, option := range strings.Split(test.options, "; ") {
			var err error
			if s, err = lint.Parse(s, option); err != nil {
				t.Fatalf("%s: %v", option, err)
			}
		}
		var ids []string
		for _, d := range check(t, archive, s) {
			if _, id, ok := strings.Cut(d.Summary, "(core:"); ok {
				ids = append(ids, strings.TrimSuffix(id, ")"))
			}
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.options, got, test.want)
		}
	}
	for _, bad := range []string{"", "!all", "core:", "a:b:c", "core: x", "everything"} {
		if _, err := lint.Parse(nil, bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
	if got := check(t, archive, nil); got != nil {
		t.Errorf("without an option: %v", got)
	}
	if got := check(t, archive, &lint.Selection{Destruction: true}); len(got) != 1 || got[0].Summary != "Linting skipped" {
		t.Errorf("of a destruction: %v", got)
	}
}

// TestGolden checks what all rules find in the files of each archive.
func TestGolden(t *testing.T) {
	testenv.Golden(t, testenv.Glob(t, "testdata/*.txtar"), func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
		last := &archive.Files[len(archive.Files)-1]
		s, err := lint.Parse(nil, "all")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, d := range check(t, archive, s)[1:] {
			fmt.Fprintf(&out, "%s: %s: %s\n", tfdiags.Place(*d.Subject), d.Summary, d.Detail)
		}
		last.Data = []byte(out.String())
		return archive
	})
}

func check(t *testing.T, archive *txtar.Archive, s *lint.Selection) tfdiags.Diagnostics {
	t.Helper()
	files := &configs.Snapshot{Files: map[string][]byte{}}
	for _, f := range archive.Files {
		if f.Name != "golden" {
			files.Files[f.Name] = f.Data
		}
	}
	parser := configs.NewParser(files.FS())
	root, err := configs.LoadRoot(context.Background(), ".", &configs.LoadOptions{Parser: parser, Unset: true}, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return lint.Check(root, parser, s)
}
