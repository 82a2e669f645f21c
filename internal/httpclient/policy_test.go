package httpclient_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/httpclient"
	"tofu/internal/testenv/registrytest"
)

func TestMain(m *testing.M) { os.Exit(registrytest.RunTests(m)) }

// host is a test server that records its requests.
type host struct {
	*url.URL
	mu    sync.Mutex
	asked []string // received requests with headers and bodies
}

func serve(t *testing.T, start func(http.Handler) *httptest.Server, h http.HandlerFunc) *host {
	s := &host{}
	server := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked = append(s.asked, fmt.Sprintf("%s %s %v %s", r.Method, r.URL, r.Header, body))
		s.mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/v2/") && r.Header.Get("Authorization") == "" && h != nil {
			// Like some registries, this server expects a first request without credentials.
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if h != nil {
			h(w, r)
		} else {
			good(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // unblocks handlers that wait for the client
		server.Close()
	})
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.URL = u
	return s
}

func (s *host) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// good sends a response that is valid for every user.
func good(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v2/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		fmt.Fprint(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	case strings.HasPrefix(path, "/v1/"):
		fmt.Fprintf(w, `{"data":{"plaintext":"%s=","ciphertext":"x"}}`, strings.Repeat("A", 43))
	case strings.HasSuffix(path, ".zip"):
		_, _ = w.Write(archive())
	case strings.HasSuffix(path, "index.json"):
		fmt.Fprint(w, `{"versions":{"1.0.0":{}}}`)
	default:
		fmt.Fprint(w, `{"modules.v1":"/m/","access_token":"x"}`)
	}
}

// each runs a test for each user, and checks that neither the log nor the error contains secrets.
func each(t *testing.T, test func(t *testing.T, u user) error) {
	for _, u := range users {
		t.Run(u.name, func(t *testing.T) {
			var log bytes.Buffer
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
			defer slog.SetDefault(before)
			err := test(t, u)
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("a secret in the error: %v", err)
			}
			if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "HTTP request") {
				t.Errorf("a secret in the log, or nothing:\n%s", text)
			}
		})
	}
}

// TestGood checks that every user succeeds if the server behaves well, and sends a User-Agent
// header.
func TestGood(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		s := serve(t, httptest.NewTLSServer, nil)
		err := u.send(t, s.URL)
		if err != nil || len(s.requests()) != 1 || !strings.Contains(s.requests()[0], "User-Agent:[tofu/") {
			t.Errorf("%v after %v", err, s.requests())
		}
		return err
	})
}

// TestOtherOrigin checks that no redirect takes credentials or request bodies to another port.
func TestOtherOrigin(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		other := serve(t, httptest.NewTLSServer, nil)
		s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.JoinPath(r.URL.Path).String(), http.StatusTemporaryRedirect)
		})
		err := u.send(t, s.URL)
		got := other.requests()
		if strings.Contains(fmt.Sprint(got), secret) {
			t.Errorf("the other origin got %v", got)
		}
		if u.writes && (err == nil || len(got) > 0 || !strings.Contains(err.Error(), "to another server")) {
			t.Errorf("%v, and the other origin got %v", err, got)
		}
		if !u.writes && len(got) == 0 {
			t.Errorf("a request that reads isn't redirected: %v", err)
		}
		if len(s.requests()) > 2 {
			t.Errorf("a redirect that isn't followed is tried again: %v", s.requests())
		}
		return err
	})
}

// TestThereAndBack checks that credentials dropped by a redirect to another origin are not sent
// again if that origin redirects back.
func TestThereAndBack(t *testing.T) {
	var s *host
	other := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.JoinPath("back").String(), http.StatusFound)
	})
	s = serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/back" {
			http.Redirect(w, r, other.String(), http.StatusFound)
		}
	})
	if err := readState(t, s.JoinPath("state")); err != nil {
		t.Fatal(err)
	}
	got := s.requests()
	if len(got) != 2 || !strings.Contains(got[0], secret) || strings.Contains(got[1], secret) {
		t.Errorf("%q", got)
	}
}

