package depsfile

import (
	"fmt"
	"regexp"
	"runtime"
)

// Platform identifies an operating system and architecture that provider packages are built for.
type Platform struct{ OS, Arch string }

// CurrentPlatform returns the platform of this program.
func CurrentPlatform() Platform { return Platform{runtime.GOOS, runtime.GOARCH} }

var platformText = regexp.MustCompile(`^([a-z0-9]+)_([a-z0-9]+)$`)

// ParsePlatform parses a platform such as "linux_amd64".
func ParsePlatform(text string) (Platform, error) {
	m := platformText.FindStringSubmatch(text)
	if m == nil {
		return Platform{},
			fmt.Errorf("%q is not a valid platform; it must be an operating system and an architecture, like "+
				"\"linux_amd64\"", text)
	}
	return Platform{m[1], m[2]}, nil
}

func (p Platform) String() string { return p.OS + "_" + p.Arch }
