package local_test

import (
	"os"
	"strings"
	"testing"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/testenv"
)

// TestSetAsideOverLink checks that the backup replaces a link instead of going through it.
func TestSetAsideOverLink(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.WriteFile(t, "terraform.tfstate", "state")
	testenv.WriteFile(t, "victim", "precious")
	if err := os.Symlink("victim", "terraform.tfstate.backup"); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := local.New(nil, nil).SetAside(ws); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"victim": "precious", "terraform.tfstate.backup": "state"} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s has %q, not %q", path, got, want)
		}
	}
}

// TestDeleteLinkedDirectory checks that deleting a workspace deletes nothing behind a link.
func TestDeleteLinkedDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.WriteFile(t, "elsewhere/terraform.tfstate", "precious")
	testenv.WriteFile(t, "terraform.tfstate.d/a/terraform.tfstate", "1")
	if err := os.Symlink("../elsewhere", "terraform.tfstate.d/b"); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, workspace := range []string{"a", "b"} {
		if err := local.New(nil, nil).Delete(t.Context(), workspace); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat("terraform.tfstate.d/" + workspace); err == nil {
			t.Errorf("the directory of %s is still there", workspace)
		}
	}
	if got, _ := os.ReadFile("elsewhere/terraform.tfstate"); string(got) != "precious" {
		t.Errorf("the file behind the link has %q", got)
	}
}

// TestLinksToMissingDirectories checks that a state behind such a link is refused before anything is
// created, and not when it is written.
func TestLinksToMissingDirectories(t *testing.T) {
	for name, test := range map[string]struct {
		links   map[string]string // targets
		options local.Options
	}{
		"file":         {links: map[string]string{"terraform.tfstate": "missing/dir/x"}},
		"twice":        {links: map[string]string{"terraform.tfstate": "a/x", "a": "missing"}},
		"-state":       {map[string]string{"a": "missing/dir"}, local.Options{State: "a/b/x"}},
		"-state-out":   {map[string]string{"a": "missing/x"}, local.Options{StateOut: "a"}},
		"-backup":      {map[string]string{"a": "missing/x"}, local.Options{Backup: "a"}},
		"in directory": {map[string]string{"sub/x": "../missing/x"}, local.Options{State: "sub/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("sub", 0o755); err != nil {
				t.Fatal(err)
			}
			for link, target := range test.links {
				if err := os.Symlink(target, link); err != nil {
					t.Skip("no symbolic links here")
				}
			}
			s := local.New(nil, &test.options)
			const want = "leads through a symbolic link to the directory missing"
			if err := s.Probe(t.Context(), ws); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Probe: %v", err)
			}
			_, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "1"})
			if test.options.Backup == "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("Lock: %v", err)
			}
			if _, err := os.Lstat("missing"); err == nil {
				t.Error("the directory was created")
			}
		})
	}
}

// TestBackupInNewDirectory checks that the directory that -backup names is created.
func TestBackupInNewDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	testenv.WriteFile(t, "terraform.tfstate", "1")
	if err := local.New(nil, &local.Options{Backup: "a/b/old"}).Put(t.Context(), ws, []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile("a/b/old"); string(got) != "1" {
		t.Errorf("the backup has %q", got)
	}
}
