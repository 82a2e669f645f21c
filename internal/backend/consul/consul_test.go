package consul_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/consul"
	"tofu/internal/httpclient"
	"tofu/internal/testenv/consultest"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

var (
	check     = storetest.Check
	wantError = storetest.WantError
)

func start(t *testing.T) *consultest.Server {
	s := consultest.Start()
	t.Cleanup(s.Close)
	return s
}

type settings = map[string]string

func open(t *testing.T, s *consultest.Server, more settings) backend.Store {
	t.Helper()
	store, err := tryOpen(t, s, more)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func tryOpen(t *testing.T, s *consultest.Server, more settings) (backend.Store, error) {
	for _, name := range []string{"CONSUL_HTTP_SSL", "CONSUL_HTTP_TOKEN_FILE", "CONSUL_NAMESPACE", "CONSUL_CAPATH"} {
		t.Setenv(name, "")
	}
	values := map[string]cty.Value{"path": cty.StringVal("full/path")}
	if s != nil {
		values["address"] = cty.StringVal(s.URL)
	}
	for name, value := range more {
		values[name] = cty.StringVal(value)
	}
	return storetest.Open(t, consul.Driver, values)
}

func TestStore(t *testing.T) {
	for name, more := range map[string]settings{"plain": nil, "gzip": {"gzip": "true"}, "unlocked": {"lock": "false"}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
				s := start(t)
				return open(t, s, more), open(t, s, more)
			})
		})
	}
}

// TestRealServer runs the suite against a real Consul, if there is one.
func TestRealServer(t *testing.T) {
	address := os.Getenv("TEST_CONSUL_URL")
	if address == "" {
		t.Skip("there is no Consul: run `make services-heavy`, and this test with testing/services/run.sh consul")
	}
	for name, more := range map[string]settings{"plain": nil, "gzip": {"gzip": "true"}, "unlocked": {"lock": "false"}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
				all := settings{"address": address, "path": fmt.Sprintf("%s/%d", t.Name(), os.Getpid())}
				maps.Copy(all, more)
				return open(t, nil, all), open(t, nil, all)
			})
		})
	}
	s := open(t, nil, settings{"address": address, "path": "large"})
	large := noise(50 << 20)
	check(t, s.Put(t.Context(), ws, large))
	if got, err := s.Get(t.Context(), ws); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	check(t, s.Put(t.Context(), ws, []byte("{}")))
	check(t, s.Delete(t.Context(), ws))
	checkRealLock(t, open(t, nil, settings{"address": address, "path": "locked"}),
		open(t, nil, settings{"address": address, "path": "locked"}))
}

// checkRealLock checks a lock that another process holds, and its forced removal.
func checkRealLock(t *testing.T, a, b backend.Store) {
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "first", Who: "me"})
	check(t, err)
	_, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "2"})
	storetest.WantHolder(t, err, "me")
	check(t, b.(backend.Locker).Unlock(t.Context(), ws, id))
}

// noise returns data that can't be compressed much.
func noise(size int) []byte {
	out := make([]byte, 0, size)
	for i := uint32(1); len(out) < size; i = i*1664525 + 1013904223 {
		out = fmt.Appendf(out, "%08x", i)
	}
	return out[:size]
}

// TestChunks checks that a state that is too large for one value is split into chunks, and that the
// chunks are removed together with the state.
func TestChunks(t *testing.T) {
	s := start(t)
	a, b := open(t, s, nil), open(t, s, nil)
	large, other := noise(3*consultest.MaxValue+1), noise(consultest.MaxValue+7)
	check(t, a.Put(t.Context(), ws, large))
	if got, err := b.Get(t.Context(), ws); err != nil || !bytes.Equal(got, large) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	var sizes []int
	for key, e := range s.Entries() {
		if strings.HasPrefix(key, "full/path/tfstate.") {
			sizes = append(sizes, len(e.Value))
		}
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, consultest.MaxValue, consultest.MaxValue, consultest.MaxValue}) {
		t.Errorf("chunks of %v bytes", sizes)
	}
	_, version, err := a.(backend.Swapper).GetVersion(t.Context(), ws)
	check(t, err)
	_, err = b.(backend.Swapper).Swap(t.Context(), ws, version, other)
	check(t, err)
	if n := len(s.Entries()); n != 3 {
		t.Errorf("%d keys, want a manifest and two chunks", n)
	}
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, version, large)
	if !errors.Is(err, backend.ErrChanged) {
		t.Errorf("overwriting another's state: %v", err)
	}
	if n := len(s.Entries()); n != 3 {
		t.Errorf("%d keys after a refused write", n)
	}
	check(t, a.Delete(t.Context(), ws))
	if entries := s.Entries(); len(entries) > 0 {
		t.Errorf("left: %v", entries)
	}
}

