package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Download is a large file to fetch.
type Download struct {
	URL *url.URL
	// Host is whose credentials go with the request; empty for none.
	Host string
	// Retries is how often a failed attempt is repeated.
	Retries int
	// Limit is the largest size accepted; 0 for a generous one.
	Limit int64
}

const (
	maxDownload = 8 << 30
	// stall is how long a download may bring nothing before the attempt counts as failed.
	stall = 60 * time.Second
)

// errShort is a transfer that ended before its announced end and can't be continued.
var errShort = errors.New("the transfer was cut short")

// Fetch writes the file to dst, which is empty. A transfer that breaks off is continued where it stopped, if the
// server can do that and the file hasn't changed meanwhile.
func (c *Client) Fetch(ctx context.Context, d Download, dst *os.File) error {
	token, err := c.token(ctx, d.Host)
	if err != nil {
		return err
	}
	t := &transfer{client: c, d: d, dst: dst, token: token}
	if t.d.Limit == 0 {
		t.d.Limit = maxDownload
	}
	if err := c.repeat(ctx, d.Retries, func() (time.Duration, error) { return t.attempt(ctx) }); err != nil {
		return fmt.Errorf("fetching %s: %w", d.URL.Redacted(), err)
	}
	return nil
}

// transfer is the state of a download over several attempts.
type transfer struct {
	client  *Client
	d       Download
	dst     *os.File
	token   string
	written int64
	version string // identifies the file at the server, if it can be continued
}

func (t *transfer) attempt(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(stall, func() {
		cancel(fmt.Errorf("nothing came for %s: %w", stall, errTimeout))
	})
	defer watchdog.Stop()
	header := http.Header{"Accept-Encoding": {"identity"}}
	if t.written > 0 && t.version != "" {
		header.Set("Range", fmt.Sprintf("bytes=%d-", t.written))
		header.Set("If-Range", t.version)
	}
	resp, err := t.client.send(ctx, t.d.URL, t.token, header)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK:
		if err := t.restart(resp); err != nil {
			return 0, err
		}
	case resp.StatusCode == http.StatusPartialContent && t.written > 0:
	default:
		return retryAfter(resp), &StatusError{t.d.URL.Redacted(), resp.StatusCode}
	}
	if t.written+max(resp.ContentLength, 0) > t.d.Limit {
		return 0, fmt.Errorf("the file has %d bytes, more than the %d that are acceptable", t.written+resp.ContentLength, t.d.Limit)
	}
	return 0, t.copy(ctx, resp.Body, watchdog)
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

func (t *transfer) copy(ctx context.Context, body io.Reader, watchdog *time.Timer) error {
	buf := make([]byte, 1<<17)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			watchdog.Reset(stall)
			if t.written += int64(n); t.written > t.d.Limit {
				return fmt.Errorf("the file has more than the %d bytes that are acceptable", t.d.Limit)
			}
			if _, err := t.dst.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case t.version != "":
			return fmt.Errorf("%w: %w", errShort, io.ErrUnexpectedEOF) // worth another attempt
		default:
			return fmt.Errorf("%w after %d bytes", errShort, t.written)
		}
	}
}
