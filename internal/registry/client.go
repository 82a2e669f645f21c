package registry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
	"tofu/internal/limits"
	"tofu/internal/memo"
	"tofu/internal/transfer"
)

// Client fetches documents and packages from registries, mirrors and other servers.
type Client struct {
	cfg       *cliconfig.Config
	http      *httpclient.Client
	tokens    *cliconfig.Tokens
	retries   int           // maximum number of retries of a failed request for a document
	timeout   time.Duration // timeout of each request for a document
	userAgent string
	services  memo.Map[string, services] // services by host
}

// maxDocument is the maximum size of a document. The version lists of large providers are about a
// megabyte long.
const maxDocument = 64 << 20

// New returns a client for a CLI configuration. version is the version of this program.
func New(cfg *cliconfig.Config) *Client {
	return &Client{
		cfg:       cfg,
		http:      httpclient.New(httpclient.Options{}),
		tokens:    cliconfig.NewTokens(cfg),
		retries:   cfg.RegistryRetries,
		timeout:   cfg.RegistryTimeout,
		userAgent: httpclient.UserAgent(),
	}
}

// Config returns the CLI configuration of the client.
func (c *Client) Config() *cliconfig.Config { return c.cfg }

// Token returns the token for a host, or "" if none is configured.
func (c *Client) Token(ctx context.Context, host string) (string, error) {
	return c.tokens.Token(ctx, host)
}

// UserAgent returns the value of the User-Agent header.
func (c *Client) UserAgent() string { return c.userAgent }

// StatusError reports a response with an unexpected status.
type StatusError struct {
	URL  string // URL without secrets; "" if the error around this one names it
	Code int
}

func (e *StatusError) Error() string {
	from := cmp.Or(e.URL, "the server")
	if e.Code == http.StatusTooManyRequests { // in the form that Terragrunt looks for to repeat the command
		return from + " answered with status 429 (rate limit exceeded: 429 Too Many Requests)"
	}
	return strings.TrimSpace(fmt.Sprintf("%s answered with status %d %s", from, e.Code, http.StatusText(e.Code)))
}

// NotFound reports whether err is a response with the status 404 or another one that means that the
// document doesn't exist.
func NotFound(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && (status.Code == http.StatusNotFound || status.Code == http.StatusGone)
}

// Document is a complete response of a server.
type Document struct {
	URL    *url.URL // URL after redirects
	Header http.Header
	Status int
	Body   []byte
}

// JSON decodes the document. Trailing data is ignored, as in other clients.
func (d *Document) JSON(into any) error {
	err := json.NewDecoder(bytes.NewReader(d.Body)).Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := ""
		if wrong.Field != "" {
			where = fmt.Sprintf(" at %q", wrong.Field)
		}
		return fmt.Errorf("the JSON document %s has an unexpected type%s: %s", httpclient.Redact(d.URL), where,
			wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("%s is not a valid JSON document: %w", httpclient.Redact(d.URL), err)
	}
	return nil
}

// Authorize adds credentials to a request. A nil Authorize adds none.
type Authorize func(*http.Request) error

// Get fetches a document with the credentials of host, or without credentials if host is "".
func (c *Client) Get(ctx context.Context, u *url.URL, host string) (*Document, error) {
	return c.get(ctx, u, host, onlyOK)
}

// GetAny is like Get, but returns the response with any status that means success, even if it has
// no content.
func (c *Client) GetAny(ctx context.Context, u *url.URL, host string) (*Document, error) {
	return c.get(ctx, u, host, func(code int) bool { return code/100 == 2 })
}

// accepts reports whether a status is expected.
type accepts func(code int) bool

func onlyOK(code int) bool { return code == http.StatusOK }

func (c *Client) get(ctx context.Context, u *url.URL, host string, good accepts) (*Document, error) {
	auth, err := c.bearer(ctx, host)
	if err != nil {
		return nil, err
	}
	return c.document(ctx, u, auth, good)
}

// GetAuthorized is like Get, but auth adds the credentials.
func (c *Client) GetAuthorized(ctx context.Context, u *url.URL, auth Authorize) (*Document, error) {
	return c.document(ctx, u, auth, onlyOK)
}

func (c *Client) document(ctx context.Context, u *url.URL, auth Authorize, good accepts) (*Document, error) {
	var doc *Document
	err := c.repeat(ctx, u, c.retries, func() (wait time.Duration, err error) {
		doc, wait, err = c.once(ctx, u, auth, good)
		return wait, err
	})
	return doc, err
}

