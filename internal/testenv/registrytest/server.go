// Package registrytest implements a provider registry and network mirror on a loopback port, for
// tests. It uses TLS, has real archives and signatures, records requests, and can inject faults.
//
// Invariants: the same request always returns the same document or archive; nothing is mocked, so
// any client that can install from other hosts can install from this server.
package registrytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// Server serves the providers of one namespace, "acme".
//
//	/v1/acme/TYPE/versions, /v1/acme/TYPE/VERSION/download/OS/ARCH    the registry protocol
//	/mirror/HOST/acme/TYPE/index.json and VERSION.json                the network mirror protocol, for any host
//	/files/TYPE/VERSION/NAME                                          archives, SHA256SUMS and SHA256SUMS.sig
type Server struct {
	URL string
	// Key signs the checksums.
	Key *openpgp.Entity
	// Scheme is the scheme of the hashes that the mirror reports, "zh" or "h1".
	Scheme string
	// Fault may respond to a request instead of the server, and reports whether it has. It may be
	// nil.
	Fault func(w http.ResponseWriter, r *http.Request) bool
	// Uploaded holds the time at which the files of versions were uploaded. Files of other versions
	// have no date. If it is nil, all files are old.
	Uploaded map[string]time.Time
	// Edit modifies a document before it is sent. It may be nil.
	Edit func(path string, doc map[string]any)

	t        testing.TB
	http     *httptest.Server
	archives map[release]map[string][]byte // archives of each release by platform

	mu   sync.Mutex
	seen []string
}

type release struct{ provider, version string }

// New starts a server without providers.
func New(t testing.TB) *Server {
	s := &Server{t: t, Key: NewKey(t, time.Now().Add(-time.Hour), 0), Scheme: "zh",
		archives: make(map[release]map[string][]byte)}
	s.http = httptest.NewUnstartedServer(s)
	s.http.Config.ErrorLog = log.New(io.Discard, "", 0) // killed clients cause errors that are not interesting
	s.http.StartTLS()
	s.URL = s.http.URL
	t.Cleanup(s.http.Close)
	return s
}

// Certificate returns the certificate that clients must trust, in the format of SSL_CERT_FILE. All
// servers have the same certificate.
func Certificate() []byte {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// Add adds a package with the given files.
func (s *Server) Add(provider, version, platform string, files map[string]string) {
	r := release{provider, version}
	if s.archives[r] == nil {
		s.archives[r] = make(map[string][]byte)
	}
	s.archives[r][platform] = Zip(s.t, files)
}

// Archive returns the archive of a package.
func (s *Server) Archive(provider, version, platform string) []byte {
	return s.archives[release{provider, version}][platform]
}

// Requests returns the number of requests whose path contains part since its last call.
func (s *Server) Requests(part string) int {
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

// versions returns the versions of a provider.
func (s *Server) versions(provider string) []string {
	var found []string
	for r := range s.archives {
		if r.provider == provider {
			found = append(found, r.version)
		}
	}
	slices.Sort(found)
	return found
}

// Sums returns the content of SHA256SUMS for a release.
func (s *Server) Sums(provider, version string) []byte {
	var out bytes.Buffer
	archives := s.archives[release{provider, version}]
	for _, platform := range slices.Sorted(maps.Keys(archives)) {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(archives[platform]), name(provider, version, platform))
	}
	return out.Bytes()
}

// Signature returns the content of SHA256SUMS.sig for a release.
func (s *Server) Signature(provider, version string) []byte {
	return sign(s.t, s.Key, s.Sums(provider, version))
}

func name(provider, version, platform string) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", provider, version, platform)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.URL.Path)
	s.mu.Unlock()
	if s.Fault != nil && s.Fault(w, r) {
		return
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "v1" && len(parts) == 4 && parts[3] == "versions":
		s.list(w, r, parts[2])
	case parts[0] == "v1" && len(parts) == 7 && parts[4] == "download":
		s.download(w, r, release{parts[2], parts[3]}, parts[5], parts[6])
	case parts[0] == "mirror" && len(parts) == 5:
		s.mirror(w, r, parts[3], parts[4])
	case parts[0] == "files" && len(parts) == 4:
		s.file(w, r, release{parts[1], parts[2]}, parts[3])
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, doc map[string]any) {
	if s.Edit != nil {
		s.Edit(r.URL.Path, doc)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(doc); err != nil {
		s.t.Log(err) // an error means that the client has disconnected
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, provider string) {
	var list []any
	for _, v := range s.versions(provider) {
		list = append(list, map[string]any{"version": v})
	}
	if list == nil {
		http.NotFound(w, r)
		return
	}
	s.send(w, r, map[string]any{"versions": list})
}

func (s *Server) download(w http.ResponseWriter, r *http.Request, of release, system, arch string) {
	platform := system + "_" + arch
	data, ok := s.archives[of][platform]
	if !ok {
		http.NotFound(w, r)
		return
	}
	base := "/files/" + of.provider + "/" + of.version + "/"
	s.send(w, r, map[string]any{"protocols": []any{"5.0"}, "os": system, "arch": arch,
		"filename":     name(of.provider, of.version, platform),
		"download_url": base + name(of.provider, of.version, platform), "shasums_url": base + "SHA256SUMS",
		"shasums_signature_url": base + "SHA256SUMS.sig",
		"shasum":                fmt.Sprintf("%x", sha256.Sum256(data)),
		"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]any{"key_id": "X",
			"ascii_armor": Armored(s.t, s.Key)}}}})
}

func (s *Server) mirror(w http.ResponseWriter, r *http.Request, provider, file string) {
	if file == "index.json" {
		list := map[string]any{}
		for _, v := range s.versions(provider) {
			list[v] = map[string]any{}
		}
		s.send(w, r, map[string]any{"versions": list})
		return
	}
	of := release{provider, strings.TrimSuffix(file, ".json")}
	archives := map[string]any{}
	for platform, data := range s.archives[of] {
		archives[platform] = map[string]any{"url": "/files/" + provider + "/" + of.version + "/" +
			name(provider, of.version, platform), "hashes": []any{s.hash(data)}}
	}
	if len(archives) == 0 {
		http.NotFound(w, r)
		return
	}
	s.send(w, r, map[string]any{"archives": archives})
}

func (s *Server) hash(data []byte) string {
	if s.Scheme == "h1" {
		return ContentHash(s.t, data)
	}
	sum := sha256.Sum256(data)
	return "zh:" + hex.EncodeToString(sum[:])
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, of release, file string) {
	at := time.Unix(1e9, 0)
	if s.Uploaded != nil {
		at = s.Uploaded[of.version]
	}
	if !at.IsZero() {
		w.Header().Set("Last-Modified", at.UTC().Format(http.TimeFormat))
	}
	switch file {
	case "SHA256SUMS":
		w.Write(s.Sums(of.provider, of.version))
		return
	case "SHA256SUMS.sig":
		w.Write(s.Signature(of.provider, of.version))
		return
	}
	for platform, data := range s.archives[of] {
		if file == name(of.provider, of.version, platform) {
			http.ServeContent(w, r, file, at, bytes.NewReader(data))
			return
		}
	}
	http.NotFound(w, r)
}
