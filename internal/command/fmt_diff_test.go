package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestUnifiedDiff applies differences with patch(1) and expects the new text.
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
		diff := unifiedDiff("old/f", "new/f", before, after)
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
