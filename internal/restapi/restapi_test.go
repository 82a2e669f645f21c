package restapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// serve starts a server that responds to each request with the next status. A status of 0 cuts the
// connection. serve returns the server's address and the list of the bodies that the server
// receives.
func serve(t *testing.T, statuses ...int) (*url.URL, *[]string) {
	t.Helper()
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := make([]byte, 100)
		n, _ := r.Body.Read(text)
		bodies = append(bodies, r.Header.Get("X-Signature")+" "+string(text[:n]))
		status := statuses[min(len(bodies), len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("response"))
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/a%2Fb")
	if err != nil {
		t.Fatal(err)
	}
	return u, &bodies
}

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		statuses []int
		retries  int
		requests int
		status   int
	}{
		"at once":          {[]int{200}, 0, 1, 200},
		"no":               {[]int{404}, 0, 1, 404},
		"busy, then lost":  {[]int{503, 0, 429, 200}, 0, 4, 200},
		"always an error":  {[]int{500}, 1, 2, 500},
		"not implemented":  {[]int{501}, 0, 1, 501},
		"never repeated":   {[]int{500}, -1, 1, 500},
		"asked to repeat":  {[]int{409, 200}, 0, 2, 200},
		"lost all the way": {[]int{0}, 1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, bodies := serve(t, test.statuses...)
			c := &restapi.Client{HTTP: httpclient.New(httpclient.Options{}), Retries: test.retries,
				Sign: func(_ context.Context, req *http.Request, body []byte) error {
					req.Header.Set("X-Signature", strings.ToUpper(string(body)))
					return nil
				},
				Again: func(r *restapi.Response) bool { return r.Status == http.StatusConflict }}
			resp, err := c.Do(t.Context(), &restapi.Request{Method: http.MethodPut, URL: u, Body: []byte("text")})
			switch {
			case test.status == 0 && err == nil:
				t.Errorf("got %+v, want an error", resp)
			case test.status != 0 && (err != nil || resp.Status != test.status || string(resp.Body) != "response" ||
				resp.Repeated != (test.requests > 1)):
				t.Errorf("got %+v, %v", resp, err)
			}
			if len(*bodies) != test.requests {
				t.Errorf("%d requests, want %d", len(*bodies), test.requests)
			}
			for _, body := range *bodies {
				if body != "TEXT text" {
					t.Errorf("the server received %q", body)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	u, bodies := serve(t, 200)
	c := &restapi.Client{HTTP: httpclient.New(httpclient.Options{})}
	if _, err := c.Do(t.Context(), &restapi.Request{URL: u, Limit: 4}); err == nil ||
		!strings.Contains(err.Error(), "larger than 4 bytes") {
		t.Error(err)
	}
	refused := errors.New("no credentials")
	c.Sign = func(context.Context, *http.Request, []byte) error { return refused }
	if _, err := c.Do(t.Context(), &restapi.Request{URL: u}); !errors.Is(err, refused) {
		t.Error(err)
	}
	if len(*bodies) != 1 {
		t.Errorf("%d requests, want 1", len(*bodies))
	}
}

// TestRefusedStream checks that a body isn't read if the server refuses it because of its length.
func TestRefusedStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	read := false
	c := &restapi.Client{HTTP: httpclient.New(httpclient.Options{})}
	resp, err := c.Do(t.Context(), &restapi.Request{Method: "PUT", URL: u, Length: 1 << 30, Stream: func() io.Reader {
		return readerFunc(func(p []byte) (int, error) {
			read = true
			return len(p), nil
		})
	}})
	if err != nil || resp.Status != http.StatusRequestEntityTooLarge || read {
		t.Errorf("%+v, %v; read: %v", resp, err, read)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFailure(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{"", "https://x/y responded with the status 403 Forbidden"},
		{" no\n", "https://x/y responded with the status 403 Forbidden: no"},
		{"<html>", "https://x/y responded with the status 403 Forbidden"},
		{strings.Repeat("x", 600), "https://x/y responded with the status 403 Forbidden: " +
			strings.Repeat("x", 500) + "…"},
	} {
		if got := (&restapi.Response{Status: 403, From: "https://x/y", Body: []byte(test.body)}).Failure().Error(); got != test.want {
			t.Errorf("%q: %s", test.body, got)
		}
	}
}
