package hosts

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tofu/internal/httpclient"
)

// Proxy is a running proxy.
type Proxy struct {
	hosts    map[string]http.Handler
	caFile   string
	ca       *x509.Certificate
	key      *ecdsa.PrivateKey
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	certs map[string]*tls.Certificate
}

// New starts a proxy. The keys of hosts are host names, or "*.NAME" for all subdomains of NAME. New
// writes the certificate of the proxy's certificate authority to a file in dir.
func New(dir string, hosts map[string]http.Handler) (*Proxy, error) {
	p := &Proxy{hosts: hosts, caFile: filepath.Join(dir, "ca.pem"), certs: make(map[string]*tls.Certificate)}
	var err error
	p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := p.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "tests"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature})
	if err != nil {
		return nil, err
	}
	p.ca, err = x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(p.caFile, text, 0o644); err != nil {
		return nil, err
	}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.server = &http.Server{Handler: p}
	go func() { _ = p.server.Serve(p.listener) }()
	return p, nil
}

// Env returns the environment variables that make a program send its requests to the proxy.
func (p *Proxy) Env() map[string]string {
	address := "http://" + p.listener.Addr().String()
	env := map[string]string{"SSL_CERT_FILE": p.caFile}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
		value := address
		if name == "NO_PROXY" {
			value = ""
		}
		env[name], env[strings.ToLower(name)] = value, value
	}
	return env
}

// Client returns a client that uses the proxy and trusts its certificate authority.
func (p *Proxy) Client() *httpclient.Client {
	pool := x509.NewCertPool()
	pool.AddCert(p.ca)
	proxy := &url.URL{Scheme: "http", Host: p.listener.Addr().String()}
	return httpclient.New(httpclient.Options{
		TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, Proxy: http.ProxyURL(proxy),
	})
}

// Close stops the proxy and closes its connections.
func (p *Proxy) Close() error { return p.server.Close() }

// sign issues a certificate. All certificates of the proxy have the same key.
func (p *Proxy) sign(template *x509.Certificate) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	parent := p.ca
	if parent == nil {
		parent = template
	}
	return x509.CreateCertificate(rand.Reader, template, parent, p.key.Public(), p.key)
}

func (p *Proxy) certificate(host string) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.certs[host]; c != nil {
		return c, nil
	}
	der, err := p.sign(&x509.Certificate{Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}})
	if err != nil {
		return nil, err
	}
	p.certs[host] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: p.key}
	return p.certs[host], nil
}

// handler returns the handler for a host, or nil if none was added.
func (p *Proxy) handler(hostPort string) http.Handler {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	if h := p.hosts[host]; h != nil {
		return h
	}
	for rest := host; ; {
		_, below, found := strings.Cut(rest, ".")
		if !found {
			return nil
		}
		if h := p.hosts["*."+below]; h != nil {
			return h
		}
		rest = below
	}
}

// ServeHTTP implements http.Handler. For a CONNECT request, it terminates TLS on the connection and
// serves the requests that follow. It serves other requests directly. Requests to hosts without a
// handler fail.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.handler(r.Host)
	switch {
	case h == nil:
		http.Error(w, fmt.Sprintf("there is no test server for %s", r.Host), http.StatusBadGateway)
	case r.Method != http.MethodConnect:
		h.ServeHTTP(w, r)
	default:
		p.connect(w, r, h)
	}
}

func (p *Proxy) connect(w http.ResponseWriter, r *http.Request, h http.Handler) {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	cert, err := p.certificate(host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	conn, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	if t, ok := h.(Tunnel); ok {
		t(conn)
		return
	}
	secure := tls.Server(&bufferedConn{conn, buffered.Reader}, &tls.Config{Certificates: []tls.Certificate{*cert},
		NextProtos: []string{"h2", "http/1.1"}})
	once := &onceListener{conn: make(chan net.Conn, 1), addr: conn.LocalAddr()}
	once.conn <- secure
	server := &http.Server{Handler: h, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			once.end()
		}
	}}
	_ = server.Serve(once)
}

// Tunnel is the handler of a host that fails before it serves requests. It gets the connection of a
// client that is about to begin the TLS handshake.
type Tunnel func(net.Conn)

// ServeHTTP implements http.Handler. It refuses requests without TLS.
func (Tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, r.Host+" has no HTTP server", http.StatusBadGateway)
}

// bufferedConn is a connection whose first data may already be in reader's buffer.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.reader.Read(b) }

// onceListener accepts a single connection. After that, Accept blocks until the connection has
// ended, and returns an error.
type onceListener struct {
	conn   chan net.Conn
	addr   net.Addr
	ending sync.Once
}

func (l *onceListener) Accept() (net.Conn, error) {
	c, ok := <-l.conn
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *onceListener) end()           { l.ending.Do(func() { close(l.conn) }) }
func (l *onceListener) Close() error   { return nil }
func (l *onceListener) Addr() net.Addr { return l.addr }

// Forward returns a handler that passes requests to a server without changing their host names. It
// doesn't verify the server's certificate.
func Forward(to *url.URL) http.Handler {
	client := httpclient.New(httpclient.Options{TLS: &tls.Config{InsecureSkipVerify: true}})
	return &httputil.ReverseProxy{
		Transport: client.Std().Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host
			r.Out.Header["Accept-Encoding"] = r.In.Header["Accept-Encoding"]
		},
		FlushInterval: -1,
	}
}
