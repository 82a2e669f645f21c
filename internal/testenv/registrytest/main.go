package registrytest

import (
	"os"
	"path/filepath"
	"testing"
)

// RunTests runs the tests of a package and returns the exit status. The tests trust the certificate
// of the test servers. TestMain calls it.
func RunTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "registrytest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, Certificate(), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	return m.Run()
}
