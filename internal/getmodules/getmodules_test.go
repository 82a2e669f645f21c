package getmodules

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/registry"
	"tofu/internal/testenv"
	"tofu/internal/testenv/registrytest"
	"tofu/internal/tfdiags"
)

// TestMain makes programs trust the certificate of the test servers, and makes git ignore the
// user's settings.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "getmodules-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(file, registrytest.Certificate(), 0o600); err != nil {
			panic(err)
		}
		for name, value := range map[string]string{"SSL_CERT_FILE": file, "GIT_CONFIG_NOSYSTEM": "1",
			"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_TERMINAL_PROMPT": "0",
			"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t",
			"GIT_COMMITTER_EMAIL": "t@example.com"} {
			os.Setenv(name, value)
		}
		return m.Run()
	}())
}

// lab is a test with a working directory and a server that serves packages.
type lab struct {
	*testing.T
	top    string
	client *registry.Client
	url    string
	mu     sync.Mutex
	seen   []string
	pages  map[string]http.HandlerFunc
}

func newLab(t *testing.T) *lab {
	l := &lab{T: t, top: t.TempDir(), pages: make(map[string]http.HandlerFunc)}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.seen = append(l.seen, r.URL.Path)
		l.mu.Unlock()
		if serve, ok := l.pages[r.URL.Path]; ok {
			serve(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	l.client = registry.New(&cliconfig.Config{RegistryTimeout: 5 * time.Second,
		Hosts: map[string]cliconfig.Host{
			"modules.example.com": {Services: map[string]any{"modules.v1": server.URL + "/v1/"}}}})
	work := filepath.Join(l.top, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	return l
}

func (l *lab) write(files map[string]string) {
	l.Helper()
	for name, text := range files {
		testenv.WriteFile(l, filepath.Join(l.top, name), text)
	}
}

func (l *lab) git(dir string, args ...string) string {
	l.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(l.top, dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files to a repository, creating it if necessary.
func (l *lab) commit(repo, tag string, files map[string]string) string {
	l.Helper()
	if _, err := os.Stat(filepath.Join(l.top, repo)); err != nil {
		if err := os.Mkdir(filepath.Join(l.top, repo), 0o755); err != nil {
			l.Fatal(err)
		}
		l.git(repo, "init", "-q", "-b", "main")
	}
	for name, text := range files {
		l.write(map[string]string{repo + "/" + name: text})
	}
	l.git(repo, "add", "-A")
	l.git(repo, "commit", "-q", "-m", "x")
	if tag != "" {
		l.git(repo, "tag", tag)
	}
	return l.git(repo, "rev-parse", "HEAD")
}

func call(name, source string, more ...string) string {
	return fmt.Sprintf("module %q {\n  source = %q\n  %s\n}\n", name, source, strings.Join(more, "\n  "))
}

func (l *lab) install(main string, upgrade bool) error {
	l.Helper()
	l.write(map[string]string{"work/main.tf": main})
	in, err := NewInstaller(&Options{Warn: tfdiags.Drop, Dir: ".terraform/modules", Client: l.client, Upgrade: upgrade})
	if err != nil {
		return err
	}
	_, err = configs.LoadRoot(context.Background(), ".", &configs.LoadOptions{Resolve: in.Resolve}, tfdiags.Drop)
	if err := in.Finish(); err != nil {
		l.Fatal(err)
	}
	if err != nil {
		return err
	}
	resolve, err := Installed(".terraform/modules", "")
	if err != nil {
		l.Fatal(err)
	}
	if _, err := configs.LoadRoot(context.Background(), ".", &configs.LoadOptions{Resolve: resolve},
		tfdiags.Drop); err != nil {
		l.Errorf("what was installed can't be loaded: %v", err)
	}
	left, err := filepath.Glob(".terraform/modules/.tofu-tmp-*")
	if err != nil || len(left) > 0 {
		l.Errorf("left over: %v", left)
	}
	return nil
}

func (l *lab) good(main string) {
	l.Helper()
	if err := l.install(main, false); err != nil {
		l.Fatal(err)
	}
}

func (l *lab) bad(main, want string) {
	l.Helper()
	err := l.install(main, false)
	if err == nil || !strings.Contains(err.Error(), want) {
		l.Errorf("%s\ndoesn't fail with %q: %v", main, want, err)
	}
}

// badSource is like bad, for an error that points at the call.
func (l *lab) badSource(main, want string) {
	l.Helper()
	l.bad(main, want)
	for _, d := range tfdiags.FromError(l.install(main, false)) {
		if d.Subject == nil {
			l.Errorf("%s\nfails with an error without a place: %v", main, d)
		}
	}
}

func (l *lab) has(file, want string) {
	l.Helper()
	got, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil || string(got) != want {
		l.Errorf("%s: %q, %v", file, got, err)
	}
}

func value(v string) string { return fmt.Sprintf("output \"v\" {\n  value = %q\n}\n", v) }

// TestFailedCall checks that a call that can't be installed doesn't remove other calls from the
// manifest.
func TestFailedCall(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	l.write(map[string]string{"work/local/main.tf": value("local")})
	repo := "git::file://" + l.top + "/repo"
	l.good(call("kept", repo))
	l.bad(call("gone", "git::file://"+l.top+"/nothing")+call("here", "./local")+call("kept", repo)+
		call("missing", "./missing")+
		call("new", repo+"//sub"), "There is no directory")
	m, err := readManifest(".terraform/modules", "")
	if err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(m)); !slices.Equal(keys, []string{"", "here", "kept", "new"}) {
		t.Errorf("recorded are %q", keys)
	}
	// A call's record stays in the manifest even if the call can't be installed any longer, as in
	// OpenTofu.
	l.badSource(call("kept", repo+"//none"), "there is no directory \"none\"")
	l.badSource(call("kept", repo+"//n*"), "must match one directory")
	l.badSource(call("kept", "./mods/none"), "There is no directory")
	m, err = readManifest(".terraform/modules", "")
	if err != nil || m["kept"].Source != repo {
		t.Errorf("%v, %v", m["kept"], err)
	}
}

func TestLocalModules(t *testing.T) {
	l := newLab(t)
	l.write(map[string]string{"work/mods/a/main.tf": call("b", "../b"), "work/mods/b/main.tf": value("b"),
		"shared/main.tf": value("s"), "outside/main.tf": value("o")})
	l.good(call("a", "./mods/a") + call("s", "../shared"))
	manifest, err := readManifest(".terraform/modules", "")
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{"": {Dir: "."}, "a": {Key: "a", Source: "./mods/a", Dir: "mods/a"},
		"a.b": {Key: "a.b", Source: "../b", Dir: "mods/b"}, "s": {Key: "s", Source: "../shared", Dir: "../shared"}}
	if !maps.Equal(manifest, want) {
		t.Errorf("%v", manifest)
	}
	l.bad(call("a", "./none"), "There is no directory")
	// A source that is an absolute path is a separate package. It is installed as a link, and
	// relative sources in it can't lead out of it.
	l.good(call("a", l.top+"/shared"))
	if target, err := os.Readlink(".terraform/modules/a"); err != nil || target != l.top+"/shared" {
		t.Errorf("%q %v", target, err)
	}
	l.write(map[string]string{"shared/main.tf": call("x", "../outside")})
	l.bad(call("a", l.top+"/shared"), "escape")
	if err := os.WriteFile(".terraform/modules/modules.json", []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.bad(call("a", "./mods/a"), "modules.json")
}

// bzipped is a .tar.bz2 archive that contains main.tf. The standard library can't create such
// archives.
const bzipped = "QlpoOTFBWSZTWdxZxwAAAHt7hMqQAEBQAX+CACBjJ98KAACACCAAdBpJo9TTRoABoND0gySNGhoaABoBo+6zaqIggMWACRU5gsomkFKEkBRRIQdGvtuVa9jnyRYgpxET2EDnlfpi97JjasQdYiuxVDIeiJm2FBhUfZESJ6XjmkiID8XckU4UJDcWccAA"

func TestLocalPath(t *testing.T) {
	for _, c := range []struct {
		path    string
		windows bool
		want    string
	}{
		{"/C:/modules/a", true, "C:/modules/a"}, {"/C:", true, "C:"}, {"//server/share", true, "//server/share"},
		{"/srv/a", true, "/srv/a"},
		{"/C:/modules/a", false, "/C:/modules/a"}, {"/", true, "/"},
	} {
		if got := localPath(c.path, c.windows); got != c.want {
			t.Errorf("%s is %s, want %s (Windows: %t)", c.path, got, c.want, c.windows)
		}
	}
}

func TestPageAddress(t *testing.T) {
	for page, want := range map[string]string{
		`<head><meta name="terraform-get" content="https://x/a.zip"></head>`:                                       "https://x/a.zip",
		`<META content='https://x/a.zip' Name=terraform-get />`:                                                    "https://x/a.zip",
		`<meta charset="utf-8"><meta id="x>y" name="terraform-get" property="z" content="https://x/?a=1&amp;b=2">`: "https://x/?a=1&b=2",
		`<!-- <meta name="terraform-get" content="old"> --><meta
			name = "terraform-get"
			content = "new">`: "new",
		`<meta name="description" content="terraform-get">`:                    "",
		`<head></HEAD><body><meta name="terraform-get" content="late">`:        "",
		`<metadata name="terraform-get" content="x"><meta name="terraform-get`: "",
		`<meta name="terraform-get">`:                                          "",
		"":                                                                     "",
	} {
		if got := pageAddress([]byte(page)); got != want {
			t.Errorf("%s: %q", page, got)
		}
	}
}

// TestFailedOnce checks that a missing package is requested once, and that its error is described
// once, even if several calls use it.
func TestFailedOnce(t *testing.T) {
	l := newLab(t)
	main := call("a", l.url+"/none.zip") + call("b", l.url+"/none.zip//sub") + call("c", l.url+"/none.zip")
	err := l.install(main, false)
	if len(tfdiags.FromError(err)) != 3 || strings.Count(err.Error(), "404") != 1 ||
		strings.Count(strings.Join(l.seen, " "), "/none.zip") != 1 {
		t.Errorf("%v\n%v", l.seen, err)
	}
	// A mismatch with a pin is an error of the package, so it is reported once and not for each
	// call.
	l.pages["/none.zip"] = bytesPage(zipOf(map[string]string{"main.tf": value("1")}))
	pins := depsfile.ModuleLocks{{Source: l.url + "/none.zip", Hash: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
	l.seen = nil
	if _, err := l.pin(main, false, pins); len(tfdiags.FromError(err)) != 1 ||
		!strings.Contains(err.Error(), "has changed") || len(l.seen) != 1 {
		t.Errorf("%v\n%v", l.seen, err)
	}
	if m, err := readManifest(".terraform/modules", ""); err != nil || len(m) != 1 {
		t.Errorf("modules that are not there are listed: %v, %v", m, err)
	}
}

func TestRegistry(t *testing.T) {
	l := newLab(t)
	list := []any{map[string]any{"version": "1.0.0"}, map[string]any{"version": "1.1.0"},
		map[string]any{"version": "2.0.0-rc1"}}
	l.pages["/v1/acme/net/lab/versions"] = func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": list}}})
	}
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0-rc1"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", "/"+v+".zip")
			w.WriteHeader(http.StatusNoContent)
		}
		l.pages["/"+v+
			".zip"] = bytesPage(zipOf(map[string]string{"main.tf": value(v), "sub/main.tf": value("sub " + v)}))
	}
	const source = "modules.example.com/acme/net/lab"
	for constraint, want := range map[string]string{">= 1.0": "1.1.0", "~> 1.0.0": "1.0.0", "2.0.0-rc1": "2.0.0-rc1"} {
		l.good(call("a", source, fmt.Sprintf("version = %q", constraint)))
		l.has(".terraform/modules/a/main.tf", value(want))
	}
	l.seen = nil
	l.good(call("a", source) + call("b", source+"//sub"))
	l.has(".terraform/modules/b/sub/main.tf", value("sub 1.1.0"))
	counts := make(map[string]int)
	for _, path := range l.seen {
		counts[path]++
	}
	if counts["/v1/acme/net/lab/versions"] > 1 || counts["/1.1.0.zip"] > 1 {
		t.Errorf("requests: %v", counts)
	}
	l.pages["/v1/acme/net/bare/versions"] = l.pages["/v1/acme/net/lab/versions"]
	l.pages["/v1/acme/net/bare/1.1.0/download"] = func(w http.ResponseWriter, r *http.Request) {
		w.Write(
			[]byte(`{"location": "/files/17"}`))
	}
	l.pages["/files/17"] = l.pages["/1.1.0.zip"]
	l.good(call("a", "modules.example.com/acme/net/bare"))
	l.has(".terraform/modules/a/main.tf", value("1.1.0"))
	// The message contains the position of the call, because OpenTofu's diagnostic has no source
	// range.
	l.bad("\n"+call("a", source+"//none"), "main.tf:2")
	l.bad(call("a", source, `version = "> 3"`), "meets the constraints")
	l.bad(call("a", "modules.example.com/acme/none/lab"), "there is no module")
	l.pages["/v1/acme/net/early/versions"] = bytesPage([]byte(`{"modules": [{"versions": [{"version": "1.0.0-rc1"}]}]}`))
	l.bad(call("a", "modules.example.com/acme/net/early"), "The registry lists no release")
	l.pages["/v1/acme/net/lab/1.1.0/download"] = func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"location": "/1.1.0.zip", "use_registry_credentials": "yes"}`))
	}
	if err := os.RemoveAll(".terraform"); err != nil {
		t.Fatal(err)
	}
	l.bad(call("a", source), "use_registry_credentials")
}

// TestSpelledVersions checks that versions are found as OpenTofu finds them, however a registry
// spells them, and that the registry is asked for the normal form.
func TestSpelledVersions(t *testing.T) {
	l := newLab(t)
	for i, test := range []struct{ listed, constraint, want string }{
		{"1.0.0 v1.0.5", ">= 1.0", "1.0.5"},
		{"v2.1.0 v2.0.9", "~> 2.0", "2.1.0"},
		{"v1.0.5 1.0.5 0.9.0", ">= 0.1", "1.0.5"},
		{"v3 1.9.0", ">= 0.1", "3.0.0"},
		{"v1.0.0 v1.1.0-rc.1", ">= 0.1", "1.0.0"},
		{"v1.0.0 v1.1.0-rc.1", "1.1.0-rc.1", "1.1.0-rc.1"},
		{"1.0.0 v1.2.0beta1", "1.2.0-beta1", "1.2.0-beta1"},
		{"v1.0.0-1 0.9.0", "1.0.0-1", "1.0.0-1"},
		{"1.0.0 main V2.0.0 vv2.0.0 v-2.0.0", ">= 0.1", "1.0.0"},
	} {
		module := fmt.Sprintf("acme/m%d/lab", i)
		var list []any
		for v := range strings.FieldsSeq(test.listed) {
			list = append(list, map[string]any{"version": v})
		}
		l.pages["/v1/"+module+"/versions"] = func(w http.ResponseWriter, r *http.Request) {
			json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": list}}})
		}
		l.pages["/v1/"+module+"/"+test.want+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"location": "/m.zip"}`)
		}
		l.pages["/m.zip"] = bytesPage(zipOf(map[string]string{"main.tf": value(test.want)}))
		l.good(call("m", "modules.example.com/"+module, fmt.Sprintf("version = %q", test.constraint)))
		l.has(".terraform/modules/m/main.tf", value(test.want))
	}
}

