package testenv

import (
	"os"
	"slices"
	"strings"
)

// HideEnv removes the environment variables whose names start with prefix, except those in except.
// A TestMain calls it so that the tests don't use the machine's own configuration.
func HideEnv(prefix string, except ...string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, prefix) && !slices.Contains(except, name) {
			os.Unsetenv(name)
		}
	}
}
