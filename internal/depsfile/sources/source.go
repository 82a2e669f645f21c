package sources

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Source is a place that provider packages can be installed from.
type Source interface {
	// Versions lists all versions of a provider, on any platform; the error is a *NoProviderError when the source doesn't know it.
	Versions(ctx context.Context, p addrs.Provider) (Versions, error)
	// Package describes one package; the error is a *NoPackageError when there is none for the platform.
	Package(ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) (*Package, error)
	// String says where that is, for messages: "local directory /srv/providers".
	String() string
}

// Versions is what a source offers of one provider.
type Versions struct {
	List     []depsfile.Version
	Warnings []string // of the registry, about the provider
}

// Package describes one provider package and how to verify it. Exactly one of Dir, Archive and Fetch says where it is.
type Package struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform

	Dir     string // an unpacked package on this machine
	Archive string // a .zip file on this machine
	Fetch   Fetch
	Name    string // the archive's file name as its publisher calls it

	// ArchiveHash is the "zh:" hash the archive must have; empty when the source doesn't know it.
	ArchiveHash depsfile.Hash
	// ContentHash is the "h1:" hash that the source vouches for; empty when it doesn't say.
	ContentHash depsfile.Hash
	// Size is the size the archive must have; 0 when unknown.
	Size int64
	// Reported are hashes of this package as the source tells them: one of them must match unless the list is empty.
	// Those that do match are recorded in the lock file.
	Reported []depsfile.Hash
	// Trusted are hashes of this version's packages for any platform that are vouched for, by a signature or because
	// the user trusts the source; all are recorded in the lock file.
	Trusted []depsfile.Hash

	// Auth says how the package is vouched for, for messages: "signed", "unauthenticated".
	Auth string
	// KeyID names the key that signed, if any.
	KeyID string
}

// Fetch writes an archive to dst, which is empty. Progress is told how many bytes came, and how many there are, 0 when that is
// unknown; it may be nil.
type Fetch func(ctx context.Context, dst *os.File, progress func(done, total int64)) error

// NoProviderError tells that a source doesn't know a provider.
type NoProviderError struct {
	Provider addrs.Provider
	Sources  []string // where it was looked for
	Hint     string   // a further sentence, or empty
}

func (e *NoProviderError) Error() string {
	if len(e.Sources) == 0 {
		return fmt.Sprintf("no installation method of the CLI configuration applies to provider %s", e.Provider)
	}
	text := fmt.Sprintf("provider %s was not found in %s", e.Provider, strings.Join(e.Sources, " or "))
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// NoPackageError tells that a release has no package for a platform.
type NoPackageError struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform
}

func (e *NoPackageError) Error() string {
	return fmt.Sprintf("provider %s %s isn't available for %s", e.Provider, e.Version, e.Platform)
}

// Newest gives the newest version of a list within a set.
func Newest(list []depsfile.Version, acceptable func(depsfile.Version) bool) (depsfile.Version, bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(v depsfile.Version) bool { return !acceptable(v) })
	if len(list) == 0 {
		return depsfile.Version{}, false
	}
	return slices.MaxFunc(list, func(a, b depsfile.Version) int {
		// Build metadata has no order; make the choice a stable one.
		return cmp.Or(depsfile.CompareVersions(a, b), strings.Compare(a.String(), b.String()))
	}), true
}
