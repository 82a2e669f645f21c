package registry

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
)

// services are a host's services with the URL that relative ones are relative to.
type services struct {
	base *url.URL
	urls map[string]any
}

// NoServiceError tells that a host doesn't offer a service.
type NoServiceError struct{ Host, Service string }

func (e *NoServiceError) Error() string {
	return fmt.Sprintf("host %s doesn't offer the service %s", e.Host, e.Service)
}

// Service finds the base URL of a service ("providers.v1") of a host.
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
		return nil, fmt.Errorf("host %s gives %q for the service %s, which is no URL that can be used", host, text, name)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	return u, nil
}

// offers gives what a host offers; each host is asked once.
func (c *Client) offers(ctx context.Context, host string) (services, error) {
	found, err := c.services.Do(host, func() (services, error) { return c.discover(ctx, host) })
	if err != nil {
		return services{}, fmt.Errorf("could not connect to %s: failed to request discovery document: %w", host, err)
	}
	return found, nil
}

// discover asks the host, unless the CLI configuration says what it offers.
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
		return services{}, err
	}
	if kind, _, err := mime.ParseMediaType(doc.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return services{}, fmt.Errorf("%s has the type %q, not application/json", httpclient.Redact(doc.URL), kind)
	}
	found := services{base: doc.URL}
	if err := doc.JSON(&found.urls); err != nil {
		return services{}, err
	}
	return found, nil
}

// IsNoService tells whether err is that a host lacks a service.
func IsNoService(err error) bool {
	var none *NoServiceError
	return errors.As(err, &none)
}

// Tokens are the client's credentials, for commands that change them.
func (c *Client) Tokens() *cliconfig.Tokens { return c.tokens }
