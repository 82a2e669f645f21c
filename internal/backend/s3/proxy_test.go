package s3_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// proxy passes requests on to a server. It records them and can change what happens to each.
type proxy struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
	// handle handles a request instead of the server if it returns true. It may be nil.
	handle func(n int, w http.ResponseWriter, r *http.Request) bool
	// lose reports whether the response to a request is lost. It may be nil.
	lose func(n int, r *http.Request) bool
}

// newProxy starts a proxy for the server at the address.
func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{}
	// Signatures include the host, so the server must see the host that the client has signed.
	pass := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.mu.Lock()
		p.seen = append(p.seen, r)
		n, handle, lose := len(p.seen), p.handle, p.lose
		p.mu.Unlock()
		if handle != nil && handle(n, w, r) {
			return
		}
		if lose != nil && lose(n, r) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// requests returns the recorded requests and clears the record.
func (p *proxy) requests() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}
