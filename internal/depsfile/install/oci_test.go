package install

import (
	"os"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/testenv/registrytest"
)

func TestOCIMirror(t *testing.T) {
	b := newBench(t)
	reg := registrytest.StartOCI()
	defer reg.Close()
	repo, host := reg.Repository("providers/acme/tool"), reg.Host
	const indexKind, manifestKind = registrytest.OCIIndex, registrytest.OCIManifest
	for _, version := range []string{"1.0.0", "1.1.0+lab.1"} {
		archives := map[string][]byte{}
		for _, platform := range []string{here(), "plan9_arm"} {
			archives[platform] = registrytest.Zip(t, content(tool, version, platform))
		}
		repo.Provider(version, archives)
	}
	with := func(c cliconfig.OCICredentials) *sources.OCIMirror {
		cfg := &cliconfig.Config{RegistryTimeout: time.Second, OCICredentials: []cliconfig.OCICredentials{c}}
		mirror, err := sources.NewOCIMirror(oci.New(registry.New(cfg)), host+"/providers/${namespace}/${type}",
			mustPatterns(t, "example.com/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return mirror
	}
	b.opts.Source = with(cliconfig.OCICredentials{Registry: host, Path: "providers", Username: "me",
		Password: "s3cret"})
	locks := b.ensure(b.reqs(tool, ""), nil)
	b.version(locks, tool, "1.1.0+lab.1")
	if lock, _ := locks.Provider(tool); len(lock.Hashes) != 2 {
		t.Errorf("h1 and zh are expected: %v", lock.Hashes)
	}
	b.refuse(b.reqs(spare, ""), nil, "was not found in the OCI mirror")
	b.refuse(b.reqs(tool, "> 2"), nil, "meets the version constraints")
	reg.Cut, reg.Ranges = 10, nil
	b.ensure(b.reqs(tool, "1.0.0"), nil)
	if len(reg.Ranges) != 1 || !strings.HasPrefix(reg.Ranges[0], "bytes=10-") {
		t.Errorf("a transfer that broke off goes on with %q", reg.Ranges)
	}
	reg.Cut = 0
	b.forget()
	reg.Damage = true
	b.refuse(b.reqs(tool, "1.0.0"), nil, "doesn't have the digest")
	reg.Cut, reg.Damage = -1, false
	b.refuse(b.reqs(tool, "1.0.0"), nil, "the transfer was interrupted")
	reg.Cut = 0
	b.opts.Source = with(cliconfig.OCICredentials{Registry: host, Path: "other", Username: "me", Password: "s3cret"})
	b.refuse(b.reqs(tool, ""), nil, "Could not resolve provider")
	// The credentials are in a Docker configuration file, and one artifact has the wrong type.
	file := b.path("config.json")
	if err := os.WriteFile(file, []byte(`{"auths": {"`+host+`": {"auth": "bWU6czNjcmV0"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &cliconfig.Config{RegistryTimeout: time.Second,
		OCIDefault: cliconfig.OCIDefault{Discover: true, Files: []string{file}}}
	mirror, err := sources.NewOCIMirror(oci.New(registry.New(cfg)), host+"/providers/acme/${type}",
		mustPatterns(t, "example.com/acme/*"))
	if err != nil {
		t.Fatal(err)
	}
	b.opts.Source = mirror
	// The errors are: ambiguous packages, packages for another version of the operating system, and
	// manifests whose type is ambiguous.
	layer := repo.Blob("archive/zip", registrytest.Zip(t, content(tool, "1.5.0", here())))
	osName, arch, _ := strings.Cut(here(), "_")
	pkg := func(version string) map[string]any {
		m := repo.Manifest(manifestKind,
			map[string]any{"artifactType": "application/vnd.opentofu.provider-target", "layers": []any{layer}})
		m["platform"] = map[string]any{"os": osName, "architecture": arch, "os.version": version}
		return m
	}
	release := func(list ...any) map[string]any {
		return map[string]any{"artifactType": "application/vnd.opentofu.provider", "manifests": list}
	}
	for _, c := range []struct {
		kind  string
		index map[string]any
		want  string
	}{
		{indexKind, release(pkg(""), pkg("")), "2 packages"},
		{indexKind, release(pkg("10.0")), "isn't available for"},
		{manifestKind, release(pkg("")), "is required"},
		{"application/json", release(pkg("")), "is required"},
	} {
		repo.Tags["1.5.0"] = repo.Manifest(c.kind, c.index)["digest"].(string)
		b.refuse(b.reqs(tool, ""), nil, c.want)
	}
	repo.Tags["1.5.0"] = repo.Manifest(indexKind, release(pkg("10.0"), pkg("")))["digest"].(string)
	b.version(b.ensure(b.reqs(tool, ""), nil), tool, "1.5.0")
	reg.Damage, repo.Tags["2.0.0"] = false, repo.Manifest(indexKind,
		map[string]any{"artifactType": "application/other", "manifests": []any{}})["digest"].(string)
	b.refuse(b.reqs(tool, ""), nil, "application/other")
}

// TestOCITokens checks that a token is fetched once per repository and is not sent to other
// repositories.
func TestOCITokens(t *testing.T) {
	b := newBench(t)
	reg := registrytest.StartOCI()
	defer reg.Close()
	reg.Tokens = true
	for _, p := range []addrs.Provider{tool, spare} {
		repo := reg.Repository("providers/acme/" + p.Type)
		for _, version := range []string{"1.0.0", "1.1.0"} {
			repo.Provider(version, map[string][]byte{here(): registrytest.Zip(t, content(p, version, here()))})
		}
	}
	login := cliconfig.OCICredentials{Registry: reg.Host, Username: "me", Password: "s3cret"}
	cfg := &cliconfig.Config{RegistryTimeout: time.Second, OCICredentials: []cliconfig.OCICredentials{login}}
	mirror, err := sources.NewOCIMirrorURI(oci.New(registry.New(cfg)), reg.Host+"/providers{/namespace,type}")
	if err != nil {
		t.Fatal(err)
	}
	b.opts.Source = mirror
	both := b.reqs(tool, "")
	both[spare] = b.reqs(spare, "1.0.0")[spare]
	locks := b.ensure(both, nil)
	b.version(locks, tool, "1.1.0")
	b.version(locks, spare, "1.0.0")
	b.version(b.ensure(b.reqs(tool, "1.0.0"), nil), tool, "1.0.0")
	for _, p := range []addrs.Provider{tool, spare} {
		if n := reg.Issued("providers/acme/" + p.Type); n != 1 {
			t.Errorf("%d tokens were issued for the repository of %s", n, p)
		}
	}
}

func mustPatterns(t *testing.T, texts ...string) sources.Patterns {
	t.Helper()
	var out sources.Patterns
	for _, text := range texts {
		p, err := sources.ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestOCITemplates(t *testing.T) {
	client := oci.New(registry.New(&cliconfig.Config{}))
	for template, ok := range map[string]bool{
		"x.example/${hostname}/${namespace}/${type}": true,
		// With these templates, several providers would have the same repository or no repository.
		"x.example/${namespace}/${type}":            false,
		"x.example/${hostname}/${namespace}/${typ}": false,
		"x.example/${hostname":                      false,
	} {
		if _, err := sources.NewOCIMirror(client, template, nil); (err == nil) != ok {
			t.Errorf("%s: %v", template, err)
		}
	}
	if _, err := sources.NewOCIMirror(client, "x.example/tls", mustPatterns(t, "hashicorp/tls")); err != nil {
		t.Error(err)
	}
	for template, want := range map[string]string{
		"x.example/{hostname}/{namespace}/{type}": "",
		"x.example/{hostname}{/namespace,type}":   "",
		"x.example/tls":                           "",
		"x.example/${namespace}/${type}":          "in the form ${…}",
		"x.example/{namespace}/{typ}":             `variable "typ"`,
		"x.example/{namespace":                    "isn't valid",
		"x.example/Big/{type}":                    "not a valid address of an OCI repository",
		"https://x.example/{type}":                "not a valid address of an OCI repository",
	} {
		_, err := sources.NewOCIMirrorURI(client, template)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", template, err)
		}
	}
}
