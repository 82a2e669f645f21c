package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/memo"
)

// Client fetches documents and packages.
type Client struct {
	cfg       *cliconfig.Config
	http      *http.Client
	tokens    *cliconfig.Tokens
	retries   int           // of requests for documents
	timeout   time.Duration // of one request for a document
	stall     time.Duration // how long a download may bring nothing before the attempt counts as failed
	userAgent string
	services  memo.Map[string, services] // by host
}

// maxDocument is the most that a document may have; lists of versions of busy providers have about a megabyte.
const maxDocument = 64 << 20

// New makes a client for a CLI configuration. Version is this program's.
func New(cfg *cliconfig.Config, version string) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	agent := "tofu/" + version
	if more := strings.TrimSpace(os.Getenv("TF_APPEND_USER_AGENT")); more != "" {
		agent += " " + more
	}
	return &Client{
		cfg:       cfg,
		http:      &http.Client{Transport: transport, CheckRedirect: CheckRedirect},
		tokens:    cliconfig.NewTokens(cfg),
		retries:   cfg.RegistryRetries,
		timeout:   cfg.RegistryTimeout,
		stall:     time.Minute,
		userAgent: agent,
	}
}

// Config is the CLI configuration the client was made for.
func (c *Client) Config() *cliconfig.Config { return c.cfg }

// UserAgent is how the program names itself to servers.
func (c *Client) UserAgent() string { return c.userAgent }

var errRedirects = errors.New("the request was redirected too many times")

// CheckRedirect takes the credentials away when a redirect leads to another origin. The standard library would keep
// them for other ports and for subdomains.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errRedirects
	}
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
		for _, name := range []string{"Authorization", "Cookie", "Www-Authenticate", "X-Amz-Security-Token"} {
			req.Header.Del(name)
		}
	}
	if req.URL.Scheme != "https" && first.Scheme == "https" {
		return fmt.Errorf("the request was redirected from https to %s", req.URL.Redacted())
	}
	return nil
}

// StatusError is an answer with an unexpected status.
type StatusError struct {
	URL  string // without secrets
	Code int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered with status %d %s", e.URL, e.Code, http.StatusText(e.Code))
}

// NotFound tells whether err is an answer that the thing isn't there.
func NotFound(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Code == http.StatusNotFound || status.Code == http.StatusGone)
}

// Document is an answer read completely.
type Document struct {
	URL    *url.URL // after redirects
	Header http.Header
	Status int
	Body   []byte
}

// JSON decodes the document. What follows it is ignored, as other clients do.
func (d *Document) JSON(into any) error {
	if err := json.NewDecoder(bytes.NewReader(d.Body)).Decode(into); err != nil {
		return fmt.Errorf("%s isn't the JSON document that is expected: %w", d.URL.Redacted(), err)
	}
	return nil
}

// Authorize adds credentials to a request that is about to be sent. Nil adds none.
type Authorize func(*http.Request) error

// Get fetches a document with the credentials of host, or without any when host is "".
func (c *Client) Get(ctx context.Context, u *url.URL, host string) (*Document, error) {
	return c.get(ctx, u, host, http.StatusOK)
}

func (c *Client) get(ctx context.Context, u *url.URL, host string, statuses ...int) (*Document, error) {
	auth, err := c.bearer(ctx, host)
	if err != nil {
		return nil, err
	}
	return c.document(ctx, u, auth, statuses...)
}

// GetAuthorized is Get with credentials that no host's token is.
func (c *Client) GetAuthorized(ctx context.Context, u *url.URL, auth Authorize) (*Document, error) {
	return c.document(ctx, u, auth, http.StatusOK)
}

func (c *Client) document(ctx context.Context, u *url.URL, auth Authorize, statuses ...int) (*Document, error) {
	var doc *Document
	err := c.repeat(ctx, c.retries, func() (wait time.Duration, err error) {
		doc, wait, err = c.once(ctx, u, auth, statuses)
		return wait, err
	})
	return doc, err
}

// bearer sends the token of a host, if there is one.
func (c *Client) bearer(ctx context.Context, host string) (Authorize, error) {
	if host == "" {
		return nil, nil
	}
	token, err := c.tokens.Token(ctx, host)
	if err != nil || token == "" {
		return nil, err
	}
	return func(req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}, nil
}

// once makes one attempt. The wait is what the server asks for before the next one.
func (c *Client) once(ctx context.Context, u *url.URL, auth Authorize, statuses []int) (*Document, time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("%s gave no answer within %s: %w", u.Redacted(), c.timeout, errTimeout))
	defer cancel()
	resp, err := c.send(ctx, u, auth, nil)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	for _, status := range statuses {
		if resp.StatusCode == status {
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
			if err != nil {
				return nil, 0, readError(ctx, err)
			}
			if len(body) > maxDocument {
				return nil, 0, fmt.Errorf("%s has more than %d bytes", u.Redacted(), maxDocument)
			}
			return &Document{resp.Request.URL, resp.Header, resp.StatusCode, body}, 0, nil
		}
	}
	return nil, retryAfter(resp), &StatusError{u.Redacted(), resp.StatusCode}
}

func (c *Client) send(ctx context.Context, u *url.URL, auth Authorize, header http.Header) (*http.Response, error) {
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL that can be fetched; only https: and http: can", u.Redacted())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.userAgent)
	if auth != nil {
		if err := auth(req); err != nil {
			return nil, err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, readError(ctx, err)
	}
	return resp, nil
}

var errTimeout = errors.New("timeout")

// readError prefers the reason for which a context ended over the error that this led to.
func readError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// repeat makes attempts until one succeeds or fails for good, with growing pauses between them.
func (c *Client) repeat(ctx context.Context, retries int, attempt func() (wait time.Duration, err error)) error {
	pause := 250 * time.Millisecond
	for n := 0; ; n++ {
		wait, err := attempt()
		if err == nil || n >= retries || ctx.Err() != nil || !temporary(err) {
			if err != nil && n > 0 {
				err = fmt.Errorf("%w (after %d attempts)", err, n+1)
			}
			return err
		}
		if wait == 0 {
			wait = pause + rand.N(pause)
			pause = min(2*pause, 10*time.Second)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// temporary tells whether another attempt may succeed.
func temporary(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code == http.StatusTooManyRequests || status.Code >= 500 && status.Code != http.StatusNotImplemented
	}
	if errors.Is(err, errTimeout) {
		return true
	}
	var cert *tls.CertificateVerificationError
	if errors.Is(err, errRedirects) || errors.Is(err, context.Canceled) || errors.As(err, &cert) {
		return false
	}
	var network net.Error
	var op *net.OpError
	if errors.As(err, &op) || errors.As(err, &network) && network.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	var wrapped *url.Error // HTTP/2 fails with types that can't be named
	return errors.As(err, &wrapped) && strings.Contains(wrapped.Err.Error(), "http2: ")
}

// retryAfter is how long a server asks to wait, at most a minute.
func retryAfter(resp *http.Response) time.Duration {
	value := resp.Header.Get("Retry-After")
	var wait time.Duration
	if n, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = time.Until(at)
	}
	return max(0, min(wait, time.Minute))
}
