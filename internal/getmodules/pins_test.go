package getmodules

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/tfdiags"
)

// pin installs the modules that the configuration main calls, with the given pins, and returns the
// new pins.
func (l *lab) pin(main string, upgrade bool, pins depsfile.ModuleLocks) (depsfile.ModuleLocks, error) {
	l.Helper()
	l.write(map[string]string{"work/main.tf": main})
	in, err := NewInstaller(&Options{Warn: tfdiags.Drop, Dir: ".terraform/modules", Client: l.client, Upgrade: upgrade,
		Pin: true, Pins: pins})
	if err != nil {
		l.Fatal(err)
	}
	_, err = configs.LoadRoot(context.Background(), ".", &configs.LoadOptions{Resolve: in.Resolve}, tfdiags.Drop)
	if err != nil {
		return nil, err
	}
	if err := in.Finish(); err != nil {
		l.Fatal(err)
	}
	return in.Pins(), nil
}

func (l *lab) mustPin(main string, upgrade bool, pins depsfile.ModuleLocks) depsfile.ModuleLocks {
	l.Helper()
	locks, err := l.pin(main, upgrade, pins)
	if err != nil {
		l.Fatal(err)
	}
	return locks
}

func (l *lab) forget() {
	l.Helper()
	if err := os.RemoveAll(".terraform"); err != nil {
		l.Fatal(err)
	}
}

// TestPinCommit checks that when a branch or tag moves to a new commit, the new commit is ignored
// until an upgrade.
func TestPinCommit(t *testing.T) {
	l := newLab(t)
	first := l.commit("repo", "v1", map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	branch, tag := "git::file://"+l.top+"/repo", "git::file://"+l.top+"/repo?ref=v1"
	main := call("a", branch) + call("b", tag+"") + call("c", "git::file://"+l.top+"/repo//sub") +
		call("d", l.top+"/shared")
	l.write(map[string]string{"shared/main.tf": value("s")})
	pins := l.mustPin(main, false, nil)
	if len(pins) != 2 || pins[0].Source != branch || pins[0].Revision != first || pins[1].Revision != first ||
		pins[0].Hash != pins[1].Hash || pins[0].Hash.Scheme() != "h1" {
		t.Fatalf("%+v", pins)
	}
	second := l.commit("repo", "", map[string]string{"main.tf": value("2")})
	l.git("repo", "tag", "-f", "v1")
	l.forget()
	if again := l.mustPin(main, false, pins); !slices.Equal(again, pins) {
		t.Errorf("%+v", again)
	}
	for _, name := range []string{"a", "b"} {
		l.has(".terraform/modules/"+name+"/main.tf", value("1"))
	}
	// Modified files are detected and replaced. The pins of unused packages are removed.
	l.write(map[string]string{"work/.terraform/modules/a/main.tf": value("edited")})
	if again := l.mustPin(call("a", branch), false, pins); !slices.Equal(again, pins[:1]) {
		t.Errorf("%+v", again)
	}
	l.has(".terraform/modules/a/main.tf", value("1"))
	upgraded := l.mustPin(main, true, pins)
	if upgraded[0].Revision != second || upgraded[1].Revision != second || upgraded[0].Hash == pins[0].Hash {
		t.Errorf("%+v", upgraded)
	}
	l.has(".terraform/modules/a/main.tf", value("2"))
	// Now the pin has a hash that doesn't match the commit.
	pins[0].Hash = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	if _, err := l.pin(call("a", branch), false, pins); err == nil || !strings.Contains(err.Error(), "init -upgrade") {
		t.Errorf("%v", err)
	}
}

// TestPinNested checks that packages called by other packages are pinned too, including calls in
// their local modules.
func TestPinNested(t *testing.T) {
	l := newLab(t)
	inner := "git::file://" + l.top + "/inner"
	l.commit("inner", "", map[string]string{"main.tf": value("1")})
	l.commit("outer", "", map[string]string{"main.tf": call("in", inner) + call("part", "./part"),
		"part/main.tf": call("deep", inner+"?ref=main")})
	main := call("out", "git::file://"+l.top+"/outer")
	pins := l.mustPin(main, false, nil)
	if len(pins) != 3 || pins[0].Source != inner || pins[1].Source != inner+"?ref=main" ||
		pins[0].Hash != pins[1].Hash {
		t.Fatalf("%+v", pins)
	}
	l.commit("inner", "", map[string]string{"main.tf": value("2")})
	l.forget()
	if again := l.mustPin(main, false, pins); !slices.Equal(again, pins) {
		t.Errorf("%+v", again)
	}
	l.has(".terraform/modules/out.in/main.tf", value("1"))
	l.has(".terraform/modules/out.part.deep/main.tf", value("1"))
	if upgraded := l.mustPin(main, true, pins); upgraded[0].Hash == pins[0].Hash || upgraded[2] != pins[2] {
		t.Errorf("%+v", upgraded)
	}
}

// TestPinWithoutRevision checks that archives, which have no revision, are identified by their
// hash.
func TestPinWithoutRevision(t *testing.T) {
	l := newLab(t)
	content := zipOf(map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	l.pages["/a.zip"] = func(w http.ResponseWriter, r *http.Request) { w.Write(content) }
	main := call("a", l.url+"/a.zip") + call("b", l.url+"/a.zip//sub")
	pins := l.mustPin(main, false, nil)
	if len(pins) != 1 || pins[0].Revision != "" || pins[0].Source != l.url+"/a.zip" {
		t.Fatalf("%+v", pins)
	}
	content = zipOf(map[string]string{"main.tf": value("2")})
	l.mustPin(main, false, pins) // the installed package matches its pin
	l.forget()
	if _, err := l.pin(main, false, pins); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(".terraform/modules/*"); err != nil || len(left) > 0 {
		t.Errorf("the wrong package is in place: %v", left)
	}
	if again := l.mustPin(call("a", l.url+"/a.zip"), true, pins); again[0].Hash == pins[0].Hash {
		t.Errorf("%+v", again)
	}
}

// TestPinVersion checks that newer versions in a registry are ignored until there is an upgrade, or
// until a constraint requires them.
func TestPinVersion(t *testing.T) {
	l := newLab(t)
	list := `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`
	l.pages["/v1/acme/net/lab/versions"] = func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(list)) }
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(
				"X-Terraform-Get", l.url+"/"+v+".zip")
		}
		l.pages["/"+v+".zip"] = bytesPage(zipOf(map[string]string{"main.tf": value(v)}))
	}
	const source = "modules.example.com/acme/net/lab"
	main := call("a", source, `version = "~> 1.0"`)
	pins := l.mustPin(main, false, nil)
	list = `{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "1.1.0"}, {"version": "2.0.0"}]}]}`
	l.forget()
	if again := l.mustPin(main, false, pins); !slices.Equal(again, pins) || again[0].Version != "1.0.0" {
		t.Errorf("%+v", again)
	}
	both := l.mustPin(main+call("b", source, `version = "~> 2.0"`), false, pins)
	if len(both) != 2 || both[0] != pins[0] || both[1].Version != "2.0.0" {
		t.Errorf("%+v", both)
	}
	if upgraded := l.mustPin(main, true, both); len(upgraded) != 1 || upgraded[0].Version != "1.1.0" {
		t.Errorf("%+v", upgraded)
	}
}

