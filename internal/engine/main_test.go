package engine_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain gives the property tests the same few cases on every run, so that a change is judged by
// itself. Give -rapid.seed and -rapid.checks to look further.
func TestMain(m *testing.M) {
	flag.Parse()
	unlessGiven := map[string]string{"rapid.seed": "20261121", "rapid.checks": "30"}
	flag.Visit(func(f *flag.Flag) { delete(unlessGiven, f.Name) })
	for name, value := range unlessGiven {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
