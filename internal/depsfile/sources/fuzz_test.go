package sources

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/registry"
)

// FuzzAnswers checks that arbitrary documents from registries and mirrors result in an error, or in
// valid versions and a package whose hashes have a known form and whose signature was verified.
func FuzzAnswers(f *testing.F) {
	var versions, release, sums string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/versions"), strings.HasSuffix(r.URL.Path, "/index.json"):
			io.WriteString(w, versions)
		case strings.Contains(r.URL.Path, "/download/"), strings.HasSuffix(r.URL.Path, "/1.0.0.json"):
			io.WriteString(w, release)
		default:
			io.WriteString(w, sums)
		}
	}))
	f.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/")
	if err != nil {
		f.Fatal(err)
	}
	v, err := depsfile.ParseVersion("1.0.0")
	if err != nil {
		f.Fatal(err)
	}
	sum := strings.Repeat("0a", 32)
	f.Add(`{"versions": [{"version": "1.0.0", "protocols": ["6.0"]}], "warnings": ["w"]}`,
		`{"protocols": ["6.0"], "os": "linux", "arch": "amd64", "filename": "x.zip", "download_url": "x.zip", "shasums_url": "sums",
			"shasums_signature_url": "sig", "shasum": "`+sum+`", "signing_keys": {"gpg_public_keys": [{"ascii_armor": "x"}]},
			"packages": {"linux_amd64": {"hashes": ["zh:`+sum+`"], "package_size": 5}}}`, sum+"  x.zip\n")
	f.Add(`{"versions": {"1.0.0": {}, "1": null}}`,
		`{"archives": {"linux_amd64": {"url": "x.zip", "hashes": ["h1:x", "zh:`+
			sum+`"]}, "x": {"hashes": ["?"]}}}`, "")
	f.Add(`{"versions": [null, {"version": 1}]}`,
		`{"protocols": ["x"], "packages": {"": {}}, "signing_keys": {"gpg_public_keys": null}}`,
		"x")
	f.Add(`[]`, `{"protocols": null, "os": "linux", "arch": "amd64", "filename": "../x", "download_url": `+
		`"file:///etc/passwd", "shasum": "00"}`,
		"\x00")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		versions, release, sums = a, b, c
		client := registry.New(&cliconfig.Config{RegistryTimeout: time.Second, Hosts: map[string]cliconfig.Host{
			tool.Host: {Services: map[string]any{"providers.v1": u.String()}}}})
		for _, source := range []Source{
			&Direct{Client: client, Now: time.Now},
			&NetworkMirror{Client: client, URL: u, TrustAllHashes: true},
		} {
			found, err := source.Versions(t.Context(), tool)
			if err == nil && len(found.List) == 0 {
				t.Errorf("%s: no versions and no error for %q", source, a)
			}
			pkg, err := source.Package(t.Context(), tool, v, linux)
			if err != nil {
				continue
			}
			if direct, ok := source.(*Direct); ok && pkg.KeyID == "" {
				t.Errorf("%s: unsigned: %q, %q", direct, b, c)
			}
			for _, h := range append(pkg.Trusted, pkg.Reported...) {
				if _, err := depsfile.ParseHash(string(h)); err != nil {
					t.Errorf("%s trusts the hash %q", source, h)
				}
			}
		}
	})
}