func TestPinName(t *testing.T) {
	for address, want := range map[string]string{
		"git::https://example.com/a.git?ref=v1":                                     "git::https://example.com/a.git?ref=v1",
		"git::ssh://git@example.com/a.git?ref=v1":                                   "git::ssh://git@example.com/a.git?ref=v1",
		"git::ssh://git@example.com/a.git?ref=v1&sshkey=c2VjcmV0":                   "git::ssh://git@example.com/a.git?ref=v1",
		"git::https://t0ken@example.com/a.git":                                      "git::https://example.com/a.git",
		"https://me:s3cret@example.com/a.zip?x=1":                                   "https://example.com/a.zip?x=1",
		"s3::https://s3.amazonaws.com/b/a.zip?aws_access_key_id=a&region=x":         "s3::https://s3.amazonaws.com/b/a.zip?region=x",
		"https://me:s3cret@example.com/a.zip?x=1::2":                                "https://example.com/a.zip?x=1::2",
		"https://me:s3cret@[::1]:8080/a.zip":                                        "https://[::1]:8080/a.zip",
		"git::https://t0ken@[fe80::1]/a.git":                                        "git::https://[fe80::1]/a.git",
		"registry.opentofu.org/acme/net/lab":                                        "registry.opentofu.org/acme/net/lab",
		"s3::https://s3.amazonaws.com/b/a.zip?aws_access_key_secret=b&region=x&z=1": "s3::https://s3.amazonaws.com/b/a.zip?region=x&z=1",
	} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}

// TestShowable checks the query parameters that look like secrets. They are part of the pinned
// address, because they may distinguish packages, but messages don't show them.
func TestShowable(t *testing.T) {
	for address, want := range map[string]string{
		"https://me:s3cret@example.com/a.zip?token=s3cret&x=1": "https://example.com/a.zip?token=xxxxx&x=1",
		"git::https://example.com/a.git?ref=v1":                "git::https://example.com/a.git?ref=v1",
		"git::https://example.com/a.git?ref=v1&private_key=x":  "git::https://example.com/a.git?ref=v1&private_key=xxxxx",
		"registry.opentofu.org/acme/net/lab":                   "registry.opentofu.org/acme/net/lab",
	} {
		if got := showable(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
