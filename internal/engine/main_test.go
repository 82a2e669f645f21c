package engine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives the property tests the same cases on every run, so that a change is judged by itself. Give -rapid.seed to look
// further.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.seed" })
	if !given {
		if err := flag.Set("rapid.seed", "20261121"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
