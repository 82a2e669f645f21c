package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/testenv"
)

// TestReference checks that docs/CLI.md is up to date.
func TestReference(t *testing.T) {
	var b bytes.Buffer
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	testenv.GoldenText(t, "../../docs/CLI.md", b.String())
}

// TestManual checks the manual pages: there is one for each command with all its options, and mandoc
// finds no mistakes in them.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if err := WriteManual(dir); err != nil {
		t.Fatal(err)
	}
	for _, e := range documentedCommands(commands(), nil) {
		text, err := os.ReadFile(filepath.Join(dir, e.page()+".1"))
		if err != nil {
			t.Fatal(err)
		}
		if e.New == nil {
			continue
		}
		for _, o := range optionsOf(e.Command) {
			if !strings.Contains(string(text), ".B "+roff(o.left)+"\n") {
				t.Errorf("the page of %s lacks %s", e.name(), o.left)
			}
		}
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		testenv.Missing(t, "mandoc", "install it, for example with testing/setup.sh")
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	out, _ := exec.Command(mandoc, append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
	for line := range strings.SplitSeq(string(out), "\n") {
		if line != "" && !strings.Contains(line, "missing date") {
			t.Error(line)
		}
	}
}
