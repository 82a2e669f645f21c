package kubeauth

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
	"path/filepath"
	"strings"

	"tofu/internal/httpclient"
)

// podFolder is the directory with the credentials of a pod's service account.
const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Pod returns the cluster and the service account of the pod that this program runs in.
func Pod() (*Cluster, *User, error) { return pod(podFolder) }

func pod(folder string) (*Cluster, *User, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, nil, errors.New("this program does not run in a pod: KUBERNETES_SERVICE_HOST and " +
			"KUBERNETES_SERVICE_PORT are not both set")
	}
	return &Cluster{Server: "https://" + net.JoinHostPort(host, port), CAFile: filepath.Join(folder, "ca.crt")},
		&User{TokenFile: filepath.Join(folder, "token")}, nil
}

// NewClient returns a client that authenticates requests to a cluster. Plugins run when the first
// request is sent.
func NewClient(cluster *Cluster, user *User) (*httpclient.Client, error) {
	base, err := url.Parse(cluster.Server)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("the address of the cluster must be a URL such as https://HOST:PORT, not %q", cluster.Server)
	}
	a := &authenticator{host: base.Host, user: user}
	if user.Exec != nil && !user.hasToken() {
		a.plugin = &plugin{Exec: user.Exec, cluster: cluster}
		if err := a.plugin.check(); err != nil {
			return nil, fmt.Errorf("the credential plugin: %w", err)
		}
	}
	o := httpclient.Options{Wrap: a.wrap}
	if cluster.Proxy != "" {
		proxy, err := url.Parse(cluster.Proxy)
		if err != nil || proxy.Host == "" {
			return nil, errors.New("the address of the cluster's proxy must be a URL such as http://HOST:PORT")
		}
		o.Proxy = http.ProxyURL(proxy)
	}
	o.TLS, err = cluster.trust()
	if err == nil {
		err = a.identify(o.TLS)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of the cluster and the user: %w", err)
	}
	client := httpclient.New(o)
	a.reconnect = client.Close
	return client, nil
}

// trust returns the TLS settings for verifying the cluster's certificate.
func (c *Cluster) trust() (*tls.Config, error) {
	out := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: c.Insecure}
	if c.Insecure {
		return out, nil
	}
	ca, err := c.authority()
	if err != nil || ca == nil {
		return out, err
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("the cluster's certificate authority is not a certificate in PEM format")
	}
	return out, nil
}

// authority returns the CA certificates to verify the cluster with, or nil to use the system's
// certificates.
func (c *Cluster) authority() ([]byte, error) { return dataOrFile(c.CA, c.CAFile) }

func dataOrFile(data []byte, path string) ([]byte, error) {
	if len(data) > 0 || path == "" {
		return data, nil
	}
	return os.ReadFile(path)
}

func (u *User) hasToken() bool { return u.Token != "" || u.TokenFile != "" || u.Username != "" }

// authenticator adds credentials to requests that go to one host.
type authenticator struct {
	base      http.RoundTripper
	host      string
	user      *User
	plugin    *plugin // nil if the user has no plugin
	reconnect func()  // closes idle connections
}

func (a *authenticator) wrap(base http.RoundTripper) (http.RoundTripper, error) {
	a.base = base
	return a, nil
}

// identify sets the client certificate in a TLS configuration, or the function that gets the
// certificate from the plugin.
func (a *authenticator) identify(to *tls.Config) error {
	certificate, err := dataOrFile(a.user.Certificate, a.user.CertificateFile)
	if err != nil {
		return err
	}
	key, err := dataOrFile(a.user.Key, a.user.KeyFile)
	if err != nil {
		return err
	}
	if len(certificate) > 0 || len(key) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return err
		}
		to.Certificates = []tls.Certificate{pair}
		return nil
	}
	if a.plugin != nil {
		to.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			got, err := a.plugin.credential(info.Context())
			if err != nil || got.certificate == nil {
				return new(tls.Certificate), err
			}
			return got.certificate, nil
		}
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (a *authenticator) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != a.host {
		return a.base.RoundTrip(req)
	}
	resp, used, err := a.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || used == nil ||
		req.Body != nil && req.GetBody == nil {
		return resp, err
	}
	a.plugin.forget(used)
	a.reconnect() // open connections still use the refused certificate
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		again.Body, err = req.GetBody()
		if err != nil {
			return resp, nil
		}
	}
	_ = resp.Body.Close()
	resp, _, err = a.send(again)
	return resp, err
}

// send sends a request with credentials. If the credentials come from the plugin, it also returns
// them.
func (a *authenticator) send(req *http.Request) (*http.Response, *credential, error) {
	out := req.Clone(req.Context())
	used, err := a.authenticate(req.Context(), out)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, nil, err
	}
	resp, err := a.base.RoundTrip(out)
	return resp, used, err
}

func (a *authenticator) authenticate(ctx context.Context, req *http.Request) (used *credential, err error) {
	token := string(a.user.Token)
	switch {
	case a.user.TokenFile != "":
		text, err := os.ReadFile(a.user.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading the token for the cluster: %w", err)
		}
		token = strings.TrimSpace(string(text))
	case a.user.Username != "":
		req.SetBasicAuth(string(a.user.Username), string(a.user.Password))
	case a.plugin != nil:
		used, err = a.plugin.credential(ctx)
		if err != nil {
			return nil, err
		}
		token = used.token
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a.user.impersonate(req.Header)
	return used, nil
}

func (u *User) impersonate(header http.Header) {
	if u.As != "" {
		header.Set("Impersonate-User", u.As)
	}
	if u.AsUID != "" {
		header.Set("Impersonate-Uid", u.AsUID)
	}
	for _, group := range u.AsGroups {
		header.Add("Impersonate-Group", group)
	}
	for name, values := range u.AsExtra {
		for _, value := range values {
			header.Add("Impersonate-Extra-"+url.PathEscape(strings.ToLower(name)), value)
		}
	}
}