func TestDamagedChunks(t *testing.T) {
	s := start(t)
	a := open(t, s, nil)
	check(t, a.Put(t.Context(), ws, noise(consultest.MaxValue+1)))
	for key := range s.Entries() {
		if strings.HasSuffix(key, "/1") {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/v1/kv/"+key,
				strings.NewReader("x"))
			resp, err := httpclient.New(httpclient.Options{}).Do(req)
			check(t, err)
			resp.Body.Close()
		}
	}
	_, err := a.Get(t.Context(), ws)
	wantError(t, err, "don't match the checksums in its key")
}

// TestLostAnswers checks that a write whose response is lost is not an error if the server has
// carried it out.
func TestLostAnswers(t *testing.T) {
	s := start(t)
	a := open(t, s, nil)
	lose := func(prefix string) {
		lost := false
		s.Drop = func(r *http.Request) bool {
			drop := !lost && strings.HasPrefix(r.URL.Path, prefix)
			lost = lost || drop
			return drop
		}
	}
	lose("/v1/txn")
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "me"})
	check(t, err)
	version := ""
	for _, data := range [][]byte{[]byte("1"), []byte("2"), noise(consultest.MaxValue)} {
		lose("/v1/txn")
		version, err = a.(backend.Swapper).Swap(t.Context(), ws, version, data)
		check(t, err)
	}
	lose("/v1/txn")
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	if n := len(s.Entries()); n != 2 {
		t.Errorf("%d keys", n)
	}
}

// TestLostSession checks that a lock whose session ended is taken again, unless another process has
// the lock.
func TestLostSession(t *testing.T) {
	s := start(t)
	a, b := open(t, s, nil), open(t, s, nil)
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "first"})
	check(t, err)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	s.ExpireAll()
	_, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "second"})
	if _, ok := errors.AsType[*backend.LockedError](err); !ok {
		t.Errorf("during the lock delay: %v", err)
	}
	s.Forgive()
	_, version, err := a.(backend.Swapper).GetVersion(t.Context(), ws)
	check(t, err)
	version, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte("2"))
	check(t, err)
	_, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "second"})
	wantError(t, err, "first")

	s.ExpireAll()
	s.Forgive()
	other, err := b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "second"})
	check(t, err)
	if data, err := b.Get(t.Context(), ws); err != nil || string(data) != "2" {
		t.Errorf("%q, %v", data, err)
	}
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte("3"))
	wantError(t, err, "the lock of the state was lost and could not be taken again")
	wantError(t, err, "second")
	wantError(t, a.(backend.Locker).Unlock(t.Context(), ws, id), "another process has it now")
	check(t, b.(backend.Locker).Unlock(t.Context(), ws, other))
}

// TestMonitor checks that the session is renewed, and that a lost lock is noticed even if nothing
// is written.
func TestMonitor(t *testing.T) {
	s := start(t)
	a := open(t, s, nil)
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "first"})
	check(t, err)
	s.ExpireAll()
	s.Forgive()
	for deadline := time.Now().Add(20 * time.Second); s.Entries()["full/path/.lock"].Session == ""; {
		if time.Now().After(deadline) {
			t.Fatal("the lock was not taken again")
		}
		time.Sleep(50 * time.Millisecond)
	}
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	if n := s.Sessions(); n != 0 || len(s.Entries()) != 0 {
		t.Errorf("left %d sessions and the keys %v", n, s.Entries())
	}
}

