package http_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	driver "tofu/internal/backend/http"
	"tofu/internal/configs/blocks"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

// server is a minimal but correct server for states.
type server struct {
	mu      sync.Mutex
	state   []byte
	lock    *backend.LockInfo
	fail    []int  // statuses of the next responses
	busy    string // Retry-After header of these responses
	times   []time.Time
	drop    int // how many of the next requests are carried out without a response
	methods []string
	auth    string
	headers http.Header
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods, s.headers, s.times = append(s.methods, r.Method), r.Header, append(s.times, time.Now())
	if s.auth != "" {
		if user, password, _ := r.BasicAuth(); user+":"+password != s.auth {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	}
	if len(s.fail) > 0 {
		status := s.fail[0]
		s.fail = s.fail[1:]
		w.Header().Set("Retry-After", s.busy)
		http.Error(w, "no luck", status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if sum := md5.Sum(body); len(body) > 0 && r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(sum[:]) {
		http.Error(w, "bad checksum", http.StatusBadRequest)
		return
	}
	status, answer := s.serve(r, body)
	if s.drop > 0 {
		s.drop--
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func (s *server) serve(r *http.Request, body []byte) (int, []byte) {
	switch r.Method {
	case "GET":
		if s.state == nil {
			return http.StatusNotFound, nil
		}
		return http.StatusOK, s.state
	case "POST", "PUT":
		if s.lock != nil && r.URL.Query().Get("ID") != s.lock.ID {
			return http.StatusLocked, []byte("locked by another")
		}
		s.state = body
		return http.StatusOK, nil
	case "DELETE":
		s.state = nil
		return http.StatusOK, nil
	case "LOCK":
		if s.lock != nil {
			holder, _ := json.Marshal(s.lock)
			return http.StatusLocked, holder
		}
		s.lock = &backend.LockInfo{}
		if json.Unmarshal(body, s.lock) != nil {
			return http.StatusBadRequest, nil
		}
		return http.StatusOK, nil
	case "UNLOCK":
		var info backend.LockInfo
		if json.Unmarshal(body, &info) != nil || s.lock == nil || s.lock.ID != info.ID {
			return http.StatusConflict, []byte("not that lock")
		}
		s.lock = nil
		return http.StatusOK, nil
	}
	return http.StatusMethodNotAllowed, nil
}

func start(t *testing.T) (*server, string) {
	s := new(server)
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL + "/state?x=1"
}

func open(t *testing.T, config map[string]cty.Value) backend.Store {
	t.Helper()
	store, err := tryOpen(config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func tryOpen(config map[string]cty.Value) (backend.Store, error) {
	c := driver.Driver.Config()
	if err := blocks.Decode(cty.ObjectVal(config), c, func(string) string { return "" }, tfdiags.Drop); err != nil {
		return nil, err
	}
	return driver.Driver.Open(context.Background(), c)
}

func locking(address string) map[string]cty.Value {
	a := cty.StringVal(address)
	return map[string]cty.Value{"address": a, "lock_address": a, "unlock_address": a, "retry_wait_min": cty.Zero}
}

const ws = backend.DefaultWorkspace

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		_, address := start(t)
		return open(t, locking(address)), open(t, locking(address))
	})
}

func TestStoreWithoutLocks(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		_, address := start(t)
		config := map[string]cty.Value{"address": cty.StringVal(address), "update_method": cty.StringVal("PUT")}
		return open(t, config), open(t, config)
	})
}

func TestRetries(t *testing.T) {
	srv, address := start(t)
	s := open(t, locking(address))
	srv.fail = []int{500, 503}
	if err := s.Put(t.Context(), ws, []byte("{}")); err != nil || string(srv.state) != "{}" {
		t.Errorf("after two failures: %v, %s", err, srv.state)
	}
	srv.fail = []int{500, 502, 503}
	if err := s.Put(t.Context(), ws, []byte("[]")); err == nil ||
		!strings.Contains(err.Error(), "/state?x=1 giving up after 3 attempt(s): the server responded with 503 "+
			"Service Unavailable: no luck") {
		t.Errorf("after three failures: %v", err)
	}
	srv.methods = nil
	srv.fail = []int{400}
	if err := s.Put(t.Context(), ws, []byte("[]")); err == nil || len(srv.methods) != 1 {
		t.Errorf("a refusal is tried again: %v, %v", err, srv.methods)
	}
}

// TestRetryAfter checks that a request isn't repeated before the time in the Retry-After header,
// and that the configured maximum wait limits that time.
func TestRetryAfter(t *testing.T) {
	srv, address := start(t)
	s := open(t, locking(address))
	srv.fail, srv.busy = []int{429}, "1"
	if err := s.Put(t.Context(), ws, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if waited := srv.times[1].Sub(srv.times[0]); waited < time.Second {
		t.Errorf("the server was asked again after %s", waited)
	}
	for _, busy := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)} {
		config := locking(address)
		config["retry_wait_max"] = cty.Zero
		srv.fail, srv.busy = []int{503}, busy
		if err := open(t, config).Put(t.Context(), ws, []byte("{}")); err != nil {
			t.Errorf("%s: %v", busy, err)
		}
	}
}

// TestLostAnswers checks that requests whose responses are lost succeed when they are repeated.
func TestLostAnswers(t *testing.T) {
	srv, address := start(t)
	s := open(t, locking(address))
	l := s.(backend.Locker)
	srv.drop = 1
	id, err := l.Lock(t.Context(), ws, backend.LockInfo{ID: "mine"})
	if err != nil || id != "mine" {
		t.Fatalf("its own lock is taken for another's: %v", err)
	}
	srv.drop = 1
	if err := s.Put(t.Context(), ws, []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := l.Unlock(t.Context(), ws, id); err != nil {
		t.Error(err)
	}
}

func TestAuthentication(t *testing.T) {
	srv, address := start(t)
	srv.auth = "me:hunter2"
	s := open(t, locking(address))
	for name, err := range map[string]error{"get": second(s.Get(t.Context(), ws)), "put": s.Put(t.Context(), ws, nil)} {
		if err == nil || !strings.Contains(err.Error(), "requires authentication (401)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	config := locking(address)
	config["username"], config["password"] = cty.StringVal("me"), cty.StringVal("hunter2")
	config["headers"] = cty.MapVal(map[string]cty.Value{"X-Team": cty.StringVal("a")})
	s = open(t, config)
	if err := s.Put(t.Context(), ws, []byte("{}")); err != nil {
		t.Error(err)
	}
	if srv.headers.Get("X-Team") != "a" || srv.headers.Get("Content-Type") != "application/json" {
		t.Errorf("headers: %v", srv.headers)
	}
}

// TestRedirectedWrites checks that a redirect that turns a write or lock into a GET is an error,
// even if the GET succeeds, and that the request is not repeated. A redirect that keeps the method
// is followed.
func TestRedirectedWrites(t *testing.T) {
	for status, follows := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		var methods []string
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			methods = append(methods, r.Method)
			if !r.URL.Query().Has("new") {
				http.Redirect(w, r, "/new?new=1", status)
			}
		}))
		defer h.Close()
		s := open(t, locking(h.URL))
		for name, send := range map[string]func() error{
			"POST":   func() error { return s.Put(t.Context(), ws, []byte("{}")) },
			"DELETE": func() error { return s.Delete(t.Context(), ws) },
			"LOCK": func() error {
				_, err := s.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "x"})
				return err
			},
			"UNLOCK": func() error { return s.(backend.Locker).Unlock(t.Context(), ws, "x") },
		} {
			methods = nil
			err := send()
			if follows && (err != nil || len(methods) != 2 || methods[1] != name) {
				t.Errorf("%d %s: %v after %v", status, name, err, methods)
			}
			if !follows && (err == nil ||
				!strings.Contains(err.Error(), "set the address to the final URL of the server") || len(methods) != 1) {
				t.Errorf("%d %s: %v after %v", status, name, err, methods)
			}
		}
	}
}

