package install

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
)

// TestMain makes the certificate of the test servers a trusted one: all of them use the same.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "install-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		s := httptest.NewTLSServer(nil)
		defer s.Close()
		file := filepath.Join(dir, "ca.pem")
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		if err := os.WriteFile(file, block, 0o600); err != nil {
			panic(err)
		}
		os.Setenv("SSL_CERT_FILE", file)
		return m.Run()
	}())
}

// server is a provider registry and a network mirror on a loopback port.
type server struct {
	*bench
	http *httptest.Server
	key  *openpgp.Entity
	// provider releases: version to platforms
	releases map[string][]string
	ballast  string // one more file in each package
	// fault answers a request in place of the server, and tells whether it did.
	fault func(w http.ResponseWriter, r *http.Request) bool
	// edit changes a document before it is sent.
	edit func(path string, doc map[string]any)

	mu   sync.Mutex
	seen []string
}

func newServer(b *bench) *server {
	s := &server{bench: b, releases: map[string][]string{"1.0.0": {here(), "plan9_arm"}, "1.1.0": {here(), "plan9_arm"}}}
	s.key = newKey(b, time.Now().Add(-time.Hour), 0)
	s.http = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	b.Cleanup(s.http.Close)
	return s
}

func newKey(b *bench, created time.Time, life time.Duration) *openpgp.Entity {
	b.Helper()
	key, err := openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA,
		Time: func() time.Time { return created }, KeyLifetimeSecs: uint32(life / time.Second)})
	if err != nil {
		b.Fatal(err)
	}
	return key
}

func armored(b *bench, key *openpgp.Entity) string {
	b.Helper()
	var out bytes.Buffer
	w, err := armor.Encode(&out, openpgp.PublicKeyType, nil)
	if err == nil {
		err = key.Serialize(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return out.String()
}

func zipBytes(files map[string]string) []byte {
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

func (s *server) archive(version, platform string) []byte {
	files := content(tool, version, platform)
	if s.ballast != "" {
		files["ballast"] = s.ballast
	}
	return zipBytes(files)
}

func (s *server) name(version, platform string) string {
	return fmt.Sprintf("terraform-provider-tool_%s_%s.zip", version, platform)
}

func (s *server) sums(version string) []byte {
	var out strings.Builder
	for _, platform := range s.releases[version] {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(s.archive(version, platform)), s.name(version, platform))
	}
	return []byte(out.String())
}

func (s *server) signature(version string) []byte {
	var out bytes.Buffer
	at := s.key.PrimaryKey.CreationTime.Add(time.Minute)
	if err := openpgp.DetachSign(&out, s.key, bytes.NewReader(s.sums(version)), &packet.Config{Time: func() time.Time { return at }}); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.URL.Path)
	fault, edit := s.fault, s.edit
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	send := func(doc map[string]any) {
		if edit != nil {
			edit(r.URL.Path, doc)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(doc); err != nil {
			panic(err)
		}
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/v1/acme/tool/versions":
		var list []any
		for _, v := range slices.Sorted(maps.Keys(s.releases)) {
			list = append(list, map[string]any{"version": v})
		}
		send(map[string]any{"versions": list})
	case len(parts) == 7 && parts[4] == "download":
		s.download(send, w, parts[3], parts[5]+"_"+parts[6])
	case parts[0] == "files" && strings.HasSuffix(r.URL.Path, "SUMS"):
		w.Write(s.sums(parts[1]))
	case parts[0] == "files" && strings.HasSuffix(r.URL.Path, ".sig"):
		w.Write(s.signature(parts[1]))
	case parts[0] == "files":
		platform := strings.TrimSuffix(strings.TrimPrefix(parts[2], "terraform-provider-tool_"+parts[1]+"_"), ".zip")
		http.ServeContent(w, r, parts[2], time.Unix(1e9, 0), bytes.NewReader(s.archive(parts[1], platform)))
	case parts[0] == "mirror" && strings.HasSuffix(r.URL.Path, "/index.json"):
		list := map[string]any{}
		for v := range s.releases {
			list[v] = map[string]any{}
		}
		send(map[string]any{"versions": list})
	case parts[0] == "mirror":
		version := strings.TrimSuffix(parts[4], ".json")
		archives := map[string]any{}
		for _, p := range s.releases[version] {
			zh := sha256.Sum256(s.archive(version, p))
			archives[p] = map[string]any{"url": "/files/" + version + "/" + s.name(version, p), "hashes": []any{"zh:" + hex.EncodeToString(zh[:])}}
		}
		send(map[string]any{"archives": archives})
	default:
		http.NotFound(w, r)
	}
}

func (s *server) download(send func(map[string]any), w http.ResponseWriter, version, platform string) {
	if !slices.Contains(s.releases[version], platform) {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	osName, arch, _ := strings.Cut(platform, "_")
	data := s.archive(version, platform)
	sum := sha256.Sum256(data)
	base := "/files/" + version + "/"
	send(map[string]any{"protocols": []any{"5.0"}, "os": osName, "arch": arch, "filename": s.name(version, platform),
		"download_url": base + s.name(version, platform), "shasums_url": base + "SHA256SUMS", "shasums_signature_url": base + "SHA256SUMS.sig",
		"shasum":       hex.EncodeToString(sum[:]),
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]any{"key_id": "X", "ascii_armor": armored(s.bench, s.key)}}}})
}

// config makes the server the registry of example.com and of the default host.
func (s *server) config() *cliconfig.Config {
	services := cliconfig.Host{Services: map[string]any{"providers.v1": s.http.URL + "/v1/"}}
	return &cliconfig.Config{Hosts: map[string]cliconfig.Host{"example.com": services, addrs.DefaultHost: services},
		RegistryTimeout: 5 * time.Second, RegistryRetries: 1, DownloadRetries: 2}
}

func (s *server) client() *registry.Client { return registry.New(s.config(), "test") }

func (s *server) direct() *sources.Direct {
	d := sources.NewDirect(s.client(), 2)
	d.Policy = sources.SignaturePolicy{}
	return d
}

func (s *server) requests(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, path := range s.seen {
		if strings.Contains(path, part) {
			n++
		}
	}
	s.seen = nil
	return n
}

// forget forgets what was installed.
func (s *bench) forget() {
	s.Helper()
	for _, name := range []string{"work", "store/packages", "store/archives", "store/releases", "store/roots"} {
		if err := os.RemoveAll(s.path(name)); err != nil {
			s.Fatal(err)
		}
	}
	for _, name := range []string{"packages", "archives", "releases", "roots"} {
		if err := os.MkdirAll(s.path("store/"+name), 0o755); err != nil {
			s.Fatal(err)
		}
	}
}

func platforms(t *testing.T, names ...string) []depsfile.Platform {
	t.Helper()
	var out []depsfile.Platform
	for _, name := range names {
		p, err := depsfile.ParsePlatform(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

var plan9 = depsfile.Platform{OS: "plan9", Arch: "arm"}
