package command

import (
	"os"
	"path/filepath"
	"testing"

	"tofu/internal/tfdiags"
)

// TestTargetFile checks that an error in a file of targets has the right position, even if the
// file has Windows line endings.
func TestTargetFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "targets")
	text := "# what is deployed first\r\na.b\r\n  é.[\r\nmodule.m"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	targets, err := targetFile(path)
	if len(targets) != 2 || targets[0].String() != "a.b" || targets[1].String() != "module.m" {
		t.Errorf("got %v", targets)
	}
	diags := tfdiags.FromError(err)
	if len(diags) == 0 || diags[0].Subject == nil {
		t.Fatalf("the mistake has no place: %v", diags)
	}
	at := *diags[0].Subject
	if got := text[at.Start.Byte:at.End.Byte]; got != "  é.[" || at.Start.Line != 3 || at.End.Column != 6 {
		t.Errorf("%q at %v", got, at)
	}
}
