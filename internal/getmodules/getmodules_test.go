package getmodules

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ulikunitz/xz"

	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/depsfile"
	"tofu/internal/needs"
	"tofu/internal/registry"
	"tofu/internal/registry/registrytest"
	"tofu/internal/tfdiags"
)

// TestMain makes the certificate of the test servers a trusted one, and git independent of the user's settings.
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
		for name, value := range map[string]string{"SSL_CERT_FILE": file, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_TERMINAL_PROMPT": "0",
			"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.com", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.com"} {
			os.Setenv(name, value)
		}
		return m.Run()
	}())
}

// lab is a working directory with a server beside it.
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
		Hosts: map[string]cliconfig.Host{"modules.example.com": {Services: map[string]any{"modules.v1": server.URL + "/v1/"}}}}, "test")
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
		path := filepath.Join(l.top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			l.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			l.Fatal(err)
		}
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

// commit makes or extends a repository.
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

func (l *lab) install(main string, upgrade bool) tfdiags.Diagnostics {
	l.Helper()
	l.write(map[string]string{"work/main.tf": main})
	in, diags := NewInstaller(l.Context(), &Options{Dir: ".terraform/modules", Client: l.client, Upgrade: upgrade})
	if diags.HasErrors() {
		return diags
	}
	_, diags = configs.LoadRoot(".", &configs.LoadOptions{Resolve: in.Resolve})
	if err := in.Finish(); err != nil {
		l.Fatal(err)
	}
	if diags.HasErrors() {
		return diags
	}
	resolve, more := Installed(".terraform/modules")
	if more.HasErrors() {
		l.Fatal(more.Err())
	}
	if _, more := configs.LoadRoot(".", &configs.LoadOptions{Resolve: resolve}); more.HasErrors() {
		l.Errorf("what was installed can't be loaded: %v", more.Err())
	}
	left, err := filepath.Glob(".terraform/modules/.tofu-tmp-*")
	if err != nil || len(left) > 0 {
		l.Errorf("left over: %v", left)
	}
	return diags
}

func (l *lab) good(main string) {
	l.Helper()
	if diags := l.install(main, false); diags.HasErrors() {
		l.Fatal(diags.Err())
	}
}

