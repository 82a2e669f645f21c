package getmodules

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

// newStoreLab returns a lab with a store of packages, and the address of a module in a registry.
func newStoreLab(t *testing.T) (*lab, string) {
	l := newLab(t)
	l.client.Config().CacheDir = filepath.Join(l.top, "cache")
	for _, v := range []string{"1.0.0", "1.1.0"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"location": "/%s.zip//deep"}`, v)
		}
		l.pages["/"+v+".zip"] = bytesPage(zipOf(map[string]string{"deep/main.tf": value(v), "deep/sub/main.tf": value("sub")}))
	}
	l.pages["/v1/acme/net/lab/versions"] = bytesPage([]byte(
		`{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "1.1.0"}]}]}`))
	return l, "modules.example.com/acme/net/lab"
}

// with installs what main calls into a new directory, and returns which paths were requested.
func (l *lab) with(opts Options, main string) (requests string, err error) {
	l.Helper()
	l.forget()
	l.seen = nil
	l.write(map[string]string{"work/main.tf": main})
	opts.Warn, opts.Dir, opts.Client = tfdiags.Drop, ".terraform/modules", l.client
	in, err := NewInstaller(&opts)
	if err != nil {
		l.Fatal(err)
	}
	_, err = configs.LoadRoot(l.Context(), ".", &configs.LoadOptions{Resolve: in.Resolve}, tfdiags.Drop)
	return strings.Join(l.seen, " "), err
}

func (l *lab) wants(opts Options, main, requests, path, content string) {
	l.Helper()
	got, err := l.with(opts, main)
	if err != nil || got != requests {
		l.Errorf("requests %q instead of %q, %v", got, requests, err)
		return
	}
	l.has(path, value(content))
}

// TestStoredRelease checks that a release is fetched once for all root modules, and again by an upgrade.
func TestStoredRelease(t *testing.T) {
	const first, list = "/v1/acme/net/lab/versions /v1/acme/net/lab/1.1.0/download /1.1.0.zip", "/v1/acme/net/lab/versions"
	l, source := newStoreLab(t)
	main := call("a", source) + call("b", source+"//sub")
	l.wants(Options{}, main, first, ".terraform/modules/a/deep/main.tf", "1.1.0")
	l.wants(Options{}, main, list, ".terraform/modules/b/deep/sub/main.tf", "sub")
	l.wants(Options{Offline: true}, main, "", ".terraform/modules/a/deep/main.tf", "1.1.0")
	l.wants(Options{Offline: true}, call("a", source, `version = "~> 1.0"`), "", ".terraform/modules/a/deep/main.tf", "1.1.0")
	if _, err := l.with(Options{Offline: true}, call("a", source, `version = "1.0.0"`)); err == nil ||
		!strings.Contains(err.Error(), "not stored on this machine") {
		t.Errorf("a release that is not there: %v", err)
	}
	l.wants(Options{Upgrade: true}, main, first, ".terraform/modules/a/deep/main.tf", "1.1.0")

	// Root modules that are only read use the store too.
	shared := NewShared(l.client, nil)
	defer shared.Close()
	l.forget()
	l.seen = nil
	resolve, err := shared.Resolver(".")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configs.LoadRoot(t.Context(), ".", &configs.LoadOptions{Resolve: resolve}, tfdiags.Drop); err != nil ||
		strings.Join(l.seen, " ") != list {
		t.Errorf("requests %q, %v", l.seen, err)
	}

	// What a user changes in an installed module stays there.
	l.wants(Options{}, main, list, ".terraform/modules/a/deep/main.tf", "1.1.0")
	l.write(map[string]string{"work/.terraform/modules/a/deep/main.tf": value("changed")})
	l.wants(Options{}, main, list, ".terraform/modules/a/deep/main.tf", "1.1.0")

	// A damaged package is fetched again, and one without a record too.
	for _, damage := range []string{"contents/*/deep/main.tf", "records/*"} {
		found, err := filepath.Glob(filepath.Join(l.top, "cache/modules", damage))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %q, %v", damage, found, err)
		}
		for _, path := range found {
			if err := os.WriteFile(path, []byte("# damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l.wants(Options{}, main, first, ".terraform/modules/a/deep/main.tf", "1.1.0")
		l.wants(Options{}, main, list, ".terraform/modules/a/deep/main.tf", "1.1.0")
	}
}

// TestStoredPins checks that a pin decides which package is used, wherever it comes from.
func TestStoredPins(t *testing.T) {
	l, source := newStoreLab(t)
	main := call("a", source, `version = "1.0.0"`)
	pins := l.mustPin(main, false, nil)
	l.wants(Options{Pin: true, Pins: pins}, main, "", ".terraform/modules/a/deep/main.tf", "1.0.0")
	other := []depsfile.ModuleLock(pins)[0]
	other.Hash = depsfile.Hash("h1:" + strings.Repeat("A", 43) + "=")
	_, err := l.with(Options{Pin: true, Pins: depsfile.ModuleLocks{other}}, main)
	if err == nil || !strings.Contains(err.Error(), "has the hash") {
		t.Errorf("another pin: %v", err)
	}
}

// TestStoredCommits checks repositories: a commit is fetched once, a branch each time. The store has one
// package of a branch.
func TestStoredCommits(t *testing.T) {
	l, _ := newStoreLab(t)
	first := l.commit("repo", "", map[string]string{"main.tf": value("1")})
	branch, commit := "git::file://"+l.top+"/repo", "git::file://"+l.top+"/repo?ref="+first
	l.wants(Options{}, call("a", commit), "", ".terraform/modules/a/main.tf", "1")
	for i := 2; i < 6; i++ {
		l.commit("repo", "", map[string]string{"main.tf": value(fmt.Sprint(i))})
		l.wants(Options{}, call("a", branch), "", ".terraform/modules/a/main.tf", fmt.Sprint(i))
	}
	if err := os.Rename(filepath.Join(l.top, "repo"), filepath.Join(l.top, "moved")); err != nil {
		t.Fatal(err)
	}
	l.wants(Options{}, call("a", commit), "", ".terraform/modules/a/main.tf", "1")
	if _, err := l.with(Options{}, call("a", branch)); err == nil {
		t.Error("a branch comes from the store")
	}
	contents, err := os.ReadDir(filepath.Join(l.top, "cache/modules/contents"))
	if err != nil || len(contents) != 2 {
		t.Errorf("%d packages, %v", len(contents), err)
	}
}

// TestUnusedPackages checks that what was not used for long is removed when something is added.
func TestUnusedPackages(t *testing.T) {
	l, source := newStoreLab(t)
	if _, err := l.with(Options{}, call("a", source, `version = "1.0.0"`)); err != nil {
		t.Fatal(err)
	}
	old, err := filepath.Glob(filepath.Join(l.top, "cache/modules/contents/*"))
	if err != nil || len(old) != 1 {
		t.Fatalf("%q, %v", old, err)
	}
	before := time.Now().Add(-2 * unused)
	if err := os.Chtimes(old[0], before, before); err != nil {
		t.Fatal(err)
	}
	if _, err := l.with(Options{}, call("a", source, `version = "1.1.0"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old[0]); err == nil {
		t.Error("an old package is still there")
	}
}

// TestNoStore checks that a cache directory that can't be used is no error.
func TestNoStore(t *testing.T) {
	l, source := newStoreLab(t)
	l.write(map[string]string{"cache": "a file"})
	l.wants(Options{}, call("a", source),
		"/v1/acme/net/lab/versions /v1/acme/net/lab/1.1.0/download /1.1.0.zip", ".terraform/modules/a/deep/main.tf", "1.1.0")
}

// TestRecords checks that records name no addresses, which may contain secrets.
func TestRecords(t *testing.T) {
	l, source := newStoreLab(t)
	l.pages["/v1/acme/net/lab/1.1.0/download"] = func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"location": l.url + "/1.1.0.zip//deep?token=s3cret"})
	}
	if _, err := l.with(Options{}, call("a", source)); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(l.top, "cache/modules/records/*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%q, %v", found, err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(text)+path, "s3cret") {
			t.Errorf("%s: %s, %v", path, text, err)
		}
	}
}
