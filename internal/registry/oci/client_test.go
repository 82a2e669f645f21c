package oci

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
	"tofu/internal/testenv/registrytest"
)

// start starts a registry. It returns the registry and a client with the registry's credentials.
func start(t *testing.T) (*registrytest.OCI, *Client) {
	t.Helper()
	r := registrytest.StartOCI()
	t.Cleanup(r.Close)
	return r, newClient(t, &cliconfig.Config{OCICredentials: []cliconfig.OCICredentials{
		{Registry: r.Host, Username: "me", Password: "s3cret"}}})
}

// newClient returns a client that trusts the test registries.
func newClient(t *testing.T, cfg *cliconfig.Config) *Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(registrytest.Certificate()) {
		t.Fatal("the certificate of test servers is not valid")
	}
	return &Client{credentials: newCredentials(cfg), userAgent: "test",
		http: httpclient.New(httpclient.Options{TLS: &tls.Config{RootCAs: roots}, Silence: 5 * time.Second})}
}

// TestSilentRegistry checks that requests for documents and for downloads end if the registry never
// responds.
func TestSilentRegistry(t *testing.T) {
	wait := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	server := httptest.NewTLSServer(http.HandlerFunc(wait))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client := &Client{credentials: newCredentials(&cliconfig.Config{}),
		http: httpclient.New(httpclient.Options{TLS: &tls.Config{RootCAs: roots}, Silence: 100 * time.Millisecond})}
	repository := strings.TrimPrefix(server.URL, "https://") + "/providers/x"
	_, tags := client.Tags(t.Context(), repository)
	_, index := client.Index(t.Context(), repository, "1.0.0")
	for what, err := range map[string]error{"tags": tags, "index": index} {
		if err == nil || !strings.Contains(err.Error(), "no data for 100ms") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestTags(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		r, client := start(t)
		r.Tokens = tokens
		r.Repository("providers/tool").Provider("1.0.0+b", nil)
		tags, err := client.Tags(t.Context(), r.Host+"/providers/tool")
		slices.Sort(tags)
		if want := []string{"1.0.0_b", "latest", "not-a-version"}; err != nil || !slices.Equal(tags, want) {
			t.Errorf("with tokens %v: got %q, %v; want %q", tokens, tags, err, want)
		}
		if _, err := client.Tags(t.Context(), r.Host+"/providers/other"); !errors.Is(err, ErrNotFound) {
			t.Errorf("with tokens %v, a repository that doesn't exist: %v", tokens, err)
		}
		canceled, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped by the user")
		cancel(cause)
		if _, err := client.Tags(canceled, r.Host+"/providers/tool"); !errors.Is(err, cause) {
			t.Errorf("with tokens %v, a canceled request: %v", tokens, err)
		}
	}
	r, _ := start(t)
	r.Repository("providers/tool").Provider("1.0.0", nil)
	_, err := newClient(t, &cliconfig.Config{}).Tags(t.Context(), r.Host+"/providers/tool")
	if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), r.Host) {
		t.Errorf("without credentials: %v", err)
	}
}

func TestCheckRepository(t *testing.T) {
	for name, valid := range map[string]bool{
		"example.com/providers/tool": true,
		"example.com:5000/tool":      true,
		"example.com":                false,
		"example.com/UPPER":          false,
		"example.com/a//b":           false,
		"":                           false,
	} {
		if err := CheckRepository(name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestPackage checks which manifests are accepted as descriptions of a package.
func TestPackage(t *testing.T) {
	const artifact = "application/vnd.opentofu.provider-target"
	r, client := start(t)
	repo := r.Repository("providers/tool")
	archive := repo.Blob(zipLayer, []byte("content"))
	notes := repo.Blob("text/plain", []byte("notes"))
	add := func(tag, kind string, doc map[string]any) {
		repo.Tags[tag] = repo.Manifest(kind, doc)["digest"].(string)
	}
	layers := func(list ...any) map[string]any {
		return map[string]any{"artifactType": artifact, "layers": list}
	}
	add("good", registrytest.OCIManifest, layers(notes, archive))
	add("empty", registrytest.OCIManifest, layers(notes))
	add("two", registrytest.OCIManifest, layers(archive, archive))
	add("other", registrytest.OCIManifest, map[string]any{"artifactType": "text/plain", "layers": []any{archive}})
	add("index", registrytest.OCIIndex, layers(archive))
	add("invalid", registrytest.OCIManifest, map[string]any{"artifactType": 1, "layers": "none"})
	add("huge", registrytest.OCIManifest, map[string]any{"artifactType": strings.Repeat("x", maxManifest)})

	layer, sum, err := client.Package(t.Context(), r.Host+"/providers/tool", "good", artifact)
	if err != nil || layer.Digest.String() != archive["digest"] || layer.Size != 7 || sum != repo.Tags["good"] {
		t.Errorf("got %+v, %s, %v", layer, sum, err)
	}
	for tag, want := range map[string]string{
		"empty":   "has 0 layers",
		"two":     "has 2 layers",
		"other":   `an artifact of type "text/plain"`,
		"index":   "is required",
		"invalid": "isn't valid",
		"huge":    "exceeds the limit",
		"missing": ErrNotFound.Error(),
	} {
		_, _, err := client.Package(t.Context(), r.Host+"/providers/tool", tag, artifact)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), r.Host) {
			t.Errorf("%s: got %v; want %q", tag, err, want)
		}
	}
	if _, err := client.Index(t.Context(), r.Host+"/providers/tool", "good"); err == nil {
		t.Error("a manifest was read as an index")
	}
}

// TestFetch checks that a layer is verified, and that a transfer is resumed as long as it makes
// progress.
func TestFetch(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 1000)
	for name, c := range map[string]struct {
		cut    int
		damage bool
		err    string
		ranges []string
	}{
		"whole":      {ranges: []string{""}},
		"cut once":   {cut: 4000, ranges: []string{"bytes=4000-9999"}},
		"damaged":    {damage: true, err: "doesn't have the digest", ranges: []string{""}},
		"always cut": {cut: -1, err: "giving up after 3 attempt(s): the transfer was interrupted"},
		"cut early":  {cut: 10, ranges: []string{"bytes=10-9999"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, client := start(t)
			r.Cut, r.Damage = c.cut, c.damage
			blob := r.Repository("providers/tool").Blob(zipLayer, content)
			desc := ocispec.Descriptor{MediaType: zipLayer, Digest: digest.Digest(blob["digest"].(string)),
				Size: int64(len(content))}
			dst, err := os.Create(filepath.Join(t.TempDir(), "archive.zip"))
			if err != nil {
				t.Fatal(err)
			}
			defer dst.Close()
			last := int64(0)
			err = client.Fetch(t.Context(), r.Host+"/providers/tool", desc, dst, func(done, _ int64) { last = done })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v; want the error %q", err, c.err)
				}
			} else {
				got, readErr := os.ReadFile(dst.Name())
				if err != nil || readErr != nil || !bytes.Equal(got, content) || last != desc.Size {
					t.Errorf("got %d bytes and %d as progress, %v, %v", len(got), last, err, readErr)
				}
			}
			if !slices.Equal(r.Ranges, c.ranges) {
				t.Errorf("got requests for the ranges %q; want %q", r.Ranges, c.ranges)
			}
		})
	}
}
