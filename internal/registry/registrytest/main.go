package registrytest

import (
	"os"
	"path/filepath"
	"testing"
)

// RunTests is for a package's TestMain. It runs the tests with the certificate of the test servers
// trusted, and returns the exit status.
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
