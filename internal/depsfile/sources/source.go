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

// Source finds provider packages.
type Source interface {
	// Versions returns all versions of a provider, for any platform. The error is a
	// *NoProviderError if the source doesn't know the provider.
	Versions(ctx context.Context, p addrs.Provider) (Versions, error)
	// Package describes a package. The error is a *NoPackageError if none exists for the
	// platform.
	Package(ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) (*Package, error)
	// Age says when a version was published and which age it must have. The error is a
	// *NoPackageError if the source doesn't have the version.
	Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error)
	// String describes the source in messages: "the local directory /srv/providers".
	String() string
}

// Versions holds the versions of a provider at a source.
type Versions struct {
	List     []depsfile.Version
	Warnings []string // warnings from the registry about the provider
}

// Package describes a provider package and how to verify it. Exactly one of Dir, Archive and Fetch
// is set.
type Package struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform

	Dir     string // an unpacked local package
	Archive string // a local .zip file
	Fetch   Fetch
	Name    string // the archive's file name as published

	// ArchiveHash is the "zh:" hash that the archive must have, or empty if unknown.
	ArchiveHash depsfile.Hash
	// ContentHash is the "h1:" hash that the source reports, or empty if unknown.
	ContentHash depsfile.Hash
	// Size is the size that the archive must have, or 0 if unknown.
	Size int64
	// Reported lists hashes that the source reports for this package. Unless the list is empty, at
	// least one must match. Those that match are recorded in the lock file.
	Reported []depsfile.Hash
	// Trusted lists authenticated hashes of this version's packages for any platform. Either they
	// are signed or the user trusts the source. All are recorded in the lock file.
	Trusted []depsfile.Hash

	// Auth describes in messages how the package was authenticated, such as "signed" or
	// "unauthenticated".
	Auth string
	// KeyID is the ID of the signing key, or "" if the package isn't signed.
	KeyID string
}

// Fetch writes an archive to dst, which is empty. It reports the number of bytes fetched so far and
// in total (0 if unknown) to progress, which may be nil.
type Fetch func(ctx context.Context, dst *os.File, progress func(done, total int64)) error

// NoProviderError reports that a source doesn't know a provider.
type NoProviderError struct {
	Provider addrs.Provider
	Sources  []string // the sources that were searched
	Hint     string   // an additional sentence for the message, or ""
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

// NoPackageError reports that a release has no package for a platform.
type NoPackageError struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform
}

func (e *NoPackageError) Error() string {
	return fmt.Sprintf("provider %s %s isn't available for %s", e.Provider, e.Version, e.Platform)
}

// Newest returns the newest acceptable version in list.
func Newest(list []depsfile.Version, acceptable func(depsfile.Version) bool) (depsfile.Version, bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(v depsfile.Version) bool { return !acceptable(v) })
	if len(list) == 0 {
		return depsfile.Version{}, false
	}
	return slices.MaxFunc(list, func(a, b depsfile.Version) int {
		// Build metadata doesn't count in the precedence, so compare the text for a stable order.
		return cmp.Or(depsfile.CompareVersions(a, b), strings.Compare(a.String(), b.String()))
	}), true
}
