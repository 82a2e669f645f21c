package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCI does what the examples for CI systems do: a change is pushed to a git repository, a clone
// plans it for a review, and the approved plan is applied.
func TestCI(t *testing.T) {
	for _, program := range []string{"bash", "git"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s isn't installed", program)
		}
	}
	top := t.TempDir()
	run := func(dir string, want int, words ...string) string {
		t.Helper()
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = filepath.Join(top, dir)
		cmd.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t",
			"GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
			"TF_CLI_CONFIG_FILE="+os.DevNull)
		out, _ := cmd.CombinedOutput()
		if status := cmd.ProcessState.ExitCode(); status != want {
			t.Fatalf("%s ended with %d:\n%s", strings.Join(words, " "), status, out)
		}
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("", 0, "git", "init", "-q", "--bare", "-b", "main", "host.git")
	run("", 0, "git", "clone", "-q", "host.git", "author")
	if err := os.CopyFS(filepath.Join(top, "author"), os.DirFS("../../examples/ci")); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(top, "state")
	const configuration = "terraform {\n  backend \"local\" {\n    path = %STATE%\n  }\n}\n" +
		"resource \"terraform_data\" \"web\" {\n  input = %INPUT%\n}\n"
	push := func(input string) {
		t.Helper()
		write("author/main.tf", strings.NewReplacer("%STATE%", `"`+filepath.ToSlash(state)+`"`, "%INPUT%", input).
			Replace(configuration))
		run("author", 0, "git", "add", "-A")
		run("author", 0, "git", "commit", "-q", "-m", "change")
		run("author", 0, "git", "push", "-q", "origin", "HEAD:main")
	}
	push(`"one"`)
	run("", 0, "git", "clone", "-q", "host.git", "job")
	run("job", 0, "./plan.sh")
	review, err := os.ReadFile(filepath.Join(top, "job/review.md"))
	if err != nil || !strings.Contains(string(review), "**1 to create**") ||
		!strings.Contains(string(review), "terraform_data.web") {
		t.Errorf("the review is %s, %v", review, err)
	}
	run("job", 0, "./apply.sh")

	// Without changes, the plan says so. A broken configuration fails before anything is written.
	run("job", 0, "./plan.sh")
	review, _ = os.ReadFile(filepath.Join(top, "job/review.md"))
	if !strings.Contains(string(review), "No changes") {
		t.Errorf("the review is %s", review)
	}
	push(`"two"`)
	run("job", 0, "git", "pull", "-q")
	run("job", 0, "./plan.sh")
	run("", 0, "git", "clone", "-q", "host.git", "other")
	run("other", 0, "./plan.sh")
	run("other", 0, "./apply.sh")
	if out := run("job", 1, "./apply.sh"); !strings.Contains(out, "stale") {
		t.Errorf("an old plan is refused, but not as stale:\n%s", out)
	}
	push("nothing")
	run("job", 0, "git", "pull", "-q")
	run("job", 1, "./plan.sh")
}
