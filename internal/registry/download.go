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

// Download is a large file to fetch.
type Download struct {
	URL *url.URL
	// Host is whose credentials go with the request; empty for none.
	Host string
	// Auth are credentials in place of a host's.
	Auth Authorize
	// Progress is told how many bytes came, and how many there are, 0 when that is unknown; nil for nobody. A transfer that
	// starts again tells smaller numbers again.
	Progress func(done, total int64)
	// Retries is how often a failed attempt is repeated.
	Retries int
	// Limit is the largest size accepted; 0 for a generous one.
	Limit int64
}

const maxDownload = 8 << 30

// errShort is a transfer that ended before its announced end and can't be continued.
var errShort = errors.New("the transfer was cut short")

// Fetch writes the file to dst, which is empty. A transfer that breaks off is continued where it stopped, if the
// server can do that and the file hasn't changed meanwhile.
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
	version string // identifies the file at the server, if it can be continued
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
	case resp.StatusCode == http.StatusPartialContent && rest && !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.written)):
		return 0, fmt.Errorf("the server was asked for the bytes from %d on and sent others: %q", t.written, resp.Header.Get("Content-Range"))
	case resp.StatusCode == http.StatusPartialContent && rest:
	default:
		return retryAfter(resp), &StatusError{httpclient.Redact(t.d.URL), resp.StatusCode}
	}
	if t.written+max(resp.ContentLength, 0) > t.d.Limit {
		return 0, fmt.Errorf("the file has %d bytes, more than the %d that are acceptable", t.written+resp.ContentLength, t.d.Limit)
	}
	t.total = 0
	if resp.ContentLength >= 0 {
		t.total = t.written + resp.ContentLength
	}
	return 0, t.copy(ctx, resp.Body)
}

// restart begins at the first byte, and notes whether the transfer could be continued later.
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
				return fmt.Errorf("the file has more than the %d bytes that are acceptable", t.d.Limit)
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
			return fmt.Errorf("%w: %w", errShort, io.ErrUnexpectedEOF) // worth another attempt
		default:
			return fmt.Errorf("%w after %d bytes", errShort, t.written)
		}
	}
}