func TestCopyRoot(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": call("p", "./part"), "part/main.tf": value("p"),
		".terraform.lock.hcl": "", ".hidden": "h"})
	in, err := NewInstaller(&Options{Warn: tfdiags.Drop, Dir: ".terraform/modules", Client: l.client})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.CopyRoot(t.Context(), "git::file://"+l.top+"/repo", "."); err != nil {
		t.Fatal(err)
	}
	l.has("part/main.tf", value("p"))
	l.has(".hidden", "h")
	if _, err := os.Stat(".terraform.lock.hcl"); err == nil {
		t.Error("the lock file is copied")
	}
	if err := in.CopyRoot(t.Context(), "git::file://"+l.top+"/nothing", "x"); err == nil {
		t.Error("nothing is copied")
	}
}

func TestNetrc(t *testing.T) {
	l := newLab(t)
	l.pages["/a.zip"] = func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Write(zipOf(map[string]string{"main.tf": value("1")}))
	}
	t.Setenv("NETRC", filepath.Join(l.top, "logins"))
	l.bad(call("a", l.url+"/a.zip"), "401")
	l.write(map[string]string{"logins": "machine 127.0.0.1 login me password s3cret"})
	l.good(call("a", l.url+"/a.zip"))
}

// TestLinkedDirectories checks the installation of modules if the modules directory or its parent
// is a symbolic link: links that lead out of the parent are errors.
func TestLinkedDirectories(t *testing.T) {
	for _, test := range []struct{ name, link, target, error string }{
		{"modules leads out", ".terraform/modules", "../../victim", "modules leads through a symbolic link to a place that is not below .terraform"},
		{"modules is its parent", ".terraform/modules", ".", "modules leads through a symbolic link to a place that is not below .terraform"},
		{"modules stays inside", ".terraform/modules", "others", ""},
		{"the data directory is elsewhere", ".terraform", "../cache", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			l.write(map[string]string{"victim/docs/thesis.txt": "years of work", "work/m/main.tf": "",
				"work/others/x": "", "cache/x": ""})
			if test.link != ".terraform" {
				if err := os.MkdirAll(".terraform/others", 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(test.target, test.link); err != nil {
				t.Skip("no symbolic links: ", err)
			}
			if err := l.install(call("docs", "./m"), false); err == nil && test.error != "" ||
				err != nil && (test.error == "" || !strings.Contains(err.Error(), test.error)) {
				t.Errorf("got %v, want %q", err, test.error)
			}
			if _, err := os.Stat(filepath.Join(l.top, "victim", "docs", "thesis.txt")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(l.top, "victim", "modules.json")); err == nil {
				t.Error("the list of modules was written outside of the working directory")
			}
		})
	}
}
