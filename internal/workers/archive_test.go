package workers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTidy(t *testing.T) {
	dir := t.TempDir()
	name := func(n string) string { return strings.Repeat(n, 32) }
	old := time.Now().Add(-unused - time.Hour)
	for path, at := range map[string]time.Time{name("a"): old, name("b"): time.Now(), temporaryName + "1": old,
		temporaryName + "2": time.Now(), "mine": old, strings.Repeat("a", 31): old, strings.Repeat("g", 32): old} {
		if err := os.MkdirAll(filepath.Join(dir, path, ".terraform"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, name("c"))
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if err := tidy(dir); err != nil {
		t.Fatal(err)
	}
	var got []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{temporaryName + "2", strings.Repeat("a", 31), name("b"), name("c"), strings.Repeat("g", 32), "mine"}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v, %v", got, want, err)
	}
	if err := tidy(filepath.Join(dir, "missing")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Error(err)
	}
}

// TestArchives unpacks what was added, twice, and other content of the same files elsewhere.
func TestArchives(t *testing.T) {
	b := newBench(t)
	top, into := t.TempDir(), t.TempDir()
	write := func(text string) string {
		paths := []string{filepath.Join(top, "app", "main.tf"), filepath.Join(top, "run.sh")}
		if err := os.MkdirAll(filepath.Dir(paths[0]), 0o700); err != nil {
			t.Fatal(err)
		}
		a := NewArchives(top)
		for i, mode := range []fs.FileMode{0o600, 0o700} {
			if err := os.WriteFile(paths[i], []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		name, err := a.Add(paths, nil)
		if err == nil {
			err = b.Upload(t.Context(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	one, two := write("one"), write("two")
	for _, test := range []struct{ archive, text string }{{one, "one"}, {two, "two"}, {one, "one"}} {
		dir, err := b.unpack(t.Context(), test.archive, into)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "app", "main.tf"))
		info, statErr := os.Stat(filepath.Join(dir, "run.sh"))
		if string(text) != test.text || err != nil || statErr != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("got %q, %v, %v, %v", text, err, info, statErr)
		}
	}
	if _, err := NewArchives(filepath.Join(top, "app")).Add([]string{filepath.Join(top, "run.sh")}, nil); err == nil {
		t.Error("a file outside was added")
	}
}
