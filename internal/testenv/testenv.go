// Package testenv helps tests that use golden files, and tests that need servers, tools or file
// systems that not every machine has.
//
//	program, err := exec.LookPath("hg")
//	if err != nil {
//		testenv.Missing(t, "Mercurial is not installed", "install it")
//	}
//
// Invariant: if REQUIRE_SERVICES is set, as in continuous integration, tests fail instead of being
// skipped.
package testenv

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// Missing skips the test, or fails it if REQUIRE_SERVICES is set. what is the missing thing, and
// remedy is how to install it.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if problem := Problem(what, remedy); problem != "" {
		t.Fatal(problem)
	}
	t.Skipf("%s; %s", what, remedy)
}

// Problem returns a failure message if REQUIRE_SERVICES is set. Otherwise it returns "", and the
// test may be skipped.
func Problem(what, remedy string) string {
	if os.Getenv("REQUIRE_SERVICES") == "" {
		return ""
	}
	return "REQUIRE_SERVICES is set, but " + what + "; " + remedy
}

// Service returns the address of a service from an environment variable, which
// testing/services/run.sh sets. If the variable is not set, the test is skipped or fails; see
// [Missing].
func Service(t testing.TB, variable string) string {
	t.Helper()
	address := os.Getenv(variable)
	if address == "" {
		Missing(t, variable+" isn't set", "run the test with testing/services/run.sh")
	}
	return address
}

// WriteFile writes a file and creates the directories above it.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Unpack writes the files of a txtar archive below a directory.
func Unpack(t testing.TB, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		WriteFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
}
