package provisioner

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	attemptTimeout = 45 * time.Second // limit for one attempt to log in to the target
	keepAliveEvery = 10 * time.Second
	keepAliveLimit = 60 * time.Second // maximum time without a response from the remote side
)

// permanentError is an error that retrying can't fix.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// sshDialer connects to a target, through a proxy and a bastion if they are configured.
type sshDialer struct {
	conn            *connection
	target, bastion *ssh.ClientConfig
}

func newSSHDialer(c *connection, agent *sshAgent) (*sshDialer, error) {
	d := &sshDialer{conn: c}
	var err error
	d.target, err = clientConfig(&c.endpoint, agent)
	if err != nil {
		return nil, err
	}
	if c.bastion != nil {
		d.bastion, err = clientConfig(c.bastion, agent)
		if err != nil {
			return nil, fmt.Errorf("bastion: %w", err)
		}
	}
	return d, nil
}

func (e *endpoint) addr() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// dial logs in to the target. The returned function closes all connections.
func (d *sshDialer) dial(ctx context.Context) (*ssh.Client, func(), error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if d.bastion == nil {
		raw, err := d.first(ctx, d.conn.addr())
		if err != nil {
			return nil, nil, err
		}
		client, err := login(ctx, raw, d.conn.addr(), d.target)
		if err != nil {
			return nil, nil, err
		}
		return client, func() { client.Close() }, nil
	}
	raw, err := d.first(ctx, d.conn.bastion.addr())
	if err != nil {
		return nil, nil, fmt.Errorf("bastion: %w", err)
	}
	bastion, err := login(ctx, raw, d.conn.bastion.addr(), d.bastion)
	if err != nil {
		return nil, nil, fmt.Errorf("bastion: %w", err)
	}
	inner, err := bastion.DialContext(ctx, "tcp", d.conn.addr())
	if err != nil {
		bastion.Close()
		return nil, nil, fmt.Errorf("connecting from the bastion to %s: %w", d.conn.addr(), err)
	}
	client, err := login(ctx, inner, d.conn.addr(), d.target)
	if err != nil {
		bastion.Close()
		return nil, nil, err
	}
	return client, func() { client.Close(); bastion.Close() }, nil
}

// first connects to the first machine on the way to the target, through the proxy if there is one.
func (d *sshDialer) first(ctx context.Context, addr string) (net.Conn, error) {
	if d.conn.proxy != nil {
		return d.conn.proxy.dial(ctx, addr)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", addr)
}

// dial connects to addr through the proxy.
func (p *proxy) dial(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(p.host, strconv.Itoa(p.port)))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if p.scheme == "https" {
		secure := tls.Client(raw, &tls.Config{ServerName: p.host})
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, fmt.Errorf("proxy: %w", err)
		}
		raw = secure
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	header := http.Header{}
	if p.user != "" {
		header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)))
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: header}
	if err := req.Write(raw); err != nil {
		raw.Close()
		return nil, fmt.Errorf("proxy: %w", err)
	}
	r := bufio.NewReader(raw)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		raw.Close()
		return nil, fmt.Errorf("proxy: no connection to %s: %s", addr, resp.Status)
	}
	return &bufferedConn{raw, r}, nil
}

// bufferedConn is a connection whose first data is already in a buffer.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.r.Read(p) }

// login starts the SSH protocol on a connection and logs in. If the login fails or ctx ends first,
// it closes the connection.
func login(ctx context.Context, raw net.Conn, addr string, config *ssh.ClientConfig) (*ssh.Client, error) {
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(raw, addr, config)
	if !stop() && err == nil {
		conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return ssh.NewClient(conn, channels, requests), nil
}

// keepAlive sends requests at regular intervals, which prevents idle connections from being closed.
// If there is no answer for too long, it closes the connection. The returned function stops the
// requests.
func keepAlive(client *ssh.Client) func() {
	stop := make(chan struct{})
	go func() {
		ticker := time.NewTicker(keepAliveEvery)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			silent := time.AfterFunc(keepAliveLimit, func() { client.Close() })
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			silent.Stop()
			if err != nil {
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop) })
}

// lockedWriter serializes writes. The two output streams of a command are copied to it
// concurrently.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
