package restapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

const (
	// DefaultRetries is the maximum number of retries of a request if Client.Retries is not set.
	DefaultRetries = 5

	firstDelay   = 200 * time.Millisecond
	longestDelay = 20 * time.Second
)

// A Client calls a service. Its fields must not be changed after its first call.
type Client struct {
	HTTP *httpclient.Client
	// Sign authenticates a request. It may be nil. It is called for each attempt, so that
	// signatures don't expire. If it returns an error, the request is not sent or repeated.
	Sign func(ctx context.Context, req *http.Request, body []byte) error
	// Retries is the maximum number of retries of a request. 0 means DefaultRetries, and a negative
	// number means that requests are not repeated.
	Retries int
	// Again reports whether a response is a reason to repeat the request, in addition to the cases
	// in which Do always repeats it. It may be nil.
	Again func(*Response) bool
}

// A Request is a request to a service.
type Request struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
	Limit  int64 // maximum size of the response in bytes; 0 means 1 MiB
	// Stream returns the body if Body is nil. Length is the length of the body in bytes. The
	// service may refuse the request before reading any of the body.
	Stream func() io.Reader
	Length int64
}

// A Response is a complete response of a service.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Repeated reports whether the request was sent more than once. If it was, the service may have
	// executed an earlier attempt.
	Repeated bool
	// From is the address that responded, without query and secrets.
	From string
}

// Do sends a request and returns the response, even if its status is an error. Errors don't contain
// secrets.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	retries := c.Retries
	if retries == 0 {
		retries = DefaultRetries
	}
	delay := firstDelay
	for attempt := 0; ; attempt++ {
		resp, err := c.once(ctx, r)
		if resp != nil {
			resp.Repeated = attempt > 0
		}
		if attempt >= retries || ctx.Err() != nil || !c.again(resp, err) {
			return resp, err
		}
		// The delay varies at random, so that clients that fail at the same time retry at different
		// times.
		now := delay/2 + rand.N(delay)
		if resp != nil {
			now = max(now, min(httpclient.RetryAfter(resp.Header), longestDelay))
		}
		select {
		case <-ctx.Done():
			return resp, errors.Join(err, context.Cause(ctx))
		case <-time.After(now):
		}
		delay = min(2*delay, longestDelay)
	}
}

// again reports whether another attempt may have a different result.
func (c *Client) again(resp *Response, err error) bool {
	if err != nil {
		return !errors.As(err, new(*final))
	}
	return httpclient.Temporary(resp.Status) || resp.Status == http.StatusRequestTimeout ||
		c.Again != nil && c.Again(resp)
}

// final is an error that another attempt would return, too.
type final struct{ error }

func (e *final) Unwrap() error { return e.error }

func (c *Client) once(ctx context.Context, r *Request) (*Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body) // net/http knows the length of this reader, and the data isn't copied
	}
	if r.Stream != nil {
		body = r.Stream()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL.String(), body)
	if err != nil {
		return nil, &final{err}
	}
	*req.URL = *r.URL // as given, because escaping the URL again could change the signed parts
	maps.Copy(req.Header, r.Header)
	if r.Stream != nil {
		req.ContentLength = r.Length
		req.Header.Set("Expect", "100-continue")
	}
	if c.Sign != nil {
		if err := c.Sign(ctx, req, r.Body); err != nil {
			return nil, &final{err}
		}
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if _, ok := errors.AsType[*httpclient.RedirectError](err); ok {
			err = &final{err}
		}
		return nil, err
	}
	defer resp.Body.Close()
	limit := r.Limit
	if limit == 0 {
		limit = 1 << 20
	}
	from := *resp.Request.URL
	from.RawQuery, from.User = "", nil
	out := &Response{Status: resp.StatusCode, Header: resp.Header, From: from.String()}
	out.Body, err = readAll(resp, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the response from %s: %w", r.URL.Host, err)
	}
	return out, nil
}

// readAll reads the body of a response. If its length is known, it allocates the result only once.
func readAll(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength < 0 || resp.Request.Method == http.MethodHead {
		return limits.ReadAll(resp.Body, limit, "the response")
	}
	if resp.ContentLength > limit {
		return nil, &final{limits.TooLarge("the response", limit)}
	}
	data := make([]byte, resp.ContentLength)
	_, err := io.ReadFull(resp.Body, data)
	return data, err
}

// Failure returns an error with the address, the status and the text of a response. It omits HTML and XML. HTML
// usually comes from a proxy.
func (r *Response) Failure() error {
	const most = 500
	text := strings.TrimSpace(string(r.Body))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	status := fmt.Sprintf("%s responded with the status %d %s", r.From, r.Status, http.StatusText(r.Status))
	if text == "" || strings.HasPrefix(text, "<") {
		return errors.New(status)
	}
	return fmt.Errorf("%s: %s", status, text)
}
