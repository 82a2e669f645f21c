package hosts

import (
	"net/http"
	"os"
	"testing"

	"tofu/internal/httpclient"
)

// RunTests runs the tests of a package and returns the exit status. Requests to the given hosts go
// to their handlers. TestMain must call it, because the proxy must be in the environment before the
// first request. The tests have an empty home directory, so they don't find credentials of this
// machine.
func RunTests(m *testing.M, hosts map[string]http.Handler) int {
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	proxy, err := New(dir, hosts)
	if err != nil {
		panic(err)
	}
	defer func() { _ = proxy.Close() }()
	env := proxy.Env()
	env["HOME"], env["GOOGLE_APPLICATION_CREDENTIALS"] = dir, ""
	for name, value := range env {
		_ = os.Setenv(name, value)
	}
	return m.Run()
}

// Client returns a client for a test. Its requests to the given hosts go to their handlers.
func Client(t *testing.T, hosts map[string]http.Handler) *httpclient.Client {
	t.Helper()
	proxy, err := New(t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return proxy.Client()
}
