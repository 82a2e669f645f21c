package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
	"tofu/internal/testenv/s3test"
)

// TestSharedConnections checks that the number of connections that a run opens to a state server
// does not depend on the number of root modules.
func TestSharedConnections(t *testing.T) {
	for _, c := range []struct {
		backend string
		// serve starts a server and returns its network and address. It also returns a function
		// that returns the backend settings of root module i. The function takes the address of a
		// proxy to the server.
		serve func(t *testing.T) (network, address string, settings func(proxy string, i int) string)
		most  int // maximum number of connections of one run
	}{
		// A request opens another connection if none is idle. Therefore there may be several
		// connections per worker.
		{"http", serveStates, 12},
		{"pg", servePostgres, 1},
		{"postgres", servePostgres, 4},
		{"s3", serveObjects, 12},
	} {
		t.Run(c.backend, func(t *testing.T) {
			network, address, settings := c.serve(t)
			p := &countingProxy{network: network, address: address}
			p.start(t)
			top := t.TempDir()
			const n = 30
			for i := range n {
				writeReader(t, filepath.Join(top, fmt.Sprintf("r%02d", i)), c.backend, settings(p.at, 0),
					settings(p.at, i), i)
			}
			e := &testEstate{T: t}
			for _, args := range [][]string{{"init", "-roots=4"}, {"apply", "-auto-approve", "-roots=4"},
				{"plan", "-roots=4"},
				{"output"}, {"destroy", "-auto-approve", "-roots=4"}} {
				p.reset()
				e.tofu(top, 0, append([]string{"roots"}, args...)...)
				if total := p.reset(); total > c.most || total == 0 && args[0] != "init" {
					t.Errorf("roots %s of %d root modules made %d connections, and %d are allowed",
						args[0], n, total, c.most)
				}
			}
		})
	}
}

// writeReader writes the configuration of root module i. Every root module except 0 reads the state
// of root module 0.
func writeReader(t *testing.T, dir, backend, first, own string, i int) {
	text := fmt.Sprintf("terraform {\n  backend %q {\n    %s\n  }\n}\noutput \"o\" {\n  value = %d\n}\n"+
		"resource \"terraform_data\" \"a\" {}\n", backend, strings.ReplaceAll(own, "\n", "\n    "), i)
	if i > 0 {
		text += fmt.Sprintf("data \"terraform_remote_state\" \"first\" {\n  backend = %q\n  config = {\n    "+
			"%s\n  }\n}\n"+
			"output \"p\" {\n  value = data.terraform_remote_state.first.outputs.o\n}\n", backend,
			strings.ReplaceAll(first, "\n", "\n    "))
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func serveStates(t *testing.T) (network, address string, settings func(string, int) string) {
	var mu sync.Mutex
	states := make(map[string][]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		state, has := states[r.URL.Path]
		switch {
		case r.Method == http.MethodPost:
			states[r.URL.Path] = body
		case !has:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(state)
		}
	}))
	t.Cleanup(server.Close)
	return "tcp", server.Listener.Addr().String(), func(proxy string, i int) string {
		return fmt.Sprintf("address = \"http://%s/states/%d\"", proxy, i)
	}
}

func servePostgres(t *testing.T) (network, address string, settings func(string, int) string) {
	server, err := pgtest.Start()
	if err != nil {
		testenv.Missing(t, "PostgreSQL", err.Error())
	}
	t.Cleanup(server.Close)
	return "unix", filepath.Join(server.Dir(), ".s.PGSQL.5432"), func(proxy string, i int) string {
		return fmt.Sprintf("conn_str = \"postgres://tester@%s/postgres?sslmode=disable\"\nschema_name = \"s%d\"",
			proxy, i)
	}
}

func serveObjects(t *testing.T) (network, address string, settings func(string, int) string) {
	at := testenv.Service(t, "TEST_S3_URL")
	bucket := fmt.Sprintf("connections-%d", time.Now().UnixNano())
	store, err := s3test.New(t.Context(), at, "", bucket)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(store.S3)
	if err != nil {
		t.Fatal(err)
	}
	// The server closes each connection after one request. Therefore a proxy that keeps connections
	// open is put in front of it.
	keep := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host // signatures include the host
	}})
	t.Cleanup(keep.Close)
	return "tcp", keep.Listener.Addr().String(), func(proxy string, i int) string {
		return fmt.Sprintf("bucket = %q\nkey = \"states/%d\"\nregion = \"us-east-1\"\nuse_path_style = true\n"+
			"endpoints = { s3 = \"http://%s\" }\naccess_key = %q\nsecret_key = %q\n"+
			"skip_credentials_validation = true\n"+
			"skip_requesting_account_id = true", bucket, i, proxy, store.AccessKey, store.SecretKey)
	}
}

// countingProxy forwards connections to a server and counts them.
type countingProxy struct {
	network, address string // network and address of the server behind the proxy
	at               string // address of the proxy

	mu    sync.Mutex
	total int // number of connections since the last call of reset
}

func (p *countingProxy) start(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p.at = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.total++
			p.mu.Unlock()
			go p.pass(conn)
		}
	}()
}

func (p *countingProxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(p.network, p.address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// reset returns the number of connections since its last call.
func (p *countingProxy) reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := p.total
	p.total = 0
	return total
}
