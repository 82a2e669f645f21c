package registry

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"tofu/internal/httpclient"
)

// Published returns the time at which a version was published, as the registry's document about the
// version says. service is the registry's service, and path the address of the provider or module on the
// host. The time is zero if the registry has no such document; not all have.
func (c *Client) Published(ctx context.Context, service, host, path, version string) (time.Time, error) {
	base, err := c.Service(ctx, host, service)
	if err != nil {
		return time.Time{}, err
	}
	doc, err := c.Get(ctx, base.JoinPath(path, version), host)
	if status, ok := errors.AsType[*StatusError](err); ok && status.Code/100 == 4 &&
		!httpclient.Temporary(status.Code) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	var about struct {
		At string `json:"published_at"`
	}
	if doc.JSON(&about) != nil {
		return time.Time{}, nil // another document
	}
	at, _ := time.Parse(time.RFC3339, about.At)
	return at, nil
}

// Modified returns the time at which a file on a server was last modified, or zero if the server
// doesn't say.
func (c *Client) Modified(ctx context.Context, u *url.URL, auth Authorize) (at time.Time, err error) {
	err = c.repeat(ctx, u, c.retries, func() (time.Duration, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, &timeoutError{httpclient.Redact(u), c.timeout})
		defer cancel()
		resp, err := c.send(ctx, http.MethodHead, u, auth, nil)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		if httpclient.Temporary(resp.StatusCode) {
			return retryAfter(resp), &StatusError{httpclient.Redact(u), resp.StatusCode}
		}
		if resp.StatusCode == http.StatusOK {
			at, _ = http.ParseTime(resp.Header.Get("Last-Modified"))
		}
		return 0, nil
	})
	return at, err
}
