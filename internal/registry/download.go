package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"tofu/internal/httpclient"
	"tofu/internal/transfer"
)

// Download describes a large file to fetch.
type Download struct {
	URL *url.URL
	// Host is the host whose credentials are sent with the request. It may be "".
	Host string
	// Auth adds credentials other than the token of a host. It may be nil.
	Auth Authorize
	// Progress receives the number of bytes fetched so far and the total, or 0 if the total is
	// unknown. The number of bytes decreases when a transfer restarts. Progress may be nil.
	Progress func(done, total int64)
	// Retries is the maximum number of retries of a failed attempt.
	Retries int
	// Limit is the maximum size in bytes; 0 means a generous default.
	Limit int64
}

const maxDownload = 8 << 30

// errShort reports that a transfer has ended early and can't be resumed.
var errShort = errors.New("the transfer was interrupted")

// Fetch writes the file to dst, which must be empty. An interrupted transfer is resumed if the
// server supports this and the file hasn't changed.
func (c *Client) Fetch(ctx context.Context, d Download, dst *os.File) error {
	if d.Auth == nil {
		auth, err := c.bearer(ctx, d.Host)
		if err != nil {
			return err
		}
		d.Auth = auth
	}
	if d.Limit == 0 {
		d.Limit = maxDownload
	}
	t := &download{client: c, url: d.URL, auth: d.Auth}
	t.file = transfer.File{Open: t.open, Dst: dst, Limit: d.Limit, Progress: d.Progress}
	attempt := func() (time.Duration, error) { return t.attempt(ctx) }
	err := c.repeat(ctx, d.URL, d.Retries, attempt)
	if _, named := errors.AsType[*httpclient.GaveUpError](err); err == nil || named {
		return err
	}
	return fmt.Errorf("fetching %s: %w", httpclient.Redact(d.URL), err)
}

// download is the state of a download across several attempts.
type download struct {
	client  *Client
	url     *url.URL
	auth    Authorize
	file    transfer.File
	version string        // version of the file on the server; "" if the transfer can't be resumed
	wait    time.Duration // delay before the next attempt that the server has asked for in its last response
}

func (d *download) attempt(ctx context.Context) (time.Duration, error) {
	d.wait = 0
	err := d.file.Attempt(ctx)
	_, silent := errors.AsType[*httpclient.SilenceError](err)
	if errors.Is(err, transfer.ErrInterrupted) && d.version == "" && !silent {
		err = fmt.Errorf("%w after %d bytes, and the server doesn't support resuming it", errShort, d.file.Written())
	}
	return d.wait, err
}

func (d *download) open(ctx context.Context, from int64) (*transfer.Part, error) {
	header := http.Header{"Accept-Encoding": {"identity"}}
	rest := from > 0 && d.version != ""
	if rest {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		header.Set("If-Range", d.version)
	}
	resp, err := d.client.send(ctx, http.MethodGet, d.url, d.auth, header)
	if err != nil {
		return nil, err
	}
	part := &transfer.Part{Body: resp.Body, Size: resp.ContentLength}
	switch {
	case resp.StatusCode == http.StatusOK:
		d.version = versionOf(resp)
	case resp.StatusCode == http.StatusPartialContent && rest &&
		strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)):
		part.Start = from
		if part.Size >= 0 {
			part.Size += from
		}
	case resp.StatusCode == http.StatusPartialContent && rest:
		resp.Body.Close()
		return nil, fmt.Errorf("the server was asked for the bytes from %d on but sent others (Content-Range: %q)", from,
			resp.Header.Get("Content-Range"))
	default:
		resp.Body.Close()
		d.wait = retryAfter(resp)
		return nil, &StatusError{httpclient.Redact(d.url), resp.StatusCode}
	}
	return part, nil
}

// versionOf returns a string that identifies the version of a file. It is needed to resume the
// transfer later. versionOf returns "" if the server doesn't support resuming.
func versionOf(resp *http.Response) string {
	if resp.Header.Get("Accept-Ranges") != "bytes" {
		return ""
	}
	if tag := resp.Header.Get("ETag"); tag != "" && tag[0] == '"' {
		return tag
	}
	return resp.Header.Get("Last-Modified")
}
