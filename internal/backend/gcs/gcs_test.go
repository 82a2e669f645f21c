package gcs_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/gcs"
	"tofu/internal/configs/blocks"
	"tofu/internal/testenv"
	"tofu/internal/testenv/gcptest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

var (
	service *url.URL // URL of the emulator; nil without an emulator
	google  *gcptest.Server
)

// TestMain sends all requests of the tests to test servers.
func TestMain(m *testing.M) {
	if text := os.Getenv("TEST_GCS_URL"); text != "" {
		service, _ = url.Parse(text)
	}
	var err error
	google, err = gcptest.New(service)
	if err != nil {
		panic(err)
	}
	os.Exit(hosts.RunTests(m, google.Hosts()))
}

type settings map[string]cty.Value

func (s settings) with(pairs ...string) settings {
	out := settings{}
	maps.Copy(out, s)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = cty.StringVal(pairs[i+1])
	}
	return out
}

func tryOpen(t *testing.T, s settings) (*gcs.Config, backend.Store, error) {
	t.Helper()
	config := gcs.Driver.Config().(*gcs.Config)
	if err := blocks.Decode(cty.ObjectVal(s), config, func(string) string { return "" }, tfdiags.Drop); err != nil {
		return nil, nil, err
	}
	store, err := gcs.Driver.Open(t.Context(), config)
	return config, store, err
}

// store combines the interfaces that the backend's stores implement.
type store interface {
	backend.Store
	backend.Locker
	backend.Swapper
}

func open(t *testing.T, s settings) store {
	t.Helper()
	_, opened, err := tryOpen(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return opened.(store)
}

var buckets atomic.Int32

// newBucket creates a bucket and returns the settings of a backend in it.
func newBucket(t *testing.T) settings {
	t.Helper()
	if service == nil {
		testenv.Missing(t, "TEST_GCS_URL is not set, so there is no bucket service",
			"run testing/services/run.sh gcs go test ./internal/backend/gcs")
	}
	name := fmt.Sprintf("b-%d-%d", os.Getpid(), buckets.Add(1))
	if _, err := google.MakeBucket(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	return settings{}.with("bucket", name, "access_token",
		google.Token("https://www.googleapis.com/auth/cloud-platform"))
}

func TestStore(t *testing.T) {
	account, err := google.AccountFile()
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string][]string{
		"plain":        nil,
		"prefix":       {"prefix", "dir/sub dir"},
		"slashes":      {"prefix", "/dir/"},
		"customer key": {"encryption_key", base64.StdEncoding.EncodeToString(make([]byte, 32))},
		"KMS key":      {"kms_encryption_key", gcptest.Key},
		"endpoint":     {"storage_custom_endpoint", "https://storage-states.p.googleapis.com/storage/v1/b"},
		"host":         {"storage_custom_endpoint", "https://storage-states.p.googleapis.com"},
		"account":      {"access_token", "", "credentials", string(account)},
		"impersonated": {"access_token", "", "credentials", string(account), "impersonate_service_account",
			gcptest.Impersonated},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (a, b backend.Store) {
				s := newBucket(t).with(more...)
				return open(t, s), open(t, s)
			})
		})
	}
}

func info(id string) backend.LockInfo {
	return backend.LockInfo{ID: id, Operation: "OperationTypeApply", Who: "me@here", Version: "1",
		Created: time.Now().UTC()}
}

