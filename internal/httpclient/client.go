package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tofu/internal/version"
)

// TimeoutEnv is the environment variable for the number of seconds that a server may send nothing.
const TimeoutEnv = "TOFU_HTTP_TIMEOUT"

// DefaultSilence is how long a server may be silent unless the user or the environment sets a
// limit.
const DefaultSilence = time.Minute

// Options adapt the policy of the package to a caller.
type Options struct {
	// TLS is the caller's own TLS configuration; nil means the default one.
	TLS *tls.Config
	// Silence is the longest time without data from a server; 0 means DefaultSilence. The
	// environment variable takes precedence.
	Silence time.Duration
	// Proxy returns the proxy for a request. If Proxy is nil, the environment determines the proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Socket is the path of a Unix socket that is used for all connections, regardless of the host.
	// If it is "", connections go to the host of the request.
	Socket string
	// Wrap returns a transport that adds credentials to requests and passes them to its argument.
	// It may be nil.
	Wrap func(http.RoundTripper) (http.RoundTripper, error)
}

// Apply sets the options in a transport that a library uses, except for the limit of silence.
func (o Options) Apply(t *http.Transport) {
	t.TLSClientConfig = &tls.Config{}
	if o.TLS != nil {
		t.TLSClientConfig = o.TLS.Clone()
	}
	t.TLSClientConfig.MinVersion = max(t.TLSClientConfig.MinVersion, tls.VersionTLS12)
	if o.Proxy != nil {
		t.Proxy = o.Proxy
	}
	if o.Socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", o.Socket)
		}
	}
}

// Client is an HTTP client that follows the policy of the package.
type Client struct {
	std  *http.Client
	base *http.Transport
}

// New returns a client. If an environment variable is invalid, or if Wrap returns an error, every
// request of the client returns an error.
func New(o Options) *Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 16
	o.Apply(base)
	t := &transport{base: base, silence: o.Silence, userAgent: UserAgent()}
	if t.silence == 0 {
		t.silence = DefaultSilence
	}
	if text := os.Getenv(TimeoutEnv); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds < 1e6) {
			t.invalid = fmt.Errorf("the environment variable %s is %q; set it to a number of seconds "+
				"between 0 and 1000000", TimeoutEnv, text)
		}
		t.silence = time.Duration(seconds * float64(time.Second))
	}
	c := &Client{std: &http.Client{Transport: t, CheckRedirect: checkRedirect}, base: base}
	if o.Wrap != nil {
		wrapped, err := o.Wrap(t)
		if err != nil {
			t.invalid = err
		} else {
			c.std.Transport = wrapped
		}
	}
	return c
}

// ReadCertificates returns the system's certificates and those in a PEM file.
func ReadCertificates(path string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // continue as if the system had no certificates
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no certificate in PEM format", path)
	}
	return pool, nil
}

// UserAgent returns the User-Agent header of this program.
func UserAgent() string {
	own := fmt.Sprintf("%s/%s (commit %s; compatible with OpenTofu/%s)", version.Name, version.Own, version.Commit(),
		version.String)
	return strings.TrimSpace(own + " " + strings.TrimSpace(os.Getenv("TF_APPEND_USER_AGENT")))
}

// Do sends a request and returns the response, even if its status is an error. Errors don't contain
// secrets.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	resp, err := c.std.Do(req)
	return resp, Clean(err)
}

// Std returns the client as an *http.Client for libraries. Callers must apply Clean to the errors
// of these libraries.
func (c *Client) Std() *http.Client { return c.std }

// Close closes idle connections.
func (c *Client) Close() { c.base.CloseIdleConnections() }

// Clean removes secrets from the URL in the error of an HTTP request. It changes err and returns
// it.
func Clean(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		u, parseErr := url.Parse(failed.URL)
		if parseErr != nil {
			u = &url.URL{}
		}
		failed.URL = Redact(u)
	}
	return err
}