func second(_ []byte, err error) error { return err }

func TestChecksum(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := md5.Sum([]byte("what it was"))
		w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
		fmt.Fprint(w, strings.TrimPrefix(r.URL.Path, "/"))
	}))
	defer h.Close()
	for path, good := range map[string]bool{"what it was": true, "what it is": false} {
		s := open(t, map[string]cty.Value{"address": cty.StringVal(h.URL + "/" + path)})
		if _, err := s.Get(t.Context(), ws); (err == nil) != good {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestForceUnlock(t *testing.T) {
	srv, address := start(t)
	a, b := open(t, locking(address)).(backend.Locker), open(t, locking(address)).(backend.Locker)
	if _, err := a.Lock(t.Context(), ws, backend.LockInfo{ID: "theirs"}); err != nil {
		t.Fatal(err)
	}
	if err := b.Unlock(t.Context(), ws, "other"); err == nil {
		t.Error("a wrong ID unlocks")
	}
	if err := b.Unlock(t.Context(), ws, "theirs"); err != nil || srv.lock != nil {
		t.Error(err, srv.lock)
	}
	srv.lock = &backend.LockInfo{ID: "x"}
	var locked *backend.LockedError
	if err := open(t, locking(address)).Put(t.Context(), ws, []byte("{}")); err == nil ||
		!strings.Contains(err.Error(), "the state is locked (423)") {
		t.Errorf("writing what another has locked: %v", err)
	}
	if _, err := b.Lock(t.Context(), ws, backend.LockInfo{ID: "y"}); !errors.As(err, &locked) || locked.Info.ID != "x" {
		t.Error(err)
	}
}

func TestSlowServer(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer h.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := open(t, map[string]cty.Value{"address": cty.StringVal(h.URL)})
	start := time.Now()
	if _, err := s.Get(ctx, ws); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestConfigErrors(t *testing.T) {
	base := func(more ...string) map[string]cty.Value {
		config := map[string]cty.Value{"address": cty.StringVal("https://example.com/")}
		for i := 0; i < len(more); i += 2 {
			config[more[i]] = cty.StringVal(more[i+1])
		}
		return config
	}
	header := func(name string, more ...string) map[string]cty.Value {
		config := base(more...)
		config["headers"] = cty.MapVal(map[string]cty.Value{name: cty.StringVal("x")})
		return config
	}
	for want, config := range map[string]map[string]cty.Value{
		`"address" is invalid: it is required`:                     {},
		`address must start with http:// or https://`:              base("address", "ftp://x"),
		`lock_address is not a valid URL`:                          base("lock_address", "http://a b:secret@%"),
		`header "a b" has an invalid name`:                         header("a b"),
		`header "content-type" can't be set`:                       header("content-type"),
		`both a user name and an Authorization header`:             header("Authorization", "username", "u"),
		`client_ca_certificate_pem contains no certificate`:        base("client_ca_certificate_pem", "x"),
		`needs both client_certificate_pem and client_private_key`: base("client_certificate_pem", "x"),
		`client_private_key_pem: tls: failed to find any PEM data`: base("client_certificate_pem",
			"x", "client_private_key_pem", "y"),
		`The argument "retry_max" is invalid: a number is required`: base("retry_max", "x"),
	} {
		if _, err := tryOpen(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret in an error: %v", err)
		}
	}
}
