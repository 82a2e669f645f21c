package roots_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/testenv"
)

// keptIn returns a root module whose state is in a local file.
func keptIn(path string) string {
	return fmt.Sprintf("terraform {\n  backend \"local\" {\n    path = %q\n  }\n}\n%s", path, output)
}

// TestOneState checks whether two root modules are recognized to have one state.
func TestOneState(t *testing.T) {
	link := func(target, path string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Symlink(target, path); err != nil {
				t.Skip("no symbolic links: ", err)
			}
		}
	}
	write := func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		a, b    string // paths of the states, relative to the directories of the root modules
		prepare func(*testing.T)
		one     bool
	}{
		"one path":                 {a: "../st/x", b: "../st/../st/x", one: true},
		"linked directory":         {a: "../st/x", b: "../lnk/x", prepare: link("st", "lnk"), one: true},
		"below a linked directory": {a: "../st/new/deep/x", b: "../lnk/new/deep/x", prepare: link("st", "lnk"), one: true},
		"linked twice":             {a: "../l2/x", b: "../l1/x", one: true, prepare: func(t *testing.T) { link("st", "l1")(t); link("l1", "l2")(t) }},
		"linked file":              {a: "../st/x", b: "y", prepare: link("../st/x", "b/y"), one: true},
		"link to a state":          {a: "../st/x", b: "y", one: true, prepare: func(t *testing.T) { link("../st/x", "b/y")(t); write(t, "st/x") }},
		"hard link": {a: "../st/x", b: "../st/y", one: true, prepare: func(t *testing.T) {
			write(t, "st/x")
			if err := os.Link("st/x", "st/y"); err != nil {
				t.Skip("no hard links: ", err)
			}
		}},
		"mounted directory": {a: "../st/deep/x", b: "../lnk/deep/x", one: true, prepare: func(t *testing.T) {
			if err := os.Mkdir("lnk", 0o755); err != nil {
				t.Fatal(err)
			}
			dir, err := filepath.Abs("lnk")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("mount", "--bind", "st", dir).CombinedOutput(); err != nil {
				t.Skipf("no bind mounts: %s", out)
			}
			t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
		}},
		"two names in one directory": {a: "../st/x", b: "../lnk/y", prepare: link("st", "lnk")},
		"equal copies":               {a: "../st/x", b: "../st/y", prepare: func(t *testing.T) { write(t, "st/x"); write(t, "st/y") }},
		"link to another file":       {a: "../st/x", b: "y", prepare: link("../st/z", "b/y")},
		"broken circle of links":     {a: "../st/x", b: "y", prepare: link("y", "b/y")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, dir := range []string{"st", "b"} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.prepare != nil {
				c.prepare(t)
			}
			testenv.Unpack(t, ".", fmt.Sprintf("-- a/main.tf --\n%s-- b/main.tf --\n%s", keptIn(c.a), keptIn(c.b)))
			_, err := again(t)
			one := err != nil && strings.Contains(err.Error(), "Two root modules with one state")
			if one != c.one || err != nil && !one {
				t.Errorf("got %v, want one state: %v", err, c.one)
			}
		})
	}
}

// TestLinkedDirectories checks that a directory and links to it count as one.
func TestLinkedDirectories(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("real", "lnk"); err != nil {
		t.Skip("no symbolic links: ", err)
	}
	testenv.Unpack(t, ".", "-- real/main.tf --\n"+output+"-- real/m/main.tf --\n"+output+
		"-- user/main.tf --\nmodule \"m\" {\n  source = \"../lnk/m\"\n}\n"+
		"data \"terraform_remote_state\" \"r\" {\n  backend = \"local\"\n  config = {\n    path = \"../lnk/terraform.tfstate\"\n  }\n}\n"+
		"-- roots.tofu.hcl --\nroot \"first\" {\n  path = \"lnk\"\n}\n")
	e, err := again(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(e.Names()); got != "[first user]" {
		t.Errorf("got the root modules %s", got)
	}
	if got := names(e.Needs(e.ByName("user"))); got != "first" {
		t.Errorf("user needs %q", got)
	}
}
