package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleases uses what earlier releases have left behind: a journal, states, saved plans and
// working directories. testdata/releases/make.sh wrote
// them.
func TestReleases(t *testing.T) {
	releases, err := filepath.Glob("testdata/releases/*.*.*")
	if err != nil || len(releases) == 0 {
		t.Fatal(releases, err)
	}
	for _, from := range releases {
		t.Run(filepath.Base(from), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			r := &releaseTest{testEstate: &testEstate{T: t}, dir: dir}
			t.Run("killed", r.killed)
			t.Run("planned", r.planned)
			t.Run("estate", r.estate)
		})
	}
}

type releaseTest struct {
	*testEstate
	dir  string
	asks bool // whether plans of the release are refused
}

// prints checks that a command succeeds and prints a text.
func (r *releaseTest) prints(t *testing.T, dir, want string, args ...string) {
	t.Helper()
	if out, status := r.run(dir, args...); status != 0 || !strings.Contains(out, want) {
		t.Errorf("tofu %s ended with %d and doesn't say %q:\n%s", strings.Join(args, " "), status, want, out)
	}
}

// killed continues after a run that was killed during a creation.
func (r *releaseTest) killed(t *testing.T) {
	dir := filepath.Join(r.dir, "killed")
	journal := filepath.Join(dir, "terraform.tfstate.journal")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	// A journal of a version that is not known yet is left as it is.
	newer := bytes.Replace(text, []byte(`"journal":1,`), []byte(`"journal":99,`), 1)
	if err := os.WriteFile(journal, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := r.run(dir, "apply", "-auto-approve", "-var=command=true")
	if left, _ := os.ReadFile(journal); status != 1 || !bytes.Equal(left, newer) {
		t.Errorf("with a newer journal, an apply ended with %d:\n%s", status, out)
	}
	if err := os.WriteFile(journal, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.prints(t, dir, "terraform_data.first", "state", "list")
	r.prints(t, dir, "Apply complete", "apply", "-auto-approve", "-var=command=true")
	r.prints(t, dir, "No changes", "plan", "-detailed-exitcode", "-var=command=true")
}

// refused reports whether a command that uses a plan asks for a new one, as it may in another 0.x.
func (r *releaseTest) refused(dir string, args ...string) bool {
	out, status := r.run(dir, args...)
	return status == 1 && strings.Contains(strings.Join(strings.Fields(out), " "), "create a new plan")
}

// planned applies a saved plan in a workspace, or what it planned, and compares the workspace with the
// default one.
func (r *releaseTest) planned(t *testing.T) {
	dir := filepath.Join(r.dir, "planned")
	r.prints(t, dir, "prod", "workspace", "show")
	if r.asks = r.refused(dir, "apply", "grow.plan"); r.asks {
		r.prints(t, dir, "1 added", "apply", "-no-color", "-auto-approve", "-var=size=3")
	} else {
		r.prints(t, dir, `terraform_data.many[2]`, "show", "-no-color", "grow.plan")
		r.prints(t, dir, `"format_version"`, "show", "-json", "grow.plan")
	}
	r.prints(t, dir, "No changes", "plan", "-detailed-exitcode", "-var=size=3")
	r.prints(t, dir, `terraform_data.by_key["two words"]`, "state", "list")
	r.prints(t, dir, "default", "workspace", "select", "default")
	r.prints(t, dir, "No changes", "plan", "-detailed-exitcode")
}

// estate shows a plan of two root modules. It can be applied only where it was made, because the
// states are local files.
func (r *releaseTest) estate(t *testing.T) {
	dir := filepath.Join(r.dir, "estate")
	if !r.asks {
		r.prints(t, dir, "terraform_data.b", "show", "all.plan")
	}
	out, status := r.run(dir, "roots", "apply", "all.plan")
	if status != 1 || !strings.Contains(out, "The plan is for other root modules") {
		t.Errorf("applying a plan in another directory ended with %d:\n%s", status, out)
	}
	r.prints(t, dir, "2 added", "roots", "apply", "-auto-approve", "-no-color")
	r.prints(t, dir, "", "roots", "plan", "-detailed-exitcode")
	r.prints(t, filepath.Join(dir, "two"), "terraform_data.b", "state", "list")
}
