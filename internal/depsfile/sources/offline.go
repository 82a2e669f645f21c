package sources

import (
	"context"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Offline returns a source with the local directories of another one. Its errors say that the network
// was not used.
func Offline(s Source) Source {
	var local Multi
	switch s := s.(type) {
	case Implied:
		local = s.local()
	case Filesystem:
		local = Multi{{Source: s}}
	case Multi:
		for _, m := range s {
			if _, ok := m.Source.(Filesystem); ok {
				local = append(local, m)
			}
		}
	}
	return append(local, Method{Source: network{}})
}

// network stands for all sources that are not on this machine.
type network struct{}

// String returns a description for messages.
func (network) String() string { return "the network, which -offline excludes" }

// Versions returns that there are none.
func (n network) Versions(_ context.Context, p addrs.Provider) (Versions, error) {
	return Versions{}, &NoProviderError{Provider: p, Sources: []string{n.String()},
		Hint: "run the command without -offline, or put the package into a directory that a filesystem_mirror of the " +
			"CLI configuration names"}
}

// Package returns an error.
func (network) Package(
	_ context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	return nil, fmt.Errorf("the package for %s is not on this machine, and -offline excludes the network; run the "+
		"command without -offline, or \"tofu providers mirror\" on a machine with access", platform)
}
