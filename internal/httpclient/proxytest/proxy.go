// Package proxytest starts an HTTPS proxy that answers all requests itself, in place of the
// services that they are for. So clients of services with fixed addresses can be tested unchanged,
// and so can other programs. It is for tests only.
//
// Invariant: the certificates that the proxy shows are signed by an authority of its own, which
// exists only in memory.
package proxytest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"time"

	"tofu/internal/httpclient"
)

// Proxy is a proxy on a loopback port.
type Proxy struct {
	URL *url.URL
	// CA is the certificate of the authority in PEM format.
	CA string

	http    *httptest.Server
	backend *http.Server
	conns   listener
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey

	mu    sync.Mutex
	certs map[string]*tls.Certificate // by host
}

// Start starts a proxy. The handler gets the requests for all hosts; their Host field names the
// host.
func Start(handler http.Handler) (*Proxy, error) {
	p := &Proxy{certs: make(map[string]*tls.Certificate), conns: listener{conns: make(chan net.Conn)}}
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proxytest"}, IsCA: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &p.key.PublicKey, p.key)
	if err != nil {
		return nil, err
	}
	if p.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	p.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	p.http = httptest.NewServer(http.HandlerFunc(p.connect))
	if p.URL, err = url.Parse(p.http.URL); err != nil {
		return nil, err
	}
	p.backend = &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = p.backend.Serve(&p.conns) }()
	return p, nil
}

// Close stops the proxy.
func (p *Proxy) Close() {
	_ = p.backend.Close()
	p.http.Close()
}

// Client returns a client that uses the proxy and trusts it.
func (p *Proxy) Client() *httpclient.Client {
	pool := x509.NewCertPool()
	pool.AddCert(p.ca)
	return httpclient.New(httpclient.Options{TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		Proxy: http.ProxyURL(p.URL)})
}

// connect answers a CONNECT request and serves the connection as the requested host.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		conn.Close()
		return
	}
	p.conns.conns <- tls.Server(buffered{conn, rw.Reader}, &tls.Config{GetCertificate: p.certificate})
}

// buffered is a connection of which a reader has read a part.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(data []byte) (int, error) { return b.r.Read(data) }

// certificate returns the certificate of a host.
func (p *Proxy) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.certs[hello.ServerName]; c != nil {
		return c, nil
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(int64(len(p.certs) + 2)),
		Subject: pkix.Name{CommonName: hello.ServerName}, DNSNames: []string{hello.ServerName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, p.ca, &p.key.PublicKey, p.key)
	if err != nil {
		return nil, err
	}
	p.certs[hello.ServerName] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: p.key}
	return p.certs[hello.ServerName], nil
}

// listener passes on connections that were accepted elsewhere.
type listener struct {
	conns chan net.Conn
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.conns) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
