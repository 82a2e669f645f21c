package registrytest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	OCIIndex    = "application/vnd.oci.image.index.v1+json"
	OCIManifest = "application/vnd.oci.image.manifest.v1+json"
)

// OCI is an OCI registry on a loopback port, over TLS. Clients pull as the user "me" with the
// password "s3cret".
type OCI struct {
	Host string
	// Tokens makes the registry require a token, which its token service issues for one repository.
	// Otherwise the registry requires the password with each request.
	Tokens bool
	// Damage makes the registry corrupt one byte of each blob.
	Damage bool
	// Cut is the number of bytes of a blob after which the first response ends. If it is negative,
	// each response contains one byte.
	Cut int
	// Ranges records the Range headers of requests for blobs that were answered completely.
	Ranges []string

	http  *httptest.Server
	repos map[string]*OCIRepository

	mu     sync.Mutex
	issued map[string]int // number of issued tokens by repository
}

// OCIRepository is a repository of an OCI registry.
type OCIRepository struct {
	Tags      map[string]string // digests by tag
	manifests map[string][]byte // content by digest
	types     map[string]string // media types of manifests by digest
	blobs     map[string][]byte
}

// StartOCI starts a registry without repositories.
func StartOCI() *OCI {
	r := &OCI{repos: make(map[string]*OCIRepository), issued: make(map[string]int)}
	r.http = httptest.NewUnstartedServer(r)
	r.http.Config.ErrorLog = log.New(io.Discard, "", 0) // killed clients cause errors that are not interesting
	r.http.StartTLS()
	r.Host = strings.TrimPrefix(r.http.URL, "https://")
	return r
}

// Close stops the registry.
func (r *OCI) Close() { r.http.Close() }

// Repository returns the repository with a name. It creates the repository if necessary.
func (r *OCI) Repository(name string) *OCIRepository {
	repo := r.repos[name]
	if repo == nil {
		repo = &OCIRepository{map[string]string{}, map[string][]byte{}, map[string]string{}, map[string][]byte{}}
		r.repos[name] = repo
	}
	return repo
}

// Issued returns the number of tokens issued for a repository.
func (r *OCI) Issued(repository string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.issued[repository]
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// Manifest adds a manifest and returns its descriptor. kind is the media type.
func (repo *OCIRepository) Manifest(kind string, doc map[string]any) map[string]any {
	doc["schemaVersion"], doc["mediaType"] = 2, kind
	data, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	d := digest(data)
	repo.manifests[d], repo.types[d] = data, kind
	return map[string]any{"mediaType": kind, "digest": d, "size": len(data), "artifactType": doc["artifactType"]}
}

// Blob adds a blob and returns its descriptor. kind is the media type.
func (repo *OCIRepository) Blob(kind string, data []byte) map[string]any {
	d := digest(data)
	repo.blobs[d] = data
	return map[string]any{"mediaType": kind, "digest": d, "size": len(data)}
}

// Provider adds a release of a provider with an archive for each platform.
func (repo *OCIRepository) Provider(version string, archives map[string][]byte) {
	var list []any
	for platform, archive := range archives {
		m := repo.Manifest(OCIManifest, map[string]any{
			"artifactType": "application/vnd.opentofu.provider-target",
			"layers":       []any{repo.Blob("archive/zip", archive)},
			"config":       repo.Blob("application/vnd.oci.empty.v1+json", []byte("{}")),
		})
		system, arch, _ := strings.Cut(platform, "_")
		m["platform"] = map[string]any{"os": system, "architecture": arch}
		list = append(list, m)
	}
	index := repo.Manifest(OCIIndex, map[string]any{
		"artifactType": "application/vnd.opentofu.provider", "manifests": list,
	})
	repo.Tags[strings.ReplaceAll(version, "+", "_")] = index["digest"].(string)
}

// ServeHTTP implements http.Handler.
func (r *OCI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	user, password, _ := req.BasicAuth()
	loggedIn := user == "me" && password == "s3cret"
	if req.URL.Path == "/token" && loggedIn {
		r.issue(w, req.URL.Query().Get("scope"))
		return
	}
	// The path has the form REPOSITORY/KIND/NAME.
	rest, what := cutLast(strings.TrimPrefix(req.URL.Path, "/v2/"))
	name, kind := cutLast(rest)
	switch {
	case r.Tokens && req.Header.Get("Authorization") != "Bearer of "+name:
		challenge := fmt.Sprintf(`Bearer realm="https://%s/token",service="test",scope="repository:%s:pull"`,
			r.Host, name)
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case !r.Tokens && !loggedIn:
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	case r.repos[name] == nil:
		http.NotFound(w, req)
	case kind == "tags":
		r.repos[name].sendTags(w, name)
	case kind == "manifests":
		r.repos[name].sendManifest(w, req, what)
	case kind == "blobs":
		r.sendBlob(w, req, r.repos[name].blobs[what])
	}
}

// cutLast splits a path at its last slash.
func cutLast(path string) (before, after string) {
	i := max(strings.LastIndex(path, "/"), 0)
	return path[:i], strings.TrimPrefix(path[i:], "/")
}

// issue responds with a token for the repository that a scope names.
func (r *OCI) issue(w http.ResponseWriter, scope string) {
	name, ok := strings.CutPrefix(scope, "repository:")
	name, pull := strings.CutSuffix(name, ":pull")
	if !ok || !pull || strings.ContainsAny(name, ": ") {
		http.Error(w, "a token is for one repository", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.issued[name]++
	r.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"token": "of " + name})
}

func (repo *OCIRepository) sendTags(w http.ResponseWriter, name string) {
	tags := []string{"latest", "not-a-version"}
	for tag := range repo.Tags {
		tags = append(tags, tag)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "tags": tags})
}

func (repo *OCIRepository) sendManifest(w http.ResponseWriter, req *http.Request, name string) {
	if d, ok := repo.Tags[name]; ok {
		name = d
	}
	data, ok := repo.manifests[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", repo.types[name])
	w.Header().Set("Docker-Content-Digest", name)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

func (r *OCI) sendBlob(w http.ResponseWriter, req *http.Request, data []byte) {
	if r.Damage {
		data = append([]byte("X"), data[1:]...)
	}
	if r.Cut > 0 && req.Header.Get("Range") == "" || r.Cut < 0 {
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:max(r.Cut, 1)])
		return
	}
	r.mu.Lock()
	r.Ranges = append(r.Ranges, req.Header.Get("Range"))
	r.mu.Unlock()
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(data))
}
