package azurerm_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/azurerm"
	"tofu/internal/configs/blocks"
	"tofu/internal/testenv"
	"tofu/internal/testenv/azuretest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

var (
	account *url.URL // URL of the emulator's storage account; nil without an emulator
	azure   *azuretest.Server
)

// TestMain sends all requests of the tests to test servers.
func TestMain(m *testing.M) {
	if text := os.Getenv("TEST_AZURE_URL"); text != "" {
		account, _ = url.Parse(text)
	}
	azure = azuretest.New(account)
	os.Exit(hosts.RunTests(m, azure.Hosts()))
}

func needService(t *testing.T) {
	t.Helper()
	if account == nil {
		testenv.Missing(t, "TEST_AZURE_URL is not set, so there is no blob service",
			"run testing/services/run.sh azure go test ./internal/backend/azurerm")
	}
}

type settings map[string]cty.Value

func text(pairs ...string) settings {
	out := settings{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = cty.StringVal(pairs[i+1])
	}
	return out
}

func (s settings) with(pairs ...string) settings {
	out := settings{}
	maps.Copy(out, s)
	maps.Copy(out, text(pairs...))
	return out
}

func decode(s settings, env map[string]string, warn tfdiags.Sink) (*azurerm.Config, error) {
	config := azurerm.Driver.Config().(*azurerm.Config)
	err := blocks.Decode(cty.ObjectVal(s), config, func(name string) string { return env[name] }, warn)
	return config, err
}

func open(t *testing.T, s settings) *azurerm.Store {
	t.Helper()
	config, err := decode(s, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	store, err := azurerm.Driver.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return store.(*azurerm.Store)
}

var containers atomic.Int32

// newContainer creates a container and returns the settings of a backend in it.
func newContainer(t *testing.T) settings {
	t.Helper()
	needService(t)
	key, _ := account.User.Password()
	name := fmt.Sprintf("c%d-%d", os.Getpid(), containers.Add(1))
	s := text("storage_account_name", azuretest.Account, "container_name", name, "key", "prod/a b.tfstate",
		"access_key", key)
	if err := azurerm.CreateContainer(t.Context(), open(t, s)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (a, b backend.Store) {
		s := newContainer(t)
		return open(t, s), open(t, s)
	})
}

func TestStoreWithOptions(t *testing.T) {
	for name, more := range map[string][]string{
		"customer key": {"customer_provided_key", base64.StdEncoding.EncodeToString(make([]byte, 32))},
		"scope":        {"encryption_scope", "scope"},
		"snapshot":     {"snapshot", "true"},
		"no timeout":   {"timeout_seconds", "0"},
		"metadata":     {"metadata_host", azuretest.MetadataHost},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (a, b backend.Store) {
				s := newContainer(t).with(more...)
				return open(t, s), open(t, s)
			})
		})
	}
}

func info(id string) backend.LockInfo {
	return backend.LockInfo{ID: id, Operation: "OperationTypeApply", Who: "me@here", Version: "1",
		Created: time.Now().UTC()}
}

