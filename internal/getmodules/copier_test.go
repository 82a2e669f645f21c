package getmodules

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCopier checks to which directories packages are copied, and that each package is fetched only
// once, even in later runs.
func TestCopier(t *testing.T) {
	l := newLab(t)
	l.commit("net.git", "v1", map[string]string{"a/main.tf": value("a1"), "b/main.tf": value("b1"), "a/.hidden": "h"})
	l.commit("net.git", "v2", map[string]string{"a/main.tf": value("a2")})
	l.write(map[string]string{"other/readme": ""})
	l.commit("other/net", "v1", map[string]string{"a/main.tf": value("other")})
	l.pages["/v1/acme/net/lab/versions"] = func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "1.1.0"}]}]}`))
	}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", "/"+v+".zip//in")
			w.WriteHeader(http.StatusNoContent)
		}
		files := map[string]string{"in/main.tf": value(v), "in/sub/main.tf": value("sub " + v)}
		l.pages["/"+v+".zip"] = bytesPage(zipOf(files))
	}
	const registry = "modules.example.com/acme/net/lab"
	repo, other := "git::file://"+l.top+"/net.git", "git::file://"+l.top+"/other/net"
	l.pages["/redirected"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Terraform-Get", l.url+"/whole.zip//deep")
	}
	l.pages["/whole.zip"] = bytesPage(zipOf(map[string]string{"deep/main.tf": value("deep")}))
	if err := os.MkdirAll("vendor/own", 0o755); err != nil { // not a copy
		t.Fatal(err)
	}
	l.commit("own", "v1", map[string]string{"main.tf": value("own")})
	c := NewCopier(l.client, "vendor")
	copies := []struct{ source, version, dir, value string }{
		{repo + "//a?ref=v1", "", "vendor/net-v1/a", "a1"},
		{repo + "//b?ref=v1", "", "vendor/net-v1/b", "b1"},
		{repo + "//a?ref=v2", "", "vendor/net-v2/a", "a2"},
		{repo + "//a", "", "vendor/net/a", "a2"},
		{other + "//a?ref=v1", "", "vendor/net-v1-2/a", "other"},
		{registry, "~> 1.0.0", "vendor/acme-net-lab-1.0.0/in", "1.0.0"},
		{registry, "", "vendor/acme-net-lab-1.1.0/in", "1.1.0"},
		{registry + "//sub", "1.0.0", "vendor/acme-net-lab-1.0.0/in/sub", "sub 1.0.0"},
		{l.url + "/redirected", "", "vendor/redirected/deep", "deep"},
		{"git::file://" + l.top + "/own", "", "vendor/own-2", "own"},
	}
	check := func(c *Copier, source, version, want, content string) {
		t.Helper()
		dir, err := c.Copy(t.Context(), source, version)
		if err != nil || filepath.ToSlash(dir) != want {
			t.Errorf("%s %s is in %s, want %s: %v", source, version, dir, want, err)
			return
		}
		l.has(dir+"/main.tf", value(content))
	}
	for _, test := range copies {
		check(c, test.source, test.version, test.dir, test.value)
	}
	again := NewCopier(l.client, "vendor")
	for _, test := range slices.Backward(copies) {
		check(again, test.source, test.version, test.dir, test.value)
	}
	l.has("vendor/net-v1/a/.hidden", "h")
	for path, most := range map[string]int{"/1.0.0.zip": 1, "/1.1.0.zip": 1, "/whole.zip": 1} {
		if n := strings.Count(strings.Join(l.seen, "\n")+"\n", path+"\n"); n > most {
			t.Errorf("%s was fetched %d times", path, n)
		}
	}
	for source, want := range map[string]string{"./local": "is a local directory",
		repo + "//none?ref=v1": "there is no directory",
		repo + "?ref=v9":       "v9", "modules.example.com/acme/none/lab": "there is no module"} {
		if _, err := c.Copy(t.Context(), source, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", source, err, want)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"git::https://eve:token@example.com/net.git?ref=v1":  "git::https://example.com/net.git?ref=v1",
		"git::https://token@example.com/net.git":             "git::https://example.com/net.git",
		"http://example.com/a.zip?archive=zip":               "http://example.com/a.zip?archive=zip",
		"https://example.com/a@b.zip":                        "https://example.com/a@b.zip",
		"git::ssh://git@example.com/net.git?sshkey=a&ref=v1": "git::ssh://git@example.com/net.git?sshkey=&ref=v1",
		"git::git@example.com:acme/net.git":                  "git::git@example.com:acme/net.git",
	} {
		if got := WithoutSecrets(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
