package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompletionLines checks that the lines for the files of each shell start the program,
// regardless of the characters in its path.
func TestCompletionLines(t *testing.T) {
	for shell, run := range map[string]string{
		"bash": `. "$0" && eval "set -- $(complete -p tofu)" && eval "$5"`,
		"zsh":  `. "$0" && eval "set -- ${_comps[tofu]}" && eval "$5"`,
		"fish": `source $argv[1]; complete -C "tofu com"`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s isn't installed", shell)
			}
			dir := filepath.Join(t.TempDir(), `it's $HOME (2)`)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(dir, "tofu")
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho completed\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, c := range completions {
				if !strings.Contains(c.file, shell) {
					continue
				}
				file := filepath.Join(dir, "lines")
				if err := os.WriteFile(file, []byte(fmt.Sprintf(c.line, c.quote(shellWord(program)))+"\n"),
					0o644); err != nil {
					t.Fatal(err)
				}
				out, err := exec.Command(path, "-c", run, file).CombinedOutput()
				if err != nil || !strings.Contains(string(out), "completed") {
					t.Errorf("%s: %v\n%s", c.file, err, out)
				}
			}
		})
	}
}
