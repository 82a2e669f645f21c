package consul

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	Path       string `cfg:"path,required"`
	Token      string `cfg:"access_token,sensitive" env:"CONSUL_HTTP_TOKEN"`
	Address    string `cfg:"address" env:"CONSUL_HTTP_ADDR" default:"127.0.0.1:8500"`
	Scheme     string `cfg:"scheme"`
	Datacenter string `cfg:"datacenter"`
	HTTPAuth   string `cfg:"http_auth,sensitive" env:"CONSUL_HTTP_AUTH"`
	Gzip       bool   `cfg:"gzip" default:"false"`
	Lock       bool   `cfg:"lock" default:"true"`
	CAFile     string `cfg:"ca_file" env:"CONSUL_CACERT"`
	CertFile   string `cfg:"cert_file" env:"CONSUL_CLIENT_CERT"`
	KeyFile    string `cfg:"key_file" env:"CONSUL_CLIENT_KEY"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"path":         "The path in the key-value store.",
		"access_token": "The access token.",
		"address":      "The name and port of the server; the local agent by default.",
		"scheme":       "The protocol, http or https.",
		"datacenter":   "The datacenter; by default, the datacenter of the agent.",
		"http_auth":    "The user, or the user and password separated by a colon, for HTTP basic authentication.",
		"gzip":         "Whether to compress the state.",
		"lock":         "Whether to lock the state.",
		"ca_file":      "The path of the CA certificates (PEM) used to verify the server.",
		"cert_file":    "The path of the certificate (PEM) that authenticates the client; requires key_file.",
		"key_file":     "The path of the private key (PEM) of cert_file.",
	}
}

// Driver is the consul backend.
var Driver = backend.New("consul", open)

// Store keeps states at a path of Consul's key-value store. It has no locks; see locker.
type Store struct {
	config Config
	client *restapi.Client
	base   *url.URL
	query  url.Values // added to all requests

	mu    sync.Mutex
	locks map[string]*held // locks that this store holds, by workspace
}

// locker is a Store with locks. open returns it unless the configuration disables locking.
type locker struct{ *Store }

func open(_ context.Context, c *Config) (backend.Store, error) {
	switch {
	case strings.HasPrefix(c.Path, "/"):
		return nil, fmt.Errorf("the path %q must not begin with a slash", c.Path)
	case c.Path != strings.TrimRight(c.Path, "/"):
		return nil, fmt.Errorf("the path %q must not end with a slash", c.Path)
	}
	base, socket, err := c.base()
	if err != nil {
		return nil, err
	}
	connection := []any{socket, c.CAFile, c.CertFile, c.KeyFile, base.Hostname()}
	http, err := backend.Client(&c.Sharing, connection, func() (*httpclient.Client, error) {
		tlsConfig, err := c.tls()
		if err != nil {
			return nil, err
		}
		return httpclient.New(httpclient.Options{TLS: tlsConfig, Socket: socket}), nil
	})
	if err != nil {
		return nil, err
	}
	s := &Store{config: *c, base: base, query: make(url.Values), locks: make(map[string]*held)}
	for name, value := range map[string]string{
		"dc": c.Datacenter, "ns": os.Getenv("CONSUL_NAMESPACE"), "partition": os.Getenv("CONSUL_PARTITION"),
	} {
		if value != "" {
			s.query.Set(name, value)
		}
	}
	s.client = &restapi.Client{HTTP: http, Sign: s.authorize}
	if s.config.Token == "" {
		s.config.Token, err = tokenFile()
		if err != nil {
			return nil, err
		}
	}
	if c.Lock {
		return locker{s}, nil
	}
	return s, nil
}

// base returns the URL of the server and, if the address is a Unix socket, the path of the socket.
func (c *Config) base() (base *url.URL, socket string, err error) {
	scheme, host := "http", c.Address
	if on, _ := strconv.ParseBool(os.Getenv("CONSUL_HTTP_SSL")); on {
		scheme = "https"
	}
	if prefix, rest, ok := strings.Cut(c.Address, "://"); ok {
		scheme, host = prefix, rest
	}
	if c.Scheme != "" {
		scheme = c.Scheme
	}
	if scheme == "unix" {
		return &url.URL{Scheme: "http", Host: "localhost"}, host, nil
	}
	if scheme != "http" && scheme != "https" {
		return nil, "", fmt.Errorf("the scheme %q is unknown; use http or https", scheme)
	}
	base, err = url.Parse(scheme + "://" + host)
	if err != nil || base.Host == "" || base.User != nil {
		// Don't quote the address, because it may contain a password.
		return nil, "", errors.New("the address is invalid; write it as NAME:PORT, without a user and password")
	}
	return base, "", nil
}

func (c *Config) tls() (*tls.Config, error) {
	out := &tls.Config{ServerName: os.Getenv("CONSUL_TLS_SERVER_NAME"), MinVersion: tls.VersionTLS12}
	if verify, err := strconv.ParseBool(os.Getenv("CONSUL_HTTP_SSL_VERIFY")); err == nil {
		out.InsecureSkipVerify = !verify
	}
	if err := c.authorities(out); err != nil {
		return nil, fmt.Errorf("reading the CA certificates: %w", err)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("cert_file and key_file must be set together")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("reading cert_file and key_file: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// authorities sets the CA certificates that ca_file or CONSUL_CAPATH name.
func (c *Config) authorities(out *tls.Config) (err error) {
	dir := os.Getenv("CONSUL_CAPATH")
	switch {
	case c.CAFile != "":
		out.RootCAs, err = httpclient.ReadCertificates(c.CAFile)
	case dir != "":
		out.RootCAs = x509.NewCertPool()
		err = readFolder(out.RootCAs, dir)
	}
	return err
}

// readFolder adds the certificates in the files of a folder.
func readFolder(pool *x509.CertPool, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		pool.AppendCertsFromPEM(text)
	}
	return nil
}

// tokenFile returns the token in the file that CONSUL_HTTP_TOKEN_FILE names, or "" if the variable
// is not set.
func tokenFile() (string, error) {
	path := os.Getenv("CONSUL_HTTP_TOKEN_FILE")
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the token in CONSUL_HTTP_TOKEN_FILE: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (s *Store) authorize(_ context.Context, req *http.Request, _ []byte) error {
	if s.config.Token != "" {
		req.Header.Set("X-Consul-Token", s.config.Token)
	}
	if s.config.HTTPAuth != "" {
		user, password, _ := strings.Cut(s.config.HTTPAuth, ":")
		req.SetBasicAuth(user, password)
	}
	return nil
}

// do sends a request for a path. The query is a list of alternating names and values.
func (s *Store) do(
	ctx context.Context, method, path string, r restapi.Request, query ...string,
) (*restapi.Response, error) {
	to := *s.base
	to.Path = strings.TrimSuffix(to.Path, "/") + path
	values := maps.Clone(s.query)
	for i := 0; i < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	to.RawQuery = values.Encode()
	r.Method, r.URL = method, &to
	return s.client.Do(ctx, &r)
}

// failure returns the error of an unsuccessful response.
func (s *Store) failure(resp *restapi.Response) error {
	err := resp.Failure()
	switch {
	case resp.Status != http.StatusForbidden && resp.Status != http.StatusUnauthorized:
		return err
	case resp.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; set the user and password in http_auth or CONSUL_HTTP_AUTH", err)
	case s.config.Token == "":
		return fmt.Errorf("%w; there is no access token: access_token, CONSUL_HTTP_TOKEN and CONSUL_HTTP_TOKEN_FILE "+
			"are not set", err)
	}
	return fmt.Errorf("%w; the access token is invalid or has no permission for the path %q", err, s.config.Path)
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	base, socket, err := c.base()
	if err != nil {
		return nil, err
	}
	return []string{"consul", base.Host, socket, c.Datacenter, c.key(workspace)}, nil
}
