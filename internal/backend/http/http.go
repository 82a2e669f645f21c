package http

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	Address       string            `cfg:"address,required" env:"TF_HTTP_ADDRESS"`
	UpdateMethod  string            `cfg:"update_method" env:"TF_HTTP_UPDATE_METHOD" default:"POST"`
	LockAddress   string            `cfg:"lock_address" env:"TF_HTTP_LOCK_ADDRESS"`
	LockMethod    string            `cfg:"lock_method" env:"TF_HTTP_LOCK_METHOD" default:"LOCK"`
	UnlockAddress string            `cfg:"unlock_address" env:"TF_HTTP_UNLOCK_ADDRESS"`
	UnlockMethod  string            `cfg:"unlock_method" env:"TF_HTTP_UNLOCK_METHOD" default:"UNLOCK"`
	Username      string            `cfg:"username" env:"TF_HTTP_USERNAME"`
	Password      string            `cfg:"password,sensitive" env:"TF_HTTP_PASSWORD"`
	SkipCert      bool              `cfg:"skip_cert_verification"`
	RetryMax      int               `cfg:"retry_max" env:"TF_HTTP_RETRY_MAX" default:"2"`
	RetryWaitMin  int               `cfg:"retry_wait_min" env:"TF_HTTP_RETRY_WAIT_MIN" default:"1"`
	RetryWaitMax  int               `cfg:"retry_wait_max" env:"TF_HTTP_RETRY_WAIT_MAX" default:"30"`
	ClientCA      string            `cfg:"client_ca_certificate_pem" env:"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"`
	ClientCert    string            `cfg:"client_certificate_pem" env:"TF_HTTP_CLIENT_CERTIFICATE_PEM"`
	ClientKey     string            `cfg:"client_private_key_pem,sensitive" env:"TF_HTTP_CLIENT_PRIVATE_KEY_PEM"`
	Headers       map[string]string `cfg:"headers"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"address":                   "The address to read and write the state.",
		"update_method":             "The HTTP method that writes the state.",
		"lock_address":              "The address to lock the state. Without it, the state is not locked.",
		"lock_method":               "The HTTP method that locks the state.",
		"unlock_address":            "The address to unlock the state.",
		"unlock_method":             "The HTTP method that unlocks the state.",
		"username":                  "The user name for HTTP basic authentication.",
		"password":                  "The password for HTTP basic authentication.",
		"skip_cert_verification":    "Whether to skip TLS verification.",
		"retry_max":                 "The number of retries of failed requests.",
		"retry_wait_min":            "The minimum wait before a retry, in seconds.",
		"retry_wait_max":            "The maximum wait before a retry, in seconds.",
		"client_ca_certificate_pem": "The CA certificates (PEM) used to verify the server.",
		"client_certificate_pem":    "The certificate (PEM) that authenticates the client.",
		"client_private_key_pem":    "The private key (PEM) of client_certificate_pem.",
		"headers":                   "Additional headers of all requests.",
	}
}

// Driver is the http backend.
var Driver = backend.New("http", open)

func open(_ context.Context, c *Config) (backend.Store, error) {
	s := &Store{config: *c}
	for _, address := range []struct {
		name, text string
		to         **url.URL
	}{
		{"address", c.Address, &s.address}, {"lock_address", c.LockAddress, &s.lockAddress},
		{"unlock_address", c.UnlockAddress, &s.unlockAddress},
	} {
		if address.text == "" {
			continue
		}
		u, err := url.Parse(address.text)
		if err != nil {
			// Don't return err: it contains the address, which may contain a password.
			return nil, fmt.Errorf("the http backend's %s is not a valid URL", address.name)
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("the http backend's %s must start with http:// or https://", address.name)
		}
		*address.to = u
	}
	if err := checkHeaders(c); err != nil {
		return nil, err
	}
	connection := []any{c.SkipCert, c.ClientCA, c.ClientCert, c.ClientKey}
	var err error
	s.client, err = backend.Client(&c.Sharing, connection, func() (*httpclient.Client, error) {
		tlsConfig, err := c.tls()
		if err != nil {
			return nil, err
		}
		return httpclient.New(httpclient.Options{TLS: tlsConfig, Silence: silence}), nil
	})
	if err != nil {
		return nil, err
	}
	if s.lockAddress == nil {
		return plain{s}, nil
	}
	return s, nil
}

// silence is the longest time that a request waits for data from a server. Some servers take
// a while to store a large state.
const silence = 2 * time.Minute

// maxBody is the maximum size of a response other than the state.
const maxBody = 1 << 20

func checkHeaders(c *Config) error {
	for name := range c.Headers {
		switch {
		case name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(c.Headers[name], "\r\n"):
			return fmt.Errorf("the http backend's header %q has an invalid name or value", name)
		case strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-MD5"):
			return fmt.Errorf("the http backend's header %q can't be set: it depends on the request", name)
		case strings.EqualFold(name, "Authorization") && c.Username != "":
			return errors.New("the http backend has both a user name and an Authorization header; keep one of them")
		}
	}
	return nil
}

func (c *Config) tls() (*tls.Config, error) {
	out := &tls.Config{InsecureSkipVerify: c.SkipCert, MinVersion: tls.VersionTLS12}
	if c.ClientCA != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM([]byte(c.ClientCA)) {
			return nil, errors.New("the http backend's client_ca_certificate_pem contains no certificate")
		}
	}
	if (c.ClientCert == "") != (c.ClientKey == "") {
		return nil, errors.New("the http backend needs both client_certificate_pem and " +
			"client_private_key_pem, or neither")
	}
	if c.ClientCert != "" {
		pair, err := tls.X509KeyPair([]byte(c.ClientCert), []byte(c.ClientKey))
		if err != nil {
			return nil, fmt.Errorf("the http backend's client_certificate_pem and client_private_key_pem: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// Store is a state at an HTTP address, with locking.
type Store struct {
	config                              Config
	address, lockAddress, unlockAddress *url.URL
	client                              *httpclient.Client

	mu   sync.Mutex
	lock []byte // body of the request that locked the state
	id   string
}

// plain is a store without a lock address, and therefore without locking.
type plain struct{ store *Store }

func (p plain) List(ctx context.Context) ([]string, error) { return p.store.List(ctx) }
func (p plain) Get(ctx context.Context, workspace string) ([]byte, error) {
	return p.store.Get(ctx, workspace)
}
func (p plain) Put(ctx context.Context, workspace string, data []byte) error {
	return p.store.Put(ctx, workspace, data)
}
func (p plain) Delete(ctx context.Context, workspace string) error {
	return p.store.Delete(ctx, workspace)
}

// List implements backend.Store.
func (s *Store) List(context.Context) ([]string, error) { return nil, backend.ErrNoWorkspaces }

func onlyDefault(workspace string) error {
	if workspace != backend.DefaultWorkspace {
		return backend.ErrNoWorkspaces
	}
	return nil
}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	if err := onlyDefault(workspace); err != nil {
		return nil, err
	}
	resp, err := s.send(ctx, http.MethodGet, s.address, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	switch resp.status {
	case http.StatusOK:
		if err := resp.checkSum(); err != nil {
			return nil, fmt.Errorf("reading the state: %w", err)
		}
		if len(resp.body) == 0 {
			return nil, nil // some servers respond like this if there is no state
		}
		return resp.body, nil
	case http.StatusNoContent, http.StatusNotFound:
		return nil, nil
	}
	return nil, fmt.Errorf("reading the state: %w", resp.failure())
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	if err := onlyDefault(workspace); err != nil {
		return err
	}
	to := *s.address
	s.mu.Lock()
	if s.id != "" {
		query := to.Query()
		query.Set("ID", s.id)
		to.RawQuery = query.Encode()
	}
	s.mu.Unlock()
	resp, err := s.send(ctx, s.config.UpdateMethod, &to, data)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	switch resp.status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return nil
	}
	return fmt.Errorf("writing the state: %w", resp.failure())
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	if err := onlyDefault(workspace); err != nil {
		return err
	}
	resp, err := s.send(ctx, http.MethodDelete, s.address, nil)
	if err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	switch resp.status {
	case http.StatusOK, http.StatusNoContent, http.StatusNotFound:
		return nil
	}
	return fmt.Errorf("deleting the state: %w", resp.failure())
}

// response is a response whose body has been read.
type response struct {
	request  *http.Request
	attempts int // number of attempts if this is the response to the last permitted one, otherwise 0
	status   int
	header   http.Header
	body     []byte
}

// send sends a request and repeats it if necessary. If the server refuses the request, send returns
// the response, not an error.
func (s *Store) send(ctx context.Context, method string, to *url.URL, body []byte) (*response, error) {
	wait := time.Duration(s.config.RetryWaitMin) * time.Second
	for attempt := 0; ; attempt++ {
		resp, err := s.sendOnce(ctx, method, to, body)
		again := err != nil && !permanent(err) || err == nil && httpclient.Temporary(resp.status)
		switch {
		case !again || ctx.Err() != nil:
			return resp, err
		case attempt >= s.config.RetryMax && err == nil:
			resp.attempts = attempt + 1
			return resp, nil
		case attempt >= s.config.RetryMax:
			return nil, &httpclient.GaveUpError{Method: method, URL: to, Attempts: attempt + 1, Err: err}
		}
		longest := time.Duration(s.config.RetryWaitMax) * time.Second
		now := wait
		if err == nil {
			now = max(now, min(httpclient.RetryAfter(resp.header), longest))
		}
		select {
		case <-ctx.Done():
			return resp, errors.Join(err, ctx.Err())
		case <-time.After(now):
		}
		wait = min(2*wait, longest)
	}
}

// permanent reports whether repeating a request after this error is pointless.
func permanent(err error) bool {
	_, ok := errors.AsType[*httpclient.RedirectError](err)
	return ok
}

func (s *Store) sendOnce(ctx context.Context, method string, to *url.URL, body []byte) (*response, error) {
	req, err := newRequest(ctx, method, to, body)
	if err != nil {
		return nil, err
	}
	for name, value := range s.config.Headers {
		req.Header.Set(name, value)
	}
	if s.config.Username != "" {
		req.SetBasicAuth(s.config.Username, s.config.Password)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := &response{request: req, status: resp.StatusCode, header: resp.Header}
	if method == http.MethodGet {
		out.body, err = limits.ReadAll(resp.Body, limits.State, "the state")
	} else { // some servers return the state, which is ignored
		out.body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("the connection was lost: %w", err)
	}
	return out, err
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	u, err := url.Parse(c.Address)
	if err != nil {
		return nil, errors.New("the http backend's address is not a valid URL") // it may contain a password
	}
	host := strings.ToLower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		host = strings.TrimSuffix(host, port)
	}
	query := ""
	if u.RawQuery != "" {
		query = fmt.Sprintf("%x", sha256.Sum256([]byte(u.RawQuery))) // it may contain a token
	}
	return []string{"http", u.Scheme, host, u.EscapedPath(), query, workspace}, nil
}