func swap(t *testing.T, s store, version, data string) string {
	t.Helper()
	next, err := s.Swap(t.Context(), ws, version, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRequests checks how many requests a plan and an apply make.
func TestRequests(t *testing.T) {
	s := newBucket(t)
	swap(t, open(t, s), "", "1")
	a := open(t, s)
	google.Requests()
	id, err := a.Lock(t.Context(), ws, info("x"))
	if err != nil {
		t.Fatal(err)
	}
	_, version, err := a.GetVersion(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	swap(t, a, version, "2")
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	bucket := "/storage/v1/b/" + s["bucket"].AsString() + "/o"
	want := []string{"POST /upload" + bucket, "GET " + bucket + "/default.tfstate", "POST /upload" + bucket,
		"GET " + bucket + "/default.tflock", "DELETE " + bucket + "/default.tflock"}
	if got := google.Requests(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLostResponses checks that operations whose responses are lost are recognized as done.
func TestLostResponses(t *testing.T) {
	a := open(t, newBucket(t))
	lost := 0
	google.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		lost++
		if lost%2 == 0 { // only the response to every other request is lost
			return false
		}
		r.Host = "storage.googleapis.com"
		google.Storage(discard{}, r)
		panic(http.ErrAbortHandler)
	})
	defer google.Intercept(nil)
	id, err := a.Lock(t.Context(), ws, info("x"))
	if err != nil {
		t.Fatal(err)
	}
	version := swap(t, a, swap(t, a, "", "1"), "2")
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if data, now, err := a.GetVersion(t.Context(), ws); err != nil || string(data) != "2" ||
		now != version || lost < 6 {
		t.Errorf("%q, %q, %v after %d requests", data, now, err, lost)
	}
	if _, err := a.Lock(t.Context(), ws, info("y")); err != nil {
		t.Error(err)
	}
}

// discard is a response writer that discards the response.
type discard struct{}

func (discard) Header() http.Header            { return http.Header{} }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}

// TestStaleWrite checks that a write by another process is not overwritten, even without locks.
func TestStaleWrite(t *testing.T) {
	s := newBucket(t)
	a, b := open(t, s), open(t, s)
	version := swap(t, a, "", "1")
	swap(t, b, version, "theirs")
	if _, err := a.Swap(t.Context(), ws, version, []byte("mine")); !errors.Is(err, backend.ErrChanged) {
		t.Errorf("%v", err)
	}
	if data, err := a.Get(t.Context(), ws); err != nil || string(data) != "theirs" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestLarge(t *testing.T) {
	a := open(t, newBucket(t))
	large := bytes.Repeat([]byte("0123456789abcdef"), 50<<20/16)
	version := swap(t, a, "", string(large))
	got, found, err := a.GetVersion(t.Context(), ws)
	if err != nil || !bytes.Equal(got, large) || found != version {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestErrors checks the errors for wrong settings and for requests that the service refuses.
func TestErrors(t *testing.T) {
	good := newBucket(t)
	reply := func(status int, message string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error": {"code": %d, "message": %q}}`, status, message)
			return true
		}
	}
	for _, test := range []struct {
		want     string
		settings settings
		answer   func(http.ResponseWriter, *http.Request) bool
	}{
		{"there is no bucket \"other\". Create it, or correct \"bucket\"", good.with("bucket", "other"),
			reply(404, "The specified bucket does not exist.")},
		{"the credentials are not valid, or have expired", good.with("access_token", "hunter2"), nil},
		{"reading the file that \"credentials\" names: open none: no such file",
			good.with("access_token", "", "credentials", "none"), nil},
		{"the credentials are not accepted by Google",
			good.with("access_token", "", "credentials", string(google.UserFile("hunter2"))), nil},
		{"impersonating the service account other@x", good.with("impersonate_service_account", "other@x"), nil},
		{"the role \"Storage Object Admin\"", good,
			reply(403, "x@y does not have storage.objects.get access to the Google Cloud Storage object.")},
		{"was not encrypted with the key in \"encryption_key\"",
			good, reply(400, "The target object is encrypted by a customer-supplied encryption key.")},
		{"doesn't match the checksum", good, func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X-Goog-Hash", "crc32c=AAAAAA==,md5=x")
			_, _ = w.Write([]byte("{}"))
			return true
		}},
	} {
		google.Intercept(test.answer)
		_, err := open(t, test.settings).Get(t.Context(), ws)
		google.Intercept(nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	base := settings{}.with("bucket", "b")
	for want, s := range map[string]settings{
		`"bucket" is invalid: it is required`:                        {},
		`"bucket" is invalid: it is the name of a bucket, without`:   base.with("bucket", "b/dir"),
		`"encryption_key" is invalid: it must be 32 bytes in Base64`: base.with("encryption_key", "eHh4"),
		`"encryption_key" is invalid: it can't be set together`: base.with("encryption_key",
			base64.StdEncoding.EncodeToString(make([]byte, 32)), "kms_encryption_key", gcptest.Key),
		`"kms_encryption_key" is invalid: it must have the form`: base.with("kms_encryption_key", "k"),
		`"storage_custom_endpoint" is invalid: it must have the form`: base.with("storage_custom_endpoint",
			"storage.example.com"),
	} {
		if _, _, err := tryOpen(t, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	key := make([]byte, 32)
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tryOpen(t, base.with("encryption_key", path)); err != nil {
		t.Error(err)
	}
}

// TestReadOnly checks that a user who may only read can read the state, and that locking fails with
// an error that names the missing permission.
func TestReadOnly(t *testing.T) {
	s := newBucket(t)
	swap(t, open(t, s), "", "1")
	google.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error": {"message": "x does not have storage.objects.create access"}}`))
		return true
	})
	defer google.Intercept(nil)
	a := open(t, s)
	if data, err := a.Get(t.Context(), ws); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := a.Lock(t.Context(), ws, info("x")); err == nil ||
		!strings.Contains(err.Error(), "the role \"Storage Object Admin\"") {
		t.Error(err)
	}
}
