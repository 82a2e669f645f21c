package install

import (
	"os"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
)

// TestCheckVersions checks locked versions against constraints. A provider without constraints, such as
// all of validate's, may be locked in any version.
func TestCheckVersions(t *testing.T) {
	for _, test := range []struct{ locked, constraints, want string }{
		{"1.0.0", "", ""},
		{"1.0.0-beta2", "", ""},
		{"1.0.0-beta2", "1.0.0-beta2", ""},
		{"1.0.0-beta2", ">= 0.1", "selects 1.0.0-beta2"},
		{"1.0.0", "~> 2.0", "selects 1.0.0"},
	} {
		version, err := depsfile.ParseVersion(test.locked)
		if err != nil {
			t.Fatal(err)
		}
		reqs := depsfile.Requirements{tool: nil}
		if test.constraints != "" {
			if reqs[tool], err = depsfile.ParseConstraints(test.constraints); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		if err := os.MkdirAll(pkgstore.PackageDir(dir, tool, version, depsfile.CurrentPlatform()), 0o755); err != nil {
			t.Fatal(err)
		}
		locks := depsfile.NewLocks(map[addrs.Provider]depsfile.Lock{tool: {Version: version}})
		err = Check(reqs, locks, dir, nil, "tofu init")
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s for %q: %v, want %q", test.locked, test.constraints, err, test.want)
		}
	}
}
