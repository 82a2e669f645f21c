package refresh_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the property test run the same cases every time, so that changes can be compared.
// Use -rapid.seed and -rapid.checks for other cases.
func TestMain(m *testing.M) {
	flag.Parse()
	unlessGiven := map[string]string{"rapid.seed": "20261129", "rapid.checks": "50"}
	flag.Visit(func(f *flag.Flag) { delete(unlessGiven, f.Name) })
	for name, value := range unlessGiven {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