// bearer returns a function that adds the token for a host to a request. It returns nil if there is
// no token.
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

// Credentials returns a function that adds the credentials for a server to a request: the token for
// its host, or else the login in u or in the user's .netrc file. It returns nil without credentials.
// The caller must send them only to the origin of u.
func (c *Client) Credentials(ctx context.Context, u *url.URL) (Authorize, error) {
	host, err := addrs.ParseHost(u.Host)
	if err != nil {
		host = u.Host // no token can be configured for such a host
	}
	auth, err := c.bearer(ctx, host)
	if err != nil || auth != nil {
		return auth, err
	}
	login := u.User
	if login == nil {
		login, err = httpclient.NetrcLogin(u.Hostname())
	}
	if err != nil || login == nil {
		return nil, err
	}
	password, _ := login.Password()
	return func(req *http.Request) error {
		req.SetBasicAuth(login.Username(), password)
		return nil
	}, nil
}

// once makes one attempt to fetch a document. wait is the delay before the next attempt that the
// server has asked for, or 0.
func (c *Client) once(
	ctx context.Context, u *url.URL, auth Authorize, good accepts,
) (*Document, time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, &timeoutError{httpclient.Redact(u), c.timeout})
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, u, auth, nil)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	if !good(resp.StatusCode) {
		return nil, retryAfter(resp), &StatusError{httpclient.Redact(u), resp.StatusCode}
	}
	body, err := limits.ReadAll(resp.Body, maxDocument, "the answer")
	if err != nil {
		return nil, 0, readError(ctx, fmt.Errorf("reading %s: %w", httpclient.Redact(u), err))
	}
	return &Document{resp.Request.URL, resp.Header, resp.StatusCode, body}, 0, nil
}

func (c *Client) send(
	ctx context.Context, method string, u *url.URL, auth Authorize, header http.Header,
) (*http.Response, error) {
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("%q can't be fetched; only http and https URLs with a host are supported",
			httpclient.Redact(u))
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
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

// timeoutError reports that a document was not received in time.
type timeoutError struct {
	url   string
	limit time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s did not send a complete response within %s", e.url, e.limit)
}

// Timeout reports that the error is a timeout. It implements net.Error.
func (e *timeoutError) Timeout() bool { return true }

// readError returns the cause of the cancellation if ctx was canceled, otherwise err.
func readError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	if late, ok := errors.AsType[*httpclient.TimeoutError](err); ok {
		return late
	}
	return cause
}

// repeat makes attempts to fetch u with increasing delays until one of them succeeds or fails
// permanently. If the last one fails, too, it returns a *httpclient.GaveUpError.
func (c *Client) repeat(
	ctx context.Context, u *url.URL, retries int, attempt func() (wait time.Duration, err error),
) error {
	pause := 250 * time.Millisecond
	for n := 0; ; n++ {
		wait, err := attempt()
		if err == nil || ctx.Err() != nil || !temporary(err) {
			return err
		}
		if n >= retries {
			if status, ok := err.(*StatusError); ok {
				err = &StatusError{Code: status.Code}
			}
			return &httpclient.GaveUpError{Method: http.MethodGet, URL: u, Attempts: n + 1, Err: err}
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

// temporary reports whether another attempt may succeed after err.
func temporary(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return httpclient.Temporary(status.Code)
	}
	_, silent := errors.AsType[*httpclient.SilenceError](err)
	_, late := errors.AsType[*timeoutError](err)
	if silent || late || errors.Is(err, transfer.ErrInterrupted) {
		return true
	}
	_, redirect := errors.AsType[*httpclient.RedirectError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if redirect || untrusted || errors.Is(err, context.Canceled) {
		return false
	}
	_, failed := errors.AsType[*net.OpError](err)
	network, ok := errors.AsType[net.Error](err)
	if failed || ok && network.Timeout() || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	// The types of HTTP/2 errors are not exported, so the errors are recognized by their text.
	wrapped, ok := errors.AsType[*url.Error](err)
	return ok && strings.Contains(wrapped.Err.Error(), "http2: ")
}

// retryAfter returns the delay that a server asks for, but at most a minute.
func retryAfter(resp *http.Response) time.Duration {
	return min(httpclient.RetryAfter(resp.Header), time.Minute)
}
