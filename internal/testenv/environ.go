package testenv

import (
	"os"
	"slices"
	"strings"
)

// HideEnv removes the environment variables whose names begin with a prefix, except some. A
// TestMain calls it to keep the configuration of the machine from its tests.
func HideEnv(prefix string, except ...string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, prefix) && !slices.Contains(except, name) {
			os.Unsetenv(name)
		}
	}
}