func swap(t *testing.T, s *azurerm.Store, version, data string) string {
	t.Helper()
	next, err := s.Swap(t.Context(), ws, version, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestRequests checks how many requests a plan and an apply make.
func TestRequests(t *testing.T) {
	s := newContainer(t)
	a := open(t, s)
	swap(t, a, "", "1")
	a = open(t, s)
	azure.Requests()
	id, err := a.Lock(t.Context(), ws, info(uuid.NewString()))
	if err != nil {
		t.Fatal(err)
	}
	_, version, err := a.GetVersion(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	version = swap(t, a, version, "2")
	swap(t, a, version, "3")
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	blob := azuretest.Account + ".blob.core.windows.net/" + s["container_name"].AsString() + "/prod/a b.tfstate"
	want := []string{"PUT " + blob + "?comp=lease", "HEAD " + blob, "PUT " + blob + "?comp=metadata", "GET " + blob,
		"PUT " + blob, "PUT " + blob, "PUT " + blob + "?comp=metadata", "PUT " + blob + "?comp=lease"}
	if got := azure.Requests(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLockInformation checks the metadata that describes a lock, and that locking keeps other
// metadata.
func TestLockInformation(t *testing.T) {
	a, id := open(t, newContainer(t)), uuid.NewString()
	swap(t, a, "", "1")
	setMetadata(t, a, map[string]string{"Team": "blue"})
	if _, err := a.Lock(t.Context(), ws, info(id)); err != nil {
		t.Fatal(err)
	}
	header := properties(t, a)
	var stored backend.LockInfo
	data, err := base64.StdEncoding.DecodeString(header.Get("X-Ms-Meta-Terraformlockid"))
	if err != nil || json.Unmarshal(data, &stored) != nil || stored.ID != id || stored.Who != "me@here" ||
		!strings.HasSuffix(stored.Path, "/prod%2Fa%20b.tfstate") {
		t.Errorf("the lock information is %s, %v", data, err)
	}
	if header.Get("X-Ms-Lease-Duration") != "infinite" || header.Get("X-Ms-Meta-Team") != "blue" ||
		header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", header)
	}
	_, version, err := a.GetVersion(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	swap(t, a, version, "2")
	if header := properties(t, a); header.Get("X-Ms-Meta-Team") != "blue" ||
		header.Get("X-Ms-Meta-Terraformlockid") == "" {
		t.Errorf("a write loses metadata: %v", header)
	}
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if header := properties(t, a); header.Get("X-Ms-Meta-Team") != "blue" ||
		header.Get("X-Ms-Meta-Terraformlockid") != "" ||
		header.Get("X-Ms-Lease-State") != "available" {
		t.Errorf("after unlocking: %v", header)
	}
}

// TestLostLock checks that nothing is written after the lease was lost, even if the state hasn't
// changed. The lock of the next process must be kept.
func TestLostLock(t *testing.T) {
	s := newContainer(t)
	for _, again := range []bool{false, true} {
		a, b, id := open(t, s), open(t, s), uuid.NewString()
		_ = a.Delete(t.Context(), ws)
		version := swap(t, a, "", "1")
		if _, err := a.Lock(t.Context(), ws, info(id)); err != nil {
			t.Fatal(err)
		}
		if err := b.Unlock(t.Context(), ws, id); err != nil { // force-unlock
			t.Fatal(err)
		}
		other := uuid.NewString()
		if again {
			if _, err := b.Lock(t.Context(), ws, info(other)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := a.Swap(t.Context(), ws, version, []byte("mine"))
		if !errors.Is(err, backend.ErrChanged) || !strings.Contains(err.Error(), "the lock was lost") {
			t.Errorf("writing without the lease: %v", err)
		}
		if data, err := b.Get(t.Context(), ws); err != nil || string(data) != "1" {
			t.Errorf("%q, %v", data, err)
		}
		err = a.Unlock(t.Context(), ws, id)
		if again != (err != nil && strings.Contains(err.Error(), "another process has since locked the state")) {
			t.Errorf("unlocking a lost lock: %v", err)
		}
		if again {
			if err := b.Unlock(t.Context(), ws, other); err != nil {
				t.Errorf("the lock of the next process is gone: %v", err)
			}
		}
	}
}

// TestUnknownHolder checks the lease of a process that was killed before it wrote the information
// about the lock. The ID in the error can be used to remove such a lease.
func TestUnknownHolder(t *testing.T) {
	s := newContainer(t)
	a, b := open(t, s), open(t, s)
	azure.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("comp") != "metadata" && r.Header.Get("X-Ms-Lease-Action") != "release" {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		return true
	})
	defer azure.Intercept(nil)
	if _, err := a.Lock(t.Context(), ws, info(uuid.NewString())); err == nil {
		t.Fatal("the lock was taken")
	}
	azure.Intercept(nil)
	_, err := b.Lock(t.Context(), ws, info(uuid.NewString()))
	locked, ok := errors.AsType[*backend.LockedError](err)
	if !ok || locked.Info == nil || !strings.HasPrefix(locked.Info.ID, "etag-") {
		t.Fatalf("%v", err)
	}
	if err := b.Unlock(t.Context(), ws, locked.Info.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lock(t.Context(), ws, info(uuid.NewString())); err != nil {
		t.Error(err)
	}
}

// TestOthersLock checks that a state is not written while another process has locked it, even with
// -lock=false. Locking and unlocking by another process must not be mistaken for a change of the
// state.
func TestOthersLock(t *testing.T) {
	s := newContainer(t)
	a, b, id := open(t, s), open(t, s), uuid.NewString()
	swap(t, a, "", "1")
	_, version, err := b.GetVersion(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Lock(t.Context(), ws, info(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Swap(t.Context(), ws, version, []byte("2")); err == nil ||
		!strings.Contains(err.Error(), "another process has locked the state") {
		t.Errorf("%v", err)
	}
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	swap(t, b, version, "2")
}

// TestLostResponses checks that operations whose responses are lost are recognized as done.
func TestLostResponses(t *testing.T) {
	s := newContainer(t)
	a, id := open(t, s), uuid.NewString()
	lost := 0
	azure.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || lost > 20 {
			return false
		}
		lost++
		if lost%2 == 0 { // only the response to every other request is lost
			return false
		}
		azure.Blobs(discard{}, r)
		panic(http.ErrAbortHandler)
	})
	defer azure.Intercept(nil)
	if _, err := a.Lock(t.Context(), ws, info(id)); err != nil {
		t.Fatal(err)
	}
	version := swap(t, a, swap(t, a, "", "1"), "2")
	if err := a.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	if lost < 10 {
		t.Errorf("only %d requests", lost)
	}
	if data, now, err := open(t, s).GetVersion(t.Context(), ws); err != nil || string(data) != "2" || now != version {
		t.Errorf("%q, %q, %v", data, now, err)
	}
	if header := properties(t, a); header.Get("X-Ms-Lease-State") != "available" {
		t.Errorf("%v", header)
	}
}

// discard is a response writer that discards the response.
type discard struct{}

func (discard) Header() http.Header            { return http.Header{} }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}

func TestSnapshot(t *testing.T) {
	s := newContainer(t).with("snapshot", "true")
	a := open(t, s)
	version := swap(t, a, "", "1")
	version = swap(t, a, version, "2")
	swap(t, a, version, "3")
	azure.Requests()
	if n := snapshots(t, a); n != 1 {
		t.Errorf("there are %d snapshots, want 1", n)
	}
	if err := a.Delete(t.Context(), ws); err != nil {
		t.Error(err)
	}
}

func TestLarge(t *testing.T) {
	a := open(t, newContainer(t))
	large := bytes.Repeat([]byte("0123456789abcdef"), 50<<20/16)
	version := swap(t, a, "", string(large))
	got, found, err := a.GetVersion(t.Context(), ws)
	if err != nil || !bytes.Equal(got, large) || found != version {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func get(ctx context.Context, s *azurerm.Store) error {
	_, err := s.Get(ctx, ws)
	return err
}

func properties(t *testing.T, s *azurerm.Store) http.Header {
	t.Helper()
	header, err := azurerm.Properties(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func setMetadata(t *testing.T, s *azurerm.Store, metadata map[string]string) {
	t.Helper()
	if err := azurerm.SetMetadata(t.Context(), s, metadata); err != nil {
		t.Fatal(err)
	}
}

func snapshots(t *testing.T, s *azurerm.Store) int {
	t.Helper()
	n, err := azurerm.Snapshots(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
