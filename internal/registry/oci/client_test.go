package oci

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
)

// TestSilentRegistry checks that requests for documents end if the registry never responds, as
// downloads do.
func TestSilentRegistry(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
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
