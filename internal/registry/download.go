package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"tofu/internal/httpclient"
)

// Download describes a large file to fetch.
type Download struct {
	URL *url.URL
	// Host is the host whose credentials are sent with the request. It may be empty.
	Host string
	// Auth adds credentials other than a host's token.
	Auth Authorize
	// Progress receives the number of bytes fetched so far and in total (0 if unknown). The first
	// number decreases when a transfer restarts. It may be nil.
	Progress func(done, total int64)
	// Retries is the maximum number of repeated attempts.
	Retries int
	// Limit is the maximum size; 0 means a generous default.
	Limit int64
}

const maxDownload = 8 << 30

// errShort reports a transfer that ended early and can't be resumed.
var errShort = errors.New("the transfer was interrupted")

// Fetch writes the file to dst, which is empty. An interrupted transfer is resumed if the server
// supports that and the file hasn't changed.
func (c *Client) Fetch(ctx context.Context, d Download, dst *os.File) error {
	t := &transfer{client: c, d: d, dst: dst}
	if t.d.Auth == nil {
		auth, err := c.bearer(ctx, d.Host)
		if err != nil {
			return err
		}
		t.d.Auth = auth
	}
	if t.d.Limit == 0 {
		t.d.Limit = maxDownload
	}
	if err := c.repeat(ctx, d.Retries, func() (time.Duration, error) { return t.attempt(ctx) }); err != nil {
		return fmt.Errorf("fetching %s: %w", httpclient.Redact(d.URL), err)
	}
	return nil
}

// transfer is the state of a download over several attempts.
type transfer struct {
	client  *Client
	d       Download
	dst     *os.File
	written int64
	total   int64  // 0 when unknown
	version string // identifies the version of the file on the server if the transfer can be resumed
}

func (t *transfer) attempt(ctx context.Context) (time.Duration, error) {
	header := http.Header{"Accept-Encoding": {"identity"}}
	rest := t.written > 0 && t.version != ""
	if rest {
		header.Set("Range", fmt.Sprintf("bytes=%d-", t.written))
		header.Set("If-Range", t.version)
	}
	resp, err := t.client.send(ctx, t.d.URL, t.d.Auth, header)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		if err := t.restart(resp); err != nil {
			return 0, err
		}
	case resp.StatusCode == http.StatusPartialContent && rest &&
		!strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.written)):
		return 0, fmt.Errorf("the server was asked for the bytes from %d on but sent others: %q", t.written,
			resp.Header.Get("Content-Range"))
	case resp.StatusCode == http.StatusPartialContent && rest:
	default:
		return retryAfter(resp), &StatusError{httpclient.Redact(t.d.URL), resp.StatusCode}
	}
	if t.written+max(resp.ContentLength, 0) > t.d.Limit {
		return 0, fmt.Errorf("the file has %d bytes, more than the limit of %d", t.written+resp.ContentLength,
			t.d.Limit)
	}
	t.total = 0
	if resp.ContentLength >= 0 {
		t.total = t.written + resp.ContentLength
	}
	return 0, t.copy(ctx, resp.Body)
}

// restart begins at the first byte and records whether the transfer could be resumed later.
func (t *transfer) restart(resp *http.Response) error {
	t.written, t.version = 0, ""
	if resp.Header.Get("Accept-Ranges") == "bytes" {
		if tag := resp.Header.Get("ETag"); tag != "" && tag[0] == '"' {
			t.version = tag
		} else {
			t.version = resp.Header.Get("Last-Modified")
		}
	}
	if _, err := t.dst.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return t.dst.Truncate(0)
}

func (t *transfer) copy(ctx context.Context, body io.Reader) error {
	buf := make([]byte, 1<<17)
	var silent *httpclient.SilenceError
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if t.written += int64(n); t.written > t.d.Limit {
				return fmt.Errorf("the file has more than the limit of %d bytes", t.d.Limit)
			}
			if _, err := t.dst.Write(buf[:n]); err != nil {
				return err
			}
			if t.d.Progress != nil {
				t.d.Progress(t.written, t.total)
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &silent):
			return silent
		case t.version != "":
			return fmt.Errorf("%w: %w", errShort, io.ErrUnexpectedEOF) // allows another attempt
		default:
			return fmt.Errorf("%w after %d bytes", errShort, t.written)
		}
	}
}
