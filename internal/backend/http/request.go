package http

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/httpclient"
)

func newRequest(ctx context.Context, method string, to *url.URL, body []byte) (*http.Request, error) {
	if body == nil {
		return http.NewRequestWithContext(ctx, method, to.String(), nil)
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	sum := md5.Sum(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	return req, nil
}

// checkSum compares the body with the checksum if the server sent one.
func (r *response) checkSum() error {
	given := r.header.Get("Content-MD5")
	if given == "" {
		return nil
	}
	want, err := base64.StdEncoding.DecodeString(given)
	if err != nil {
		return fmt.Errorf("the server sent the invalid checksum %q", given)
	}
	if sum := md5.Sum(r.body); !bytes.Equal(sum[:], want) {
		return errors.New("the response doesn't match the checksum sent by the server")
	}
	return nil
}

// failure returns an error that explains the response.
func (r *response) failure() error {
	from := httpclient.Redact(r.request.URL)
	switch r.status {
	case http.StatusUnauthorized:
		return fmt.Errorf("%s requires authentication (401): set or correct \"username\" and \"password\", or "+
			"a header with credentials", from)
	case http.StatusForbidden:
		return fmt.Errorf("%s doesn't permit this request (403): check the credentials", from)
	case http.StatusLocked, http.StatusConflict:
		return fmt.Errorf("the state is locked (%d)%s", r.status, r.excerpt())
	}
	answer := fmt.Sprintf("responded with %d %s%s", r.status, http.StatusText(r.status), r.excerpt())
	if r.attempts == 0 {
		return errors.New(from + " " + answer)
	}
	return &httpclient.GaveUpError{Method: r.request.Method, URL: r.request.URL, Attempts: r.attempts,
		Err: errors.New("the server " + answer)}
}

// excerpt returns the beginning of the response if that is readable text, and "" otherwise.
func (r *response) excerpt() string {
	text := strings.TrimSpace(string(r.body))
	if text == "" || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") &&
		!strings.HasPrefix(r.header.Get("Content-Type"), "application/json") {
		return ""
	}
	if line, _, more := strings.Cut(text, "\n"); more || len(line) > 300 {
		text = line[:min(len(line), 300)] + "…"
	}
	return ": " + text
}
