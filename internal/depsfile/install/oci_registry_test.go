package install

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	godigest "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/bcrypt"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/testenv"
	"tofu/internal/testenv/registrytest"
)

// startRegistry starts the reference registry server with TLS and a password. It returns the
// server's address.
func startRegistry(b *bench) string {
	b.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		testenv.Missing(b, "there is no docker-registry", "install the CNCF distribution registry")
	}
	tls := httptest.NewTLSServer(nil) // only for its certificate, which tests trust
	tls.Close()
	cert := tls.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		b.Fatal(err)
	}
	password, err := bcrypt.GenerateFromPassword([]byte("s3cret"), bcrypt.MinCost)
	if err != nil {
		b.Fatal(err)
	}
	b.write(b.path("reg/cert.pem"),
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	b.write(b.path("reg/key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	b.write(b.path("reg/users"), "me:"+string(password)+"\n")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	config, err := json.Marshal(map[string]any{"version": 0.1, "log": map[string]any{"level": "error"},
		"storage": map[string]any{"filesystem": map[string]any{"rootdirectory": b.path("reg/data")}},
		"http": map[string]any{"addr": address,
			"tls": map[string]any{"certificate": b.path("reg/cert.pem"), "key": b.path("reg/key.pem")}},
		"auth": map[string]any{"htpasswd": map[string]any{"realm": "test", "path": b.path("reg/users")}}})
	if err != nil {
		b.Fatal(err)
	}
	b.write(b.path("reg/config.yml"), string(config))
	cmd := exec.Command(program, "serve", b.path("reg/config.yml"))
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for start := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get("https://" + address + "/v2/")
		if err == nil {
			resp.Body.Close()
			return address
		}
		if time.Since(start) > 20*time.Second {
			b.Fatalf("the registry doesn't start: %v\n%s", err, log.String())
		}
	}
}

// pusher pushes to a repository of a registry.
type pusher struct {
	*bench
	repo *remote.Repository
}

func (p pusher) push(kind string, data []byte, tag string) ocispec.Descriptor {
	p.Helper()
	desc := ocispec.Descriptor{MediaType: kind, Digest: godigest.FromBytes(data), Size: int64(len(data))}
	var err error
	if tag != "" {
		err = p.repo.PushReference(p.Context(), desc, bytes.NewReader(data), tag)
	} else {
		err = p.repo.Push(p.Context(), desc, bytes.NewReader(data))
	}
	if err != nil {
		p.Fatal(err)
	}
	return desc
}

func (p pusher) document(kind string, doc any, tag string) ocispec.Descriptor {
	p.Helper()
	data, err := json.Marshal(doc)
	if err != nil {
		p.Fatal(err)
	}
	return p.push(kind, data, tag)
}

// release pushes a provider's release as publishers do.
func (p pusher) release(version string) {
	p.Helper()
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, ArtifactType: "application/vnd.opentofu.provider"}
	index.SchemaVersion = 2
	for _, platform := range []string{here(), "plan9_arm"} {
		m := ocispec.Manifest{MediaType: ocispec.MediaTypeImageManifest,
			ArtifactType: "application/vnd.opentofu.provider-target",
			Config:       p.push("application/vnd.oci.empty.v1+json", []byte("{}"), ""),
			Layers: []ocispec.Descriptor{p.push("archive/zip",
				registrytest.Zip(p, content(tool, version, platform)), "")}}
		m.SchemaVersion = 2
		desc := p.document(m.MediaType, m, "")
		osName, arch, _ := strings.Cut(platform, "_")
		desc.ArtifactType, desc.Platform = m.ArtifactType, &ocispec.Platform{OS: osName, Architecture: arch}
		index.Manifests = append(index.Manifests, desc)
	}
	p.document(index.MediaType, index, strings.ReplaceAll(version, "+", "_"))
}

// TestOCIRegistry installs from a mirror in the reference registry.
func TestOCIRegistry(t *testing.T) {
	b := newBench(t)
	host := startRegistry(b)
	repo, err := remote.NewRepository(host + "/providers/acme/tool")
	if err != nil {
		t.Fatal(err)
	}
	repo.Client = &auth.Client{Cache: auth.NewCache(),
		Credential: auth.StaticCredential(host, auth.Credential{Username: "me", Password: "s3cret"})}
	p := pusher{b, repo}
	for i := range 3 { // add tags that are not versions
		p.document(ocispec.MediaTypeImageIndex, map[string]any{"schemaVersion": 2,
			"mediaType": ocispec.MediaTypeImageIndex, "manifests": []any{}}, fmt.Sprintf("stage-%d", i))
	}
	p.release("1.0.0")
	p.release("1.1.0+lab.1")
	with := func(password string) *sources.OCIMirror {
		cfg := &cliconfig.Config{RegistryTimeout: 5 * time.Second,
			OCICredentials: []cliconfig.OCICredentials{{Registry: host, Username: "me", Password: password}}}
		mirror, err := sources.NewOCIMirror(oci.New(registry.New(cfg)), host+"/providers/${namespace}/${type}",
			mustPatterns(t, "example.com/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return mirror
	}
	b.opts.Source = with("wrong")
	b.refuse(b.reqs(tool, ""), nil, "401")
	b.opts.Source = with("s3cret")
	locks := b.ensure(b.reqs(tool, ""), nil)
	b.version(locks, tool, "1.1.0+lab.1")
	b.version(b.ensure(b.reqs(tool, "1.0.0"), nil), tool, "1.0.0")
	b.refuse(b.reqs(spare, ""), nil, "was not found in the OCI mirror")
	both, _, err := NewLocker(b.opts).Lock(context.Background(), b.reqs(tool, ""), locks, []depsfile.Platform{plan9})
	if err != nil {
		t.Fatal(err)
	}
	if lock, _ := both.Provider(tool); len(lock.Hashes) != 4 {
		t.Errorf("h1 and zh of two platforms are expected: %v", lock.Hashes)
	}
	// If the registry's disk loses a package, the error says so and nothing is installed.
	blobs, err := filepath.Glob(b.path("reg/data/docker/registry/v2/blobs/sha256/*/*/data"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(blobs, err)
	}
	for _, blob := range blobs {
		data, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.HasPrefix(data, []byte("PK")) {
			b.write(blob, string(data[:len(data)-1])+"X")
		}
	}
	b.forget()
	b.refuse(b.reqs(tool, ""), nil, "digest")
}