// TestWriteBecomesRead checks that a redirect that would turn a write into a GET is an error, even
// on the same server.
func TestWriteBecomesRead(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther} {
		each(t, func(t *testing.T, u user) error {
			s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Has("there") {
					good(w, r)
					return
				}
				http.Redirect(w, r, r.URL.Path+"?there=1", status)
			})
			err := u.send(t, s.URL)
			if u.writes && (err == nil || len(s.requests()) != 1 ||
				!strings.Contains(err.Error(), "would turn it into a GET")) {
				t.Errorf("%d: %v after %v", status, err, s.requests())
			}
			if !u.writes && err != nil {
				t.Errorf("%d: %v", status, err)
			}
			return err
		})
	}
}

// TestSameOrigin checks that redirects that keep the origin and the method are followed with
// credentials.
func TestSameOrigin(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("there") {
				good(w, r)
				return
			}
			http.Redirect(w, r, r.URL.Path+"?there=1", http.StatusPermanentRedirect)
		})
		err := u.send(t, s.URL)
		if got := s.requests(); err != nil || strings.Contains(got[0], secret) !=
			strings.Contains(got[len(got)-1], secret) && !strings.Contains(got[0], "/v2/") {
			t.Errorf("%v after %v", err, got)
		}
		return err
	})
}

// TestOutOfEncryption checks that redirects from https to http are not followed.
func TestOutOfEncryption(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		plain := serve(t, httptest.NewServer, nil)
		s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, plain.JoinPath(r.URL.Path).String(), http.StatusTemporaryRedirect)
		})
		err := u.send(t, s.URL)
		if err == nil || !strings.Contains(err.Error(), "from https to http:") || len(plain.requests()) > 0 {
			t.Errorf("%v, and the plain server got %v", err, plain.requests())
		}
		return err
	})
}

// TestEndless checks that a request with an endless response is canceled.
func TestEndless(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		if u.large {
			t.Skip("its limit is too high for a test of all users")
		}
		s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			chunk := bytes.Repeat([]byte(" "), 1<<16)
			for r.Context().Err() == nil && r.Method != http.MethodHead {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		err := u.send(t, s.URL)
		if err == nil && !u.deaf {
			t.Error("there is no error")
		}
		return err
	})
}

// TestSilence checks that requests are canceled if the server falls silent before or during its
// response, or sends too slowly.
func TestSilence(t *testing.T) {
	t.Setenv(httpclient.TimeoutEnv, "0.1")
	for what, h := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // without an empty response, which could still arrive
		},
		"no body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
			w.Header().Set("Content-Length", "5000")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"drops": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte(" "))
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			each(t, func(t *testing.T, u user) error {
				s := serve(t, httptest.NewTLSServer, h)
				start := time.Now()
				err := u.send(t, s.URL)
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("after %s: %v", took, err)
				}
				given := err != nil && (strings.Contains(err.Error(), "no data for") ||
					strings.Contains(err.Error(), "unknown response Content-Length"))
				if !given && (!u.deaf || what == "no answer") {
					t.Errorf("%v", err)
				}
				return err
			})
		})
	}
}

// TestFailures checks that safe requests are repeated after a server error, and that other requests
// fail with the status.
func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		failed := false
		s := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			if failed {
				good(w, r)
				return
			}
			failed = true
			w.WriteHeader(http.StatusInternalServerError)
		})
		err := u.send(t, s.URL)
		if u.repeats && err != nil || !u.repeats && (err == nil || !strings.Contains(err.Error(), "500")) {
			t.Errorf("%v after %d requests", err, len(s.requests()))
		}
		return err
	})
}

// TestSecretsInURLs checks that messages and logs don't show passwords and secret parameters of
// URLs.
func TestSecretsInURLs(t *testing.T) {
	each(t, func(t *testing.T, u user) error {
		at := &url.URL{Scheme: "https", Host: "127.0.0.1:1"}
		if !u.bare {
			at.User, at.RawQuery = url.UserPassword("me", secret), "X-Amz-Signature="+secret+"&tok="+secret
		}
		err := u.send(t, at)
		if err == nil {
			t.Error("there is no error")
		}
		return err
	})
}

func TestInvalidTimeout(t *testing.T) {
	t.Setenv(httpclient.TimeoutEnv, "soon")
	if err := readState(t, &url.URL{Scheme: "https", Host: "127.0.0.1:1"}); err == nil ||
		!strings.Contains(err.Error(), `TOFU_HTTP_TIMEOUT is "soon"`) {
		t.Errorf("%v", err)
	}
}
