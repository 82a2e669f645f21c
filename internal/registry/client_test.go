package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/testenv/registrytest"
)

func TestMain(m *testing.M) { os.Exit(registrytest.RunTests(m)) }

func serve(t *testing.T, h http.HandlerFunc) (*url.URL, *Client) {
	t.Helper()
	s := httptest.NewTLSServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, New(&cliconfig.Config{RegistryRetries: 1, RegistryTimeout: time.Minute})
}

func TestService(t *testing.T) {
	var asked atomic.Int32
	u, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/.well-known/terraform.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Write([]byte(`{"modules.v1": "/m", "providers.v1": "https://p.example/x/", "odd.v1": {"a": 1}, "ftp.v1": ` +
			`"ftp://x/", "user.v1": "https://me:x@p.example/"} and more`))
	})
	for name, want := range map[string]string{"modules.v1": u.String() + "/m/",
		"providers.v1": "https://p.example/x/"} {
		got, err := c.Service(t.Context(), u.Host, name)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"none.v1", "odd.v1"} {
		if _, err := c.Service(t.Context(), u.Host, name); !IsNoService(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// These are a URL with an unsupported scheme and a URL with a password.
	for _, name := range []string{"ftp.v1", "user.v1"} {
		if _, err := c.Service(t.Context(), u.Host, name); err == nil || IsNoService(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the host was asked %d times", n)
	}
}

func TestServiceErrors(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body string
		status     int
		none       bool // whether the host works but has no services
		text       string
	}{
		"page":    {"text/html", "{}", 200, false, "returned an invalid discovery document"},
		"no JSON": {"application/json", "<", 200, false, "returned an invalid discovery document"},
		"array":   {"application/json", "[]", 200, false, "has an unexpected type: array"},
		"gone":    {"text/plain", "", 404, true, ""},
		"refused": {"text/plain", "", 403, false, "could not connect to"},
	} {
		u, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			w.Write([]byte(c.body))
		})
		if _, err := client.Service(t.Context(), u.Host, "x.v1"); err == nil || IsNoService(err) != c.none ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetryAfterAndTimeout(t *testing.T) {
	var asked atomic.Int32
	u, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	start := time.Now()
	if _, err := c.Get(t.Context(), u, ""); err != nil || time.Since(start) < time.Second {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
	came := make(chan struct{}, 10)
	slow, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		came <- struct{}{}
		<-r.Context().Done()
	})
	asked.Store(0)
	c.timeout = 2 * time.Second // long enough for a busy machine
	_, err := c.Get(t.Context(), slow, "")
	if err == nil || !strings.Contains(err.Error(), "did not send a complete response within") || asked.Load() != 2 {
		t.Errorf("after %d requests: %v", asked.Load(), err)
	}
	c.timeout = time.Minute
	for len(came) > 0 {
		<-came
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-came
		cancel()
	}()
	start = time.Now()
	if _, err := c.Get(ctx, slow, ""); !errors.Is(err, context.Canceled) || time.Since(start) > c.timeout/2 {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}

func TestFetchLimit(t *testing.T) {
	u, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			w.Write(make([]byte, 1000))
			w.(http.Flusher).Flush() // sends the response without a Content-Length
		}
	})
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := c.Fetch(t.Context(), Download{URL: u, Limit: 5000}, f); err == nil ||
		!strings.Contains(err.Error(), "more than") {
		t.Errorf("%v", err)
	}
	if info, err := f.Stat(); err != nil || info.Size() > 5000+1<<17 {
		t.Errorf("%v %v", info.Size(), err)
	}
}

func TestSecretsStayOutOfMessages(t *testing.T) {
	u, c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	u.User = url.UserPassword("me", "s3cret")
	if _, err := c.Get(t.Context(), u, ""); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
}

// FuzzAnswers checks that arbitrary documents from a registry result in an error, or in a service
// and a location that can be used. A token may be sent with a download only if the registry asks
// for it.
func FuzzAnswers(f *testing.F) {
	var offers, versions, location, header string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/terraform.json"):
			io.WriteString(w, offers)
		case strings.HasSuffix(r.URL.Path, "/download"):
			w.Header().Set("X-Terraform-Get", header)
			io.WriteString(w, location)
		default:
			io.WriteString(w, versions)
		}
	}))
	f.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"modules.v1": "/m/"}`, `{"modules": [{"versions": [{"version": "1.0.0"}]}]}`, `{"location": "./x.zip"}`, "")
	f.Add(`{"modules.v1": "//`+u.Host+`/"}`, `{"modules": [null, {}]}`, `{"location": "git::https://x//y",
		"use_registry_credentials": true}`, "/x?archive=zip")
	f.Add(`{"modules.v1": {"a": []}}`, `{"modules": [{"versions": [{"version": "1"}, null]}]}`,
		`{"location": "..", "use_registry_credentials": "yes"}`, "../%zz")
	f.Add(`{"modules.v1": "https://me:secret@example.com/"}`, `{"modules": {}}`, `[]`, "\x1b[2J")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		offers, versions, location, header = a, b, c, d
		client := New(&cliconfig.Config{RegistryTimeout: time.Second})
		base, err := client.Service(t.Context(), u.Host, "modules.v1")
		if err != nil {
			return
		}
		if base.Scheme != "https" && base.Scheme != "http" || base.User != nil || !strings.HasSuffix(base.Path, "/") {
			t.Fatalf("the service is at %s", base)
		}
		if base.Host != u.Host {
			return // the service is on another server
		}
		found, err := client.ModuleVersions(t.Context(), u.Host, "acme/net/aws")
		if err == nil && len(found.List)+len(found.Odd) > len(b) {
			t.Errorf("%d versions in %q", len(found.List), b)
		}
		place, err := client.ModuleLocation(t.Context(), u.Host, "acme/net/aws", "1.0.0")
		switch {
		case err != nil:
		case place.Address == "" || strings.HasPrefix(place.Address, "."):
			t.Errorf("%q, %q: the location is %q", c, d, place.Address)
		case place.Host != "" && (place.Host != u.Host || !strings.Contains(c, "true")):
			t.Errorf("%q: the token of %q is sent", c, place.Host)
		}
	})
}