func (l *lab) bad(main, want string) {
	l.Helper()
	diags := l.install(main, false)
	if !diags.HasErrors() || !strings.Contains(diags.Err().Error(), want) {
		l.Errorf("%s\ndoesn't fail with %q: %v", main, want, diags.Err())
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

func TestGit(t *testing.T) {
	l := newLab(t)
	first := l.commit("repo", "v1", map[string]string{"main.tf": value("1"), "sub/one/main.tf": call("c", "../common"), "sub/common/main.tf": value("c")})
	l.commit("repo", "v2", map[string]string{"main.tf": value("2")})
	l.git("repo", "branch", "next")
	repo := "git::file://" + l.top + "/repo"
	l.good(call("a", repo))
	l.has(".terraform/modules/a/main.tf", value("2"))
	for query, want := range map[string]string{"?ref=v1": "1", "?ref=next": "2", "?ref=" + first: "1", "?ref=" + first[:8]: "1", "?ref=&depth=3": "2", "?depth=all": "2"} {
		l.good(call("a", repo+query))
		l.has(".terraform/modules/a/main.tf", value(want))
	}
	l.good(call("a", repo+"//sub/one"))
	l.has(".terraform/modules/a/sub/common/main.tf", value("c"))
	l.bad(call("a", repo+"//none"), "has no such folder")
	l.bad(call("a", repo+"?ref=v9"), "v9")
	l.bad(call("a", repo+"?ref=--upload-pack=touch%20"+l.top+"/evil"), "no ref")
	l.bad(call("a", "git::ext::sh -c true"), "can't be")
	l.bad(call("a", "git::file://"+l.top+"/nothing"), "nothing")
	if tags, err := Tags(t.Context(), repo+"?ref=v1"); err != nil || !slices.Equal(tags, []string{"v1", "v2"}) {
		t.Errorf("%q %v", tags, err)
	}
	// The branch moves: the installed commit stays until an upgrade.
	l.good(call("a", repo))
	l.commit("repo", "", map[string]string{"main.tf": value("3")})
	l.good(call("a", repo))
	l.has(".terraform/modules/a/main.tf", value("2"))
	if diags := l.install(call("a", repo), true); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	l.has(".terraform/modules/a/main.tf", value("3"))
}

// TestFailedCall: a call that can't be installed costs no other call its place in the list.
func TestFailedCall(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	l.write(map[string]string{"work/local/main.tf": value("local")})
	repo := "git::file://" + l.top + "/repo"
	l.good(call("kept", repo))
	l.bad(call("gone", "git::file://"+l.top+"/nothing")+call("here", "./local")+call("kept", repo)+call("missing", "./missing")+
		call("new", repo+"//sub"), "could not be read")
	m, err := ReadManifest(".terraform/modules")
	if err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(m)); !slices.Equal(keys, []string{"", "here", "kept", "new"}) {
		t.Errorf("recorded are %q", keys)
	}
	l.bad(call("kept", repo+"//none"), "has no such folder") // its record stays too, as in OpenTofu
	if m, err = ReadManifest(".terraform/modules"); err != nil || m["kept"].Source != repo {
		t.Errorf("%v, %v", m["kept"], err)
	}
}

// TestOneClone: however many calls there are of a branch, it is fetched once per run, so that all get the same commit although the
// branch moves meanwhile.
func TestOneClone(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on this machine")
	}
	// A git that counts what it fetches, and moves the branch after that.
	l.write(map[string]string{"bin/git": "#!/bin/sh\n" + git + " \"$@\" || exit\ncase \"$*\" in *' fetch '*) echo >> " + l.top + "/fetches; cd " + l.top +
		"/repo && echo '# more' >> main.tf && " + git + " commit -q -a -m more;; esac\n"})
	if err := os.Chmod(filepath.Join(l.top, "bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(l.top, "bin")+":"+os.Getenv("PATH"))
	repo := "git::file://" + l.top + "/repo"
	var main strings.Builder
	for i := range 30 {
		main.WriteString(call(fmt.Sprintf("a%d", i), repo) + call(fmt.Sprintf("b%d", i), repo+"//sub"))
	}
	l.good(main.String())
	fetches, err := os.ReadFile(filepath.Join(l.top, "fetches"))
	if err != nil || len(fetches) != 1 {
		t.Errorf("%d fetches, %v", len(fetches), err)
	}
	for i := range 30 {
		l.has(fmt.Sprintf(".terraform/modules/a%d/main.tf", i), value("1"))
	}
}

func TestMercurial(t *testing.T) {
	if _, err := exec.LookPath("hg"); err != nil {
		needs.Missing(t, "there is no hg", "install Mercurial")
	}
	l := newLab(t)
	t.Setenv("HGRCPATH", os.DevNull)
	hg := func(args ...string) {
		t.Helper()
		cmd := exec.Command("hg", args...)
		cmd.Dir = filepath.Join(l.top, "repo")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("hg %v: %v\n%s", args, err, out)
		}
	}
	l.write(map[string]string{"repo/main.tf": value("1"), "repo/sub/main.tf": value("sub")})
	hg("init")
	hg("commit", "-q", "-A", "-u", "t", "-m", "1")
	hg("tag", "-u", "t", "v1")
	l.write(map[string]string{"repo/main.tf": value("2")})
	hg("commit", "-q", "-u", "t", "-m", "2")
	repo := "hg::file://" + l.top + "/repo"
	for source, want := range map[string]string{repo: "2", repo + "?rev=v1": "1", repo + "?rev=default": "2"} {
		l.good(call("a", source))
		l.has(".terraform/modules/a/main.tf", value(want))
		if _, err := os.Stat(".terraform/modules/a/.hg"); err == nil {
			t.Errorf("%s: the repository's own data are left", source)
		}
	}
	l.good(call("a", repo+"//sub?rev=v1"))
	l.has(".terraform/modules/a/sub/main.tf", value("sub"))
	l.bad(call("a", repo+"?rev=v9"), "v9")
	l.bad(call("a", repo+"?rev=--config=hooks.update=touch%20"+l.top+"/evil"), "no address")
	l.bad(call("a", "hg::ssh://-oProxyCommand=x/evil"), "no address")
	if _, err := os.Stat(filepath.Join(l.top, "evil")); err == nil {
		t.Error("a source ran a program")
	}
}

func TestLocalModules(t *testing.T) {
	l := newLab(t)
	l.write(map[string]string{"work/mods/a/main.tf": call("b", "../b"), "work/mods/b/main.tf": value("b"), "shared/main.tf": value("s"), "outside/main.tf": value("o")})
	l.good(call("a", "./mods/a") + call("s", "../shared"))
	manifest, err := ReadManifest(".terraform/modules")
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{"": {Dir: "."}, "a": {Key: "a", Source: "./mods/a", Dir: "mods/a"}, "a.b": {Key: "a.b", Source: "../b", Dir: "mods/b"}, "s": {Key: "s", Source: "../shared", Dir: "../shared"}}
	if !maps.Equal(manifest, want) {
		t.Errorf("%v", manifest)
	}
	l.bad(call("a", "./none"), "could not be read")
	// An absolute path is a package: a link, out of which no relative path leads.
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

func zipOf(files map[string]string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func tarOf(files, links map[string]string) []byte {
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	w := tar.NewWriter(g)
	put := func(h *tar.Header, data string) {
		if err := w.WriteHeader(h); err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
			panic(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		put(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}, files[name])
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		put(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: links[name]}, "")
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := g.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// xzOf packs what gzip packed again.
func xzOf(data []byte) []byte {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err == nil {
		_, err = io.Copy(w, unpacked)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
}

// bzipped is main.tf in a .tar.bz2, which the standard library can't make.
const bzipped = "QlpoOTFBWSZTWdxZxwAAAHt7hMqQAEBQAX+CACBjJ98KAACACCAAdBpJo9TTRoABoND0gySNGhoaABoBo+6zaqIggMWACRU5gsomkFKEkBRRIQdGvtuVa9jnyRYgpxET2EDnlfpi97JjasQdYiuxVDIeiJm2FBhUfZESJ6XjmkiID8XckU4UJDcWccAA"

func bytesPage(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.Write(data) }
}

func TestArchives(t *testing.T) {
	l := newLab(t)
	files := map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")}
	l.pages["/a.zip"] = bytesPage(zipOf(files))
	l.pages["/pkg"] = l.pages["/a.zip"]
	l.pages["/a.tar.gz"] = bytesPage(tarOf(files, map[string]string{"link.txt": "main.tf", "sub/out": "/etc", "up": "../../x"}))
	l.pages["/a.tar.xz"] = bytesPage(xzOf(tarOf(files, nil)))
	packed, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	l.pages["/a.tar.bz2"] = bytesPage(packed)
	l.pages["/a.txz"], l.pages["/odd"] = l.pages["/a.tar.xz"], l.pages["/a.tar.xz"]
	l.pages["/text.tar.xz"] = bytesPage([]byte("hello"))
	l.pages["/deep.tgz"] = bytesPage(tarOf(map[string]string{"net-1.0/main.tf": value("deep")}, nil))
	l.pages["/slip.zip"] = bytesPage(zipOf(map[string]string{"../../../escaped": "x"}))
	l.pages["/slip.tgz"] = bytesPage(tarOf(map[string]string{"../escaped": "x"}, nil))
	l.pages["/link.tgz"] = bytesPage(tarOf(map[string]string{"d/x": "y"}, map[string]string{"a": "d"}))
	l.pages["/text.zip"] = bytesPage([]byte("hello"))
	l.pages["/header"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("terraform-get") == "1" {
			w.Header().Set("X-Terraform-Get", l.url+"/a.zip//sub")
		}
	}
	l.pages["/meta"] = bytesPage([]byte(`<html><head><meta name="terraform-get" content="` + l.url + `/a.zip"/></head></html>`))
	l.pages["/body"] = bytesPage([]byte(`<html><head></head><body><meta name="terraform-get" content="` + l.url + `/a.zip"/></body></html>`))
	l.pages["/circle"] = func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Terraform-Get", l.url+"/circle") }
	for source, file := range map[string]string{
		"/a.zip": "main.tf", "/a.tar.gz": "main.tf", "/a.zip//sub": "sub/main.tf", "/pkg?archive=zip": "main.tf", "/meta": "main.tf", "/meta//sub": "sub/main.tf",
		"/header": "sub/main.tf", "/deep.tgz//*": "net-1.0/main.tf",
		"/a.tar.xz": "sub/main.tf", "/a.txz//sub": "sub/main.tf", "/odd?archive=tar.xz": "main.tf", "/a.tar.bz2": "main.tf",
	} {
		l.good(call("a", l.url+source))
		if _, err := os.Stat(filepath.Join(".terraform/modules/a", file)); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	l.good(call("a", l.url+"/a.tar.gz"))
	l.has(".terraform/modules/a/link.txt", value("1"))
	l.has(".terraform/modules/a/sub/out", "")
	l.has(".terraform/modules/a/up", "")
	// Links that lead out of the module by way of another link.
	l.pages["/sly.tgz"] = bytesPage(tarOf(files, map[string]string{"here": ".", "other": "here/../x", "sub/up": "..", "sub/up/last": "../main.tf"}))
	l.good(call("a", l.url+"/sly.tgz"))
	l.has(".terraform/modules/a/here/main.tf", value("1"))
	l.has(".terraform/modules/a/other", "")
	l.has(".terraform/modules/a/last", "")
	for source, want := range map[string]string{
		"/slip.zip": "lead out", "/slip.tgz": "lead out", "/text.zip": "reading the archive", "/text.tar.xz": "reading the archive", "/gone.zip": "404", "/pkg": "no archive",
		"/a.zip?archive=false": "no archive", "/body": "no archive", "/circle": "without end", "/a.zip?checksum=sha256:00": "known kind",
		"/a.zip?checksum=sha256:" + strings.Repeat("0", 64): "demands", "/a.zip//none": "no such folder",
	} {
		l.bad(call("a", l.url+source), want)
	}
	if matches, err := filepath.Glob(filepath.Join(l.top, "*escaped")); err != nil || len(matches) > 0 {
		t.Errorf("outside: %v", matches)
	}
}

// TestArchiveLimits: an archive that holds more than a module may have is given up on the way.
func TestArchiveLimits(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	const left = 1000
	u := &unpacker{root: root, bytes: maxArchiveBytes - left}
	if err := u.file("a", 0o644, strings.NewReader(strings.Repeat("x", left))); err != nil {
		t.Error(err)
	}
	if err := u.file("b", 0o644, strings.NewReader(strings.Repeat("x", left))); err == nil || !strings.Contains(err.Error(), "would inflate") {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "b")); err != nil || info.Size() > 1 {
		t.Errorf("more than is allowed is written: %v %v", info, err)
	}
	u = &unpacker{root: root, files: maxArchiveFiles}
	if err := u.entry("c", 0o644, "", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "more entries") {
		t.Errorf("%v", err)
	}
}

// TestEndlessOutput: what a program prints doesn't fill the memory, and the end of its complaints is there.
func TestEndlessOutput(t *testing.T) {
	const each = 1 << 20
	long := bytes.Repeat([]byte("x"), each)
	var out answer
	var complaints tail
	steps := stepWriter{tell: func(string) {}}
	var err error
	for n := 0; n <= longestAnswer; n += each {
		_, _ = complaints.Write(long)
		_, _ = steps.Write(long)
		_, _ = steps.Write([]byte("\nremote: wait\n"))
		_, err = out.Write(long)
	}
	if err == nil || len(out) > longestAnswer {
		t.Errorf("an answer of %d bytes: %v", len(out), err)
	}
	_, _ = complaints.Write([]byte("why"))
	_, _ = steps.Write([]byte("why\n"))
	for _, kept := range []string{string(complaints), string(steps.complaints)} {
		if len(kept) > 2*longestTail || !strings.HasSuffix(strings.TrimSpace(kept), "why") {
			t.Errorf("%d bytes are kept, which end in %q", len(kept), kept[len(kept)-8:])
		}
	}
}

func TestLocalPath(t *testing.T) {
	for _, c := range []struct {
		path    string
		windows bool
		want    string
	}{
		{"/C:/modules/a", true, "C:/modules/a"}, {"/C:", true, "C:"}, {"//server/share", true, "//server/share"}, {"/srv/a", true, "/srv/a"},
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

// TestInterruptedProgram: what a program started and left behind isn't waited for.
func TestInterruptedProgram(t *testing.T) {
	l := newLab(t)
	l.write(map[string]string{"bin/fetcher": "#!/bin/sh\nsleep 600 &\necho $! >" + l.top + "/pid.new\nmv " + l.top + "/pid.new " + l.top + "/pid\nwait\n"})
	if err := os.Chmod(l.top+"/bin/fetcher", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", l.top+"/bin:"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- run(ctx, os.Environ(), "fetcher") }()
	var pid int
	for pid == 0 {
		time.Sleep(10 * time.Millisecond)
		text, _ := os.ReadFile(l.top + "/pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("there is no error")
	}
	if err := child.Kill(); err != nil {
		t.Errorf("the child was waited for: %v", err)
	}
}

// TestFailedOnce: a package that can't be had is asked for once, however many calls there are of it, and what is wrong with it is said once.
func TestFailedOnce(t *testing.T) {
	l := newLab(t)
	main := call("a", l.url+"/none.zip") + call("b", l.url+"/none.zip//sub") + call("c", l.url+"/none.zip")
	diags := l.install(main, false)
	if len(diags) != 3 || strings.Count(diags.Err().Error(), "404") != 1 || strings.Count(strings.Join(l.seen, " "), "/none.zip") != 1 {
		t.Errorf("%v\n%v", l.seen, diags.Err())
	}
	// That a package isn't the pinned one is an error of the package, not of its calls.
	l.pages["/none.zip"] = bytesPage(zipOf(map[string]string{"main.tf": value("1")}))
	pins := depsfile.ModuleLocks{{Source: l.url + "/none.zip", Hash: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
	l.seen = nil
	if _, diags := l.pin(main, false, pins); len(diags) != 1 || !strings.Contains(diags.Err().Error(), "was changed") || len(l.seen) != 1 {
		t.Errorf("%v\n%v", l.seen, diags.Err())
	}
	if m, err := ReadManifest(".terraform/modules"); err != nil || len(m) != 1 {
		t.Errorf("modules that are not there are listed: %v, %v", m, err)
	}
}

func TestRegistry(t *testing.T) {
	l := newLab(t)
	list := []any{map[string]any{"version": "1.0.0"}, map[string]any{"version": "1.1.0"}, map[string]any{"version": "2.0.0-rc1"}}
	l.pages["/v1/acme/net/lab/versions"] = func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"modules": []any{map[string]any{"versions": list}}})
	}
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0-rc1"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", "/"+v+".zip")
			w.WriteHeader(http.StatusNoContent)
		}
		l.pages["/"+v+".zip"] = bytesPage(zipOf(map[string]string{"main.tf": value(v), "sub/main.tf": value("sub " + v)}))
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
	l.bad(call("a", source, `version = "> 3"`), "meets the constraints")
	l.bad(call("a", "modules.example.com/acme/none/lab"), "there is no module")
	l.pages["/v1/acme/net/lab/1.1.0/download"] = func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"location": "/1.1.0.zip", "use_registry_credentials": "yes"}`))
	}
	if err := os.RemoveAll(".terraform"); err != nil {
		t.Fatal(err)
	}
	l.bad(call("a", source), "use_registry_credentials")
}

func TestCopyRoot(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": call("p", "./part"), "part/main.tf": value("p"), ".terraform.lock.hcl": "", ".hidden": "h"})
	in, diags := NewInstaller(t.Context(), &Options{Dir: ".terraform/modules", Client: l.client})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if err := in.CopyRoot("git::file://"+l.top+"/repo", "."); err != nil {
		t.Fatal(err)
	}
	l.has("part/main.tf", value("p"))
	l.has(".hidden", "h")
	if _, err := os.Stat(".terraform.lock.hcl"); err == nil {
		t.Error("the lock file is copied")
	}
	if err := in.CopyRoot("git::file://"+l.top+"/nothing", "x"); err == nil {
		t.Error("nothing is copied")
	}
}

func TestNetrc(t *testing.T) {
	const text = "# logins\nmachine a.example login me password s3cret\nmacdef x\nmachine b.example login no password no\n\nmachine\nb.example\nlogin you\npassword p\ndefault login anonymous password x\n"
	for host, want := range map[string]string{"a.example": "me:s3cret", "b.example": "you:p", "c.example": "anonymous:x"} {
		if got := parseNetrc(text, host); got.String() != want {
			t.Errorf("%s: %s", host, got)
		}
	}
	if got := parseNetrc("machine a.example login me", "b.example"); got != nil {
		t.Errorf("%s", got)
	}
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
