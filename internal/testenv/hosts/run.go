package hosts

import (
	"net/http"
	"os"
	"testing"

	"tofu/internal/httpclient"
)

// RunTests runs the tests of a package, whose requests to these hosts go to the handlers, and
// returns the exit status. It is for TestMain, because the proxy must be in the environment before
// the first request. The home directory of the tests is empty, so they find no credentials of the
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

// Client returns a client whose requests to these hosts go to the handlers until the test ends.
func Client(t *testing.T, hosts map[string]http.Handler) *httpclient.Client {
	t.Helper()
	proxy, err := New(t.TempDir(), hosts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return proxy.Client()
}
