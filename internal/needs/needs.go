// Package needs helps tests: with services that not every machine has (a server, a tool, a file system that can be
// mounted), and with golden files.
//
// Invariant: with REQUIRE_SERVICES set, as in continuous integration, nothing is left out in silence: what would be skipped fails.
package needs

import (
	"os"
	"testing"
)

// Missing ends a test that can't be done here, and says what is missing and what to do about it.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if problem := Problem(what, remedy); problem != "" {
		t.Fatal(problem)
	}
	t.Skipf("%s; %s", what, remedy)
}

// Problem says why a missing thing is an error; "" where a test may be skipped.
func Problem(what, remedy string) string {
	if os.Getenv("REQUIRE_SERVICES") == "" {
		return ""
	}
	return "REQUIRE_SERVICES is set, but " + what + "; " + remedy
}
