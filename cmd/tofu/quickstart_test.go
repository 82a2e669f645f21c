package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tofu/internal/testenv"
)

// TestQuickstart runs the example that newcomers see first. Its output must stay short enough to be
// read, and the page must be kept.
func TestQuickstart(t *testing.T) {
	mirror := "../../build/mirror"
	if _, err := os.Stat(mirror); err != nil {
		testenv.Missing(t, "the test providers", "run make providers")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash isn't installed")
	}
	program, err := exec.LookPath("tofu")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	cmd := exec.Command(bash, "../../examples/quickstart/run.sh")
	cmd.Env = append(os.Environ(), "TOFU="+program, "PAGE="+page)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("\n")); n >= 60 {
		t.Errorf("the output has %d lines:\n%s", n, out)
	}
	for _, want := range []string{"9 to add", "Changed outside of OpenTofu", `var.accent: was set for this plan to "tomato"`,
		page, "9 destroyed"} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("<html")) {
		t.Errorf("the page has %d bytes, %v", len(text), err)
	}
}
