package registry

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/httpclient"
)

// fetch downloads to a new file and returns the content of the file.
func fetch(t *testing.T, c *Client, d Download) ([]byte, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fetchErr := c.Fetch(t.Context(), d, f)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, fetchErr
}

var large = bytes.Repeat([]byte("0123456789abcdef"), 1<<14)

// TestStall checks that a stalled transfer is canceled and then resumed with another request.
func TestStall(t *testing.T) {
	var asked atomic.Int32
	resume := true
	u, c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if resume && n > 1 {
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(large))
			return
		}
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", fmt.Sprint(len(large)))
		w.Write(large[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c.http = httpclient.New(httpclient.Options{Silence: 2 * time.Second}) // long enough for a busy machine
	var last int64
	progress := func(done, total int64) {
		if done < last || total != int64(len(large)) {
			t.Errorf("%d after %d of %d", done, last, total)
		}
		last = done
	}
	if data, err := fetch(t, c, Download{URL: u, Retries: 1, Progress: progress}); err != nil ||
		!bytes.Equal(data, large) || asked.Load() != 2 {
		t.Errorf("%d bytes after %d requests: %v", len(data), asked.Load(), err)
	}
	if last != int64(len(large)) {
		t.Errorf("progress ended at %d", last)
	}
	resume = false
	asked.Store(0)
	if _, err := fetch(t, c, Download{URL: u, Retries: 1}); err == nil ||
		!strings.Contains(err.Error(), " giving up after 2 attempt(s): the transfer was") ||
		!strings.Contains(err.Error(), "no data for") || asked.Load() != 2 {
		t.Errorf("after %d requests: %v", asked.Load(), err)
	}
	// An interrupt must end a transfer without waiting for a timeout.
	c.http = httpclient.New(httpclient.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := c.Fetch(ctx, Download{URL: u, Retries: 9}, f); !errors.Is(err, context.Canceled) ||
		time.Since(start) > httpclient.DefaultSilence/2 {
		t.Errorf("after %s: %v", time.Since(start), err)
	}
}

// TestTruncated checks that truncated transfers are errors, and that a transfer is resumed only if
// that is safe.
func TestTruncated(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		// second responds to the second request; nil if there must be no such request.
		second func(http.ResponseWriter, *http.Request)
		ok     bool
	}{
		"no ranges": {header: nil},
		"weak tag":  {header: map[string]string{"Accept-Ranges": "bytes", "ETag": `W/"1"`}},
		"strong tag": {header: map[string]string{"Accept-Ranges": "bytes", "ETag": `"1"`}, ok: true,
			second: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"1"`)
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(large))
			}},
		"changed meanwhile": {header: map[string]string{"Accept-Ranges": "bytes", "ETag": `"1"`}, ok: true,
			second: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"2"`)
				// If-Range doesn't match, so the server sends the complete file.
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(large))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			u, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > 1 {
					if c.second == nil {
						t.Error("the file is asked for again")
						return
					}
					c.second(w, r)
					return
				}
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				w.Header().Set("Content-Length", fmt.Sprint(len(large)))
				w.Write([]byte("another beginning"))
				if c.ok && name == "strong tag" {
					w.(http.Flusher).Flush()
				}
			})
			data, err := fetch(t, client, Download{URL: u, Retries: 1})
			if c.ok && name == "strong tag" { // the first part of the file must be kept
				want := append([]byte("another beginning"), large[len("another beginning"):]...)
				if err != nil || !bytes.Equal(data, want) {
					t.Errorf("%d bytes: %v", len(data), err)
				}
				return
			}
			if (err == nil) != c.ok || c.ok && !bytes.Equal(data, large) || !c.ok && !errors.Is(err, errShort) {
				t.Errorf("%d bytes: %v", len(data), err)
			}
		})
	}
}

// TestOtherPart checks that a response with a range other than the requested one is an error.
func TestOtherPart(t *testing.T) {
	var asked atomic.Int32
	u, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if asked.Add(1) > 1 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(large)-1, len(large)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(large)
			return
		}
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Content-Length", fmt.Sprint(len(large)))
		w.Write(large[:10])
		w.(http.Flusher).Flush()
	})
	if data, err := fetch(t, client, Download{URL: u, Retries: 1}); err == nil ||
		!strings.Contains(err.Error(), "sent others") {
		t.Errorf("%d bytes: %v", len(data), err)
	}
}

// TestProxy checks that requests use the proxy in the environment and verify the certificate of the
// server behind the proxy. The request is sent by another process, because a process reads the
// environment only once.
func TestProxy(t *testing.T) {
	if name := os.Getenv("TEST_PROXY_FETCH"); name != "" {
		u, err := url.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := New(&cliconfig.Config{RegistryTimeout: 5 * time.Second}).Get(t.Context(), u, "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("got %s\n", doc.Body)
		return
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w,
			"hello "+r.Host)
	}))
	defer server.Close()
	proxy, tunnels := startProxy(t, server.Listener.Addr().String())
	// The certificate is valid only for the first host.
	for host, want := range map[string]bool{"registry.example.com": true, "registry.example.org": false} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$")
		cmd.Env = append(os.Environ(), "TEST_PROXY_FETCH=https://"+host+"/x", "HTTPS_PROXY=http://"+proxy,
			"https_proxy=", "NO_PROXY=", "no_proxy=")
		out, err := cmd.CombinedOutput()
		if got := err == nil && strings.Contains(string(out), "got hello "+host); got != want {
			t.Errorf("%s: %v\n%s", host, err, out)
		}
		if !strings.Contains(tunnels(), host+":443") {
			t.Errorf("no tunnel to %s", host)
		}
	}
}

// startProxy starts a proxy that connects all tunnels to the same address. asked returns the
// addresses that clients have requested.
func startProxy(t *testing.T, to string) (address string, asked func() string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	var seen []string
	tunnel := func(from net.Conn) {
		defer from.Close()
		buffered := bufio.NewReader(from)
		req, err := http.ReadRequest(buffered)
		if err != nil || req.Method != http.MethodConnect {
			io.WriteString(from, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
			return
		}
		mu.Lock()
		seen = append(seen, req.Host)
		mu.Unlock()
		end, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer end.Close()
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(end, buffered)
		io.Copy(from, end)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go tunnel(conn)
		}
	}()
	return l.Addr().String(), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, " ")
	}
}
