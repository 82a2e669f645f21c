package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/atomicfile"
)

// names returns the names of the files in dir, separated by spaces.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for text, write := range map[string]func() error{
		"one":   func() error { return atomicfile.Write(path, []byte("one"), 0o600) },
		"two":   func() error { return atomicfile.WriteSynced(path, []byte("two"), 0o600) },
		"three": func() error { return atomicfile.Copy(path, strings.NewReader("three"), 0o600) },
	} {
		if err := write(); err != nil {
			t.Error(err)
		}
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%q %v %v %v", got, info.Mode(), err, statErr)
		}
	}
	if err := atomicfile.Copy(path, failing{}, 0o600); !errors.Is(err, errFailing) {
		t.Errorf("Copy with a failing reader: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || len(got) == 0 || names(t, dir) != "f" {
		t.Errorf("%q, %v, %s", got, err, names(t, dir))
	}
	if err := atomicfile.Write(filepath.Join(dir, "f", "below"), nil, 0o600); err == nil {
		t.Error("writing below a file succeeded")
	}
}

var errFailing = errors.New("no more")

type failing struct{}

func (failing) Read(p []byte) (int, error) { return copy(p, "some"), errFailing }

// TestRewrite checks that links and permissions are kept.
func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	if err := atomicfile.Rewrite(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", link); err != nil {
		t.Skip(err)
	}
	if err := atomicfile.Rewrite(link, []byte("again")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || string(got) != "again" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %v %v %v", got, info.Mode(), err, statErr)
	}
	if to, err := os.Readlink(link); err != nil || to != "f" {
		t.Errorf("the link has the target %q, %v", to, err)
	}
	if err := atomicfile.Rewrite(dir, nil); err == nil || names(t, dir) != "f link" {
		t.Errorf("writing to a directory: %v, %s", err, names(t, dir))
	}
}

// TestOverwrite checks that nothing is left of longer old content, and that a missing file is not
// created.
func TestOverwrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := atomicfile.Overwrite(path, []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("a longer text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Overwrite(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "new" {
		t.Errorf("%q %v", got, err)
	}
}

// TestRemoveStale checks that leftovers of killed processes are removed, but not directories in use
// or those of other programs.
func TestRemoveStale(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "a", "b")
	dead, err := atomicfile.TempDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := atomicfile.TempDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(parent, ".tmp-other")
	for _, dir := range []string{filepath.Join(dead, "x", "y"), other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(busy, "download"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	for _, path := range []string{filepath.Join(dead, "x"), dead, busy, other} {
		if err := os.Chtimes(path, yesterday, yesterday); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := atomicfile.TempDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("leftovers of a killed process were not removed: %v", err)
	}
	for _, path := range []string{busy, other, fresh} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
