package local_test

import (
	"os"
	"testing"

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