func TestForceUnlock(t *testing.T) {
	s := start(t)
	a, b := open(t, s, nil), open(t, s, nil)
	unlock := func(id string) error { return b.(backend.Locker).Unlock(t.Context(), ws, id) }
	wantError(t, unlock("x"), "the state is not locked")
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "first"})
	check(t, err)
	wantError(t, unlock("x"), fmt.Sprintf("the lock has the ID %q", id))
	check(t, unlock(id))
	id, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "second"})
	check(t, err)
	s.ExpireAll() // the entry that describes the lock remains
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	if len(s.Entries()) != 0 {
		t.Errorf("left %v", s.Entries())
	}
}

// TestRequests checks which requests an apply and a plan send.
func TestRequests(t *testing.T) {
	s := start(t)
	a := open(t, s, nil)
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{})
	check(t, err)
	_, err = a.Get(t.Context(), ws)
	check(t, err)
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, "", []byte("{}"))
	check(t, err)
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	var got []string
	for _, r := range s.Requests() {
		got = append(got, strings.ReplaceAll(r, id, "ID"))
	}
	want := []string{"PUT /v1/session/create", "PUT /v1/txn", "GET /v1/kv/full/path?consistent=", "PUT /v1/txn",
		"PUT /v1/txn", "PUT /v1/session/destroy/ID"}
	if !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

func TestErrors(t *testing.T) {
	s := start(t)
	s.Token, s.Auth = "right", "me:secret"
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	closed.Close()
	missing := filepath.Join(t.TempDir(), "missing.pem")
	for name, test := range map[string]struct {
		settings settings
		want     string
	}{
		"works": {settings{"http_auth": "me:secret", "access_token": "right"}, ""},
		"no password": {settings{"access_token": "right"},
			"set the user and password in http_auth or CONSUL_HTTP_AUTH"},
		"no token": {settings{"http_auth": "me:secret"},
			"access_token, CONSUL_HTTP_TOKEN and CONSUL_HTTP_TOKEN_FILE are not set"},
		"wrong token": {settings{"http_auth": "me:secret", "access_token": "wrong"},
			"the access token is invalid or has no permission"},
		"wrong datacenter": {settings{"http_auth": "me:secret", "access_token": "right", "datacenter": "x"},
			"No path to datacenter"},
		"slash before": {settings{"path": "/a"}, `the path "/a" must not begin with a slash`},
		"slash after":  {settings{"path": "a/"}, `the path "a/" must not end with a slash`},
		"scheme":       {settings{"scheme": "ftp"}, `the scheme "ftp" is unknown`},
		"address":      {settings{"address": "http://"}, `the address is invalid; write it as NAME:PORT`},
		"certificate":  {settings{"cert_file": missing}, "cert_file and key_file must be set together"},
		"no file":      {settings{"cert_file": missing, "key_file": missing}, "reading cert_file and key_file"},
		"no authority": {settings{"ca_file": missing}, "reading the CA certificates"},
		"no server":    {settings{"address": closed.Addr().String()}, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := tryOpen(t, s, test.settings)
			if err == nil {
				_, err = store.List(t.Context())
			}
			if test.want == "" {
				check(t, err)
			} else {
				wantError(t, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
}

// TestReadOnly checks that a read-only token can read the state and gets a clear error when it
// locks.
func TestReadOnly(t *testing.T) {
	s := start(t)
	check(t, open(t, s, nil).Put(t.Context(), ws, []byte("1")))
	s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		http.Error(w, "Permission denied: token lacks permission 'session:write'", http.StatusForbidden)
		return true
	}
	a := open(t, s, settings{"access_token": "x"})
	if data, err := a.Get(t.Context(), ws); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{})
	wantError(t, err, "Permission denied")
}

func TestSocket(t *testing.T) {
	s := start(t)
	path := filepath.Join(t.TempDir(), "consul.sock")
	l, err := net.Listen("unix", path)
	check(t, err)
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	a := open(t, nil, settings{"address": "unix://" + path})
	check(t, a.Put(t.Context(), ws, []byte("1")))
	if len(s.Entries()) != 1 {
		t.Error("the state didn't reach the server")
	}
}

// TestLarge checks that a state of 50 MB is written and read in a few seconds.
func TestLarge(t *testing.T) {
	s := start(t)
	a := open(t, s, nil)
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "me"})
	check(t, err)
	large := noise(50 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = a.(backend.Swapper).Swap(ctx, ws, "", large)
	check(t, err)
	if data, err := a.Get(ctx, ws); err != nil || !bytes.Equal(data, large) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
}
