package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/registry/registrytest"
)

// ociRegistry speaks the distribution protocol over TLS and wants a password.
type ociRegistry struct {
	tags      map[string]string // of the one repository, to digests
	manifests map[string][]byte // by digest
	blobs     map[string][]byte
	types     map[string]string
	damage    bool // what is sent of blobs isn't what was asked for
	cut       int  // so many bytes of a blob are sent at first; if negative, one each time
	ranges    []string
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (r *ociRegistry) manifest(kind string, doc map[string]any) map[string]any {
	doc["schemaVersion"], doc["mediaType"] = 2, kind
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	d := digest(data)
	r.manifests[d], r.types[d] = data, kind
	return map[string]any{"mediaType": kind, "digest": d, "size": len(data), "artifactType": doc["artifactType"]}
}

func (r *ociRegistry) blob(kind string, data []byte) map[string]any {
	d := digest(data)
	r.blobs[d] = data
	return map[string]any{"mediaType": kind, "digest": d, "size": len(data)}
}

func (r *ociRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if user, password, ok := req.BasicAuth(); !ok || user != "me" || password != "s3cret" {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	rest, ok := strings.CutPrefix(req.URL.Path, "/v2/providers/acme/tool/")
	if !ok {
		http.NotFound(w, req)
		return
	}
	kind, name, _ := strings.Cut(rest, "/")
	switch kind {
	case "tags":
		tags := []string{"latest", "not-a-version"}
		for tag := range r.tags {
			tags = append(tags, tag)
		}
		json.NewEncoder(w).Encode(map[string]any{"name": "providers/acme/tool", "tags": tags})
	case "manifests":
		if d, ok := r.tags[name]; ok {
			name = d
		}
		data, ok := r.manifests[name]
		if !ok {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", r.types[name])
		w.Header().Set("Docker-Content-Digest", name)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		w.Write(data)
	case "blobs":
		data := r.blobs[name]
		if r.damage {
			data = append([]byte("X"), data[1:]...)
		}
		if r.cut > 0 && req.Header.Get("Range") == "" || r.cut < 0 {
			w.Header().Set("Accept-Ranges", "bytes")
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			w.Write(data[:max(r.cut, 1)])
			return
		}
		r.ranges = append(r.ranges, req.Header.Get("Range"))
		http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(data))
	}
}

func TestOCIMirror(t *testing.T) {
	b := newBench(t)
	reg := &ociRegistry{tags: map[string]string{}, manifests: map[string][]byte{}, blobs: map[string][]byte{}, types: map[string]string{}}
	server := httptest.NewTLSServer(reg)
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "https://")
	const indexKind, manifestKind = "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"
	for _, version := range []string{"1.0.0", "1.1.0+lab.1"} {
		var list []any
		for _, platform := range []string{here(), "plan9_arm"} {
			layer := reg.blob("archive/zip", registrytest.Zip(t, content(tool, version, platform)))
			m := reg.manifest(manifestKind, map[string]any{"artifactType": "application/vnd.opentofu.provider-target", "layers": []any{layer}, "config": reg.blob("application/vnd.oci.empty.v1+json", []byte("{}"))})
			osName, arch, _ := strings.Cut(platform, "_")
			m["platform"] = map[string]any{"os": osName, "architecture": arch}
			list = append(list, m)
		}
		index := reg.manifest(indexKind, map[string]any{"artifactType": "application/vnd.opentofu.provider", "manifests": list})
		reg.tags[strings.ReplaceAll(version, "+", "_")] = index["digest"].(string)
	}
	with := func(c cliconfig.OCICredentials) *sources.OCIMirror {
		cfg := &cliconfig.Config{RegistryTimeout: time.Second, OCICredentials: []cliconfig.OCICredentials{c}}
		mirror, err := sources.NewOCIMirror(oci.New(registry.New(cfg, "test")), host+"/providers/${namespace}/${type}", mustPatterns(t, "example.com/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return mirror
	}
	b.opts.Source = with(cliconfig.OCICredentials{Registry: host, Path: "providers", Username: "me", Password: "s3cret"})
	locks := b.ensure(b.reqs(tool, ""), nil)
	b.version(locks, tool, "1.1.0+lab.1")
	if lock, _ := locks.Provider(tool); len(lock.Hashes) != 2 {
		t.Errorf("h1 and zh are expected: %v", lock.Hashes)
	}
	b.refuse(b.reqs(spare, ""), nil, "was not found in the OCI mirror")
	b.refuse(b.reqs(tool, "> 2"), nil, "meets the version constraints")
	reg.cut, reg.ranges = 10, nil
	b.ensure(b.reqs(tool, "1.0.0"), nil)
	if len(reg.ranges) != 1 || !strings.HasPrefix(reg.ranges[0], "bytes=10-") {
		t.Errorf("a transfer that broke off goes on with %q", reg.ranges)
	}
	reg.cut = 0
	b.forget()
	reg.damage = true
	b.refuse(b.reqs(tool, "1.0.0"), nil, "doesn't have the digest")
	reg.cut, reg.damage = -1, false
	b.refuse(b.reqs(tool, "1.0.0"), nil, "broke off")
	reg.cut = 0
	b.opts.Source = with(cliconfig.OCICredentials{Registry: host, Path: "other", Username: "me", Password: "s3cret"})
	b.refuse(b.reqs(tool, ""), nil, "Could not resolve provider")
	// Credentials of a Docker configuration file, and an artifact of another kind.
	file := b.path("config.json")
	if err := os.WriteFile(file, []byte(`{"auths": {"`+host+`": {"auth": "bWU6czNjcmV0"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &cliconfig.Config{RegistryTimeout: time.Second, OCIDefault: cliconfig.OCIDefault{Discover: true, Files: []string{file}}}
	mirror, err := sources.NewOCIMirror(oci.New(registry.New(cfg, "test")), host+"/providers/acme/${type}", mustPatterns(t, "example.com/acme/*"))
	if err != nil {
		t.Fatal(err)
	}
	b.opts.Source = mirror
	// Packages that can't be told apart, those for another version of the system, and manifests that may be read as something else.
	layer := reg.blob("archive/zip", registrytest.Zip(t, content(tool, "1.5.0", here())))
	osName, arch, _ := strings.Cut(here(), "_")
	pkg := func(version string) map[string]any {
		m := reg.manifest(manifestKind, map[string]any{"artifactType": "application/vnd.opentofu.provider-target", "layers": []any{layer}})
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
		{manifestKind, release(pkg("")), "should be"},
		{"application/json", release(pkg("")), "should be"},
	} {
		reg.tags["1.5.0"] = reg.manifest(c.kind, c.index)["digest"].(string)
		b.refuse(b.reqs(tool, ""), nil, c.want)
	}
	reg.tags["1.5.0"] = reg.manifest(indexKind, release(pkg("10.0"), pkg("")))["digest"].(string)
	b.version(b.ensure(b.reqs(tool, ""), nil), tool, "1.5.0")
	reg.damage, reg.tags["2.0.0"] = false, reg.manifest(indexKind, map[string]any{"artifactType": "application/other", "manifests": []any{}})["digest"].(string)
	b.refuse(b.reqs(tool, ""), nil, "application/other")
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
	client := oci.New(registry.New(&cliconfig.Config{}, "test"))
	for template, ok := range map[string]bool{
		"x.example/${hostname}/${namespace}/${type}": true,
		"x.example/${namespace}/${type}":             false, // the host is open
		"x.example/${hostname}/${namespace}/${typ}":  false,
		"x.example/${hostname":                       false,
	} {
		if _, err := sources.NewOCIMirror(client, template, nil); (err == nil) != ok {
			t.Errorf("%s: %v", template, err)
		}
	}
	if _, err := sources.NewOCIMirror(client, "x.example/tls", mustPatterns(t, "hashicorp/tls")); err != nil {
		t.Error(err)
	}
}
