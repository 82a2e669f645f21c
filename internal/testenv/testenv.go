// Package testenv helps tests with what differs between machines, such as servers, tools and file
// systems that can't be installed everywhere, and with golden files.
//
// Invariant: if REQUIRE_SERVICES is set, as in continuous integration, a test that would be skipped
// fails instead.
package testenv

import (
	"os"
	"testing"
)

// Missing skips the test, or fails it if REQUIRE_SERVICES is set. what says what is missing, remedy
// how to install it.
func Missing(t testing.TB, what, remedy string) {
	t.Helper()
	if problem := Problem(what, remedy); problem != "" {
		t.Fatal(problem)
	}
	t.Skipf("%s; %s", what, remedy)
}

// Problem returns the text of the failure if REQUIRE_SERVICES is set, and "" if the test may be
// skipped.
func Problem(what, remedy string) string {
	if os.Getenv("REQUIRE_SERVICES") == "" {
		return ""
	}
	return "REQUIRE_SERVICES is set, but " + what + "; " + remedy
}
