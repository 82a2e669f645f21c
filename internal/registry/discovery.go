package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
)

// services holds a host's services, and the URL to which their URLs are relative.
type services struct {
	base *url.URL
	urls map[string]any
}

// NoServiceError reports that a host doesn't offer a service.
type NoServiceError struct{ Host, Service string }

var serviceNames = map[string]string{
	"login.v1": "a login service", "modules.v1": "a module registry", "providers.v1": "a provider registry",
}

func (e *NoServiceError) Error() string {
	name := cmp.Or(serviceNames[e.Service], "the service "+e.Service)
	return fmt.Sprintf("host %s doesn't offer %s", e.Host, name)
}

// Service returns the base URL of a service of a host, such as "providers.v1".
func (c *Client) Service(ctx context.Context, host, name string) (*url.URL, error) {
	found, err := c.offers(ctx, host)
	if err != nil {
		return nil, err
	}
	text, ok := found.urls[name].(string)
	if !ok {
		return nil, &NoServiceError{host, name}
	}
	u, err := found.base.Parse(text)
	if err != nil || u.User != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, fmt.Errorf("host %s offers the service %s at %q, which is not a usable URL: it must be an http or "+
			"https URL without a user name", host, name, text)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

// offers returns the services of a host. It sends a request to each host only once.
func (c *Client) offers(ctx context.Context, host string) (services, error) {
	return c.services.Do(host, func() (services, error) { return c.discover(ctx, host) })
}

// discover returns a host's services from the CLI configuration or, if it doesn't contain the host,
// from the host. A host without a description of its services has none.
func (c *Client) discover(ctx context.Context, host string) (services, error) {
	base := &url.URL{Scheme: "https", Host: host, Path: "/.well-known/terraform.json"}
	if override, ok := c.cfg.Hosts[host]; ok {
		return services{base, override.Services}, nil
	}
	doc, err := c.Get(ctx, base, host)
	if NotFound(err) {
		return services{base, nil}, nil
	}
	if err != nil {
		return services{}, fmt.Errorf("could not connect to %s: failed to request discovery document: %w", host, err)
	}
	if kind, _, err := mime.ParseMediaType(doc.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return services{}, fmt.Errorf("host %s returned an invalid discovery document: %s has the type %q, "+
			"not application/json", host, httpclient.Redact(doc.URL), kind)
	}
	found := services{base: doc.URL}
	if err := doc.JSON(&found.urls); err != nil {
		return services{}, fmt.Errorf("host %s returned an invalid discovery document: %w", host, err)
	}
	return found, nil
}

// IsNoService reports whether err means that a host lacks a service.
func IsNoService(err error) bool {
	_, ok := errors.AsType[*NoServiceError](err)
	return ok
}

// Tokens returns the client's credentials store, for commands that change it.
func (c *Client) Tokens() *cliconfig.Tokens { return c.tokens }
