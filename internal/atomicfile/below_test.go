package atomicfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/atomicfile"
)

func TestCheckBelow(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"data/own/deep", "elsewhere"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"linked": "data", "data/out": "../elsewhere", "data/own/up": "..", "data/itself": ".", "data/in": "own",
		"data/dangling": "../nothing",
		"data/loop":     "loop",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	const out = "leads through a symbolic link"
	for _, test := range []struct{ root, path, error string }{
		{"data", "data/own", ""},
		{"data", "data/own/deep/missing/file", ""},
		{"data", "data/in/deep", ""},
		{"linked", "linked/own", ""},
		{"linked", "linked/out", out},
		{"missing", "missing/x", ""},
		{".", "data/own", ""},
		{".", "data/out", ""}, // still below the root
		{"./data/", "data/own", ""},
		{"data", "data/out", out},
		{"data", "data/out/x/y", out},
		{"data", "data/itself", out},
		{"data", "data/own/up", out},
		{"data", "data/dangling/x", "broken symbolic link"},
		{"data", "data/loop", "resolving symbolic links in"},
	} {
		err := atomicfile.CheckBelow(test.root, filepath.FromSlash(test.path))
		if err == nil && test.error != "" || err != nil &&
			(test.error == "" || !strings.Contains(err.Error(), test.error)) {
			t.Errorf("CheckBelow(%q, %q) = %v, want %q", test.root, test.path, err, test.error)
		}
	}
}

func TestThroughLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("real/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", "linked"); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	if err := os.Symlink("nothing", "real/dangling"); err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs("linked")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		".": false, "real": false, "real/sub": false, "missing/x": false,
		"linked": true, "linked/sub": true, "linked/missing/x": true, "./linked/": true, "real/dangling/x": true,
		abs: false,
	} {
		if got := atomicfile.ThroughLink(filepath.FromSlash(path)); got != want {
			t.Errorf("ThroughLink(%q) = %v", path, got)
		}
	}
}

// TestWriteOverLinks checks that writing to a link to a file or device replaces the link and leaves
// its target unchanged.
func TestWriteOverLinks(t *testing.T) {
	dir := t.TempDir()
	for name, write := range map[string]func(path string, content []byte, perm os.FileMode) error{
		"Write": atomicfile.Write, "WriteSynced": atomicfile.WriteSynced,
	} {
		for _, target := range []string{"victim", "/dev/full"} {
			path := filepath.Join(dir, name+filepath.Base(target))
			if err := os.WriteFile(filepath.Join(dir, "victim"), []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, path); err != nil {
				t.Skip("no symbolic links: ", err)
			}
			if err := write(path, []byte("new"), 0o600); err != nil {
				t.Errorf("%s over a link to %s: %v", name, target, err)
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s over a link to %s: got %v, %v", name, target, info, err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "victim")); err != nil || string(got) != "precious" {
				t.Errorf("%s wrote %q into the target, %v", name, got, err)
			}
		}
	}
}
