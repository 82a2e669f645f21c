package diff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUnifiedDiff checks that patch(1) turns the old text into the new one with the differences.
func TestUnifiedDiff(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("there is no patch program")
	}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,2}`), 1, 30)
		before := strings.Join(lines.Draw(t, "before"), "\n") + "\n"
		after := strings.Join(lines.Draw(t, "after"), "\n") + "\n"
		diff := Unified("old/f", "new/f", before, after)
		if (diff == "") != (before == after) {
			t.Fatalf("differences of %q and %q: %q", before, after, diff)
		}
		if diff == "" {
			return
		}
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", path)
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, diff)
		}
		if got, _ := os.ReadFile(path); string(got) != after {
			t.Fatalf("patched to %q, want %q; differences:\n%s", got, after, diff)
		}
	})
}

// TestSmallDifferences checks that equal lines between two changes are kept. It also checks that an
// insertion or deletion that could come before or after equal lines comes after them.
func TestSmallDifferences(t *testing.T) {
	for _, tc := range []struct{ before, after, want string }{
		{"x=1\n", "x = 1\n", "@@ -1 +1 @@\n-x=1\n+x = 1\n"},
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a\n\nb\n", "A\n\nB\n", "@@ -1,3 +1,3 @@\n-a\n+A\n \n-b\n+B\n"},
		{"x\n}\ny\n}\n", "x\n}\nz\n}\ny\n}\n", "@@ -1,4 +1,6 @@\n x\n }\n+z\n+}\n y\n }\n"},
		{"p\n}\n}\nq\n", "p\n}\nq\n", "@@ -1,4 +1,3 @@\n p\n }\n-}\n q\n"},
	} {
		if got := Unified("old", "new", tc.before, tc.after); got != "--- old\n+++ new\n"+tc.want {
			t.Errorf("differences of %q and %q:\n%s", tc.before, tc.after, got)
		}
	}
}
