package depsfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"tofu/internal/addrs"
)

// Version is a release of a provider or module.
type Version = versions.Version

// ParseVersion parses a version such as "1.2.3-beta1+build".
func ParseVersion(text string) (Version, error) { return versions.ParseVersion(text) }

// CompareVersions orders versions by precedence, ignoring build metadata.
func CompareVersions(a, b Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return 0
}

// Requirements maps required providers to their combined constraints. Providers that only a state
// requires have no constraints.
type Requirements map[addrs.Provider]Constraints

// InAnyVersion returns the same providers without constraints.
func (r Requirements) InAnyVersion() Requirements {
	all := make(Requirements, len(r))
	for p := range r {
		all[p] = nil
	}
	return all
}

// Providers returns the providers in the order of their addresses.
func (r Requirements) Providers() []addrs.Provider {
	return slices.SortedFunc(maps.Keys(r), addrs.Provider.Compare)
}

// Lock records the selected version of one provider.
type Lock struct {
	Version     Version
	Constraints Constraints // constraints when the lock file was last written; for information only
	// Hashes are checksums of valid packages of this version for any platform. They are normally
	// sorted; hashes from a file are in the order of the file. If there are no hashes, packages are
	// used without verification.
	Hashes []Hash
}

// Locks hold the selected providers of a root module. The zero value is empty. Locks are immutable
// once shared; With returns a modified copy.
type Locks struct {
	providers map[addrs.Provider]Lock
}

// NewLocks returns locks backed by the map, which the caller must not use afterwards.
func NewLocks(providers map[addrs.Provider]Lock) *Locks { return &Locks{providers} }

// Provider returns the lock of one provider.
func (l *Locks) Provider(p addrs.Provider) (Lock, bool) {
	if l == nil {
		return Lock{}, false
	}
	lock, ok := l.providers[p]
	return lock, ok
}

// Providers returns the locked providers in the order of their addresses.
func (l *Locks) Providers() []addrs.Provider {
	if l == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(l.providers), addrs.Provider.Compare)
}

// Empty reports whether there are no locks.
func (l *Locks) Empty() bool { return l == nil || len(l.providers) == 0 }

// With returns a copy in which the lock of one provider is added or replaced.
func (l *Locks) With(p addrs.Provider, lock Lock) *Locks {
	changed := make(map[addrs.Provider]Lock)
	if l != nil {
		maps.Copy(changed, l.providers)
	}
	changed[p] = lock
	return &Locks{changed}
}

// Equal reports whether l and o have the same providers, with the same versions (including build
// metadata) and the same hashes in the same order. It ignores constraints, because they are only
// informational.
func (l *Locks) Equal(o *Locks) bool {
	if !l.SameProviders(o) {
		return false
	}
	for _, p := range l.Providers() {
		a, _ := l.Provider(p)
		b, _ := o.Provider(p)
		if a.Version != b.Version || !slices.Equal(a.Hashes, b.Hashes) {
			return false
		}
	}
	return true
}

// SameProviders reports whether l and o lock the same set of providers.
func (l *Locks) SameProviders(o *Locks) bool { return slices.Equal(l.Providers(), o.Providers()) }

// maxVersions is the largest number of versions that an error lists.
const maxVersions = 5

// ThereAre returns a clause that lists the newest versions, for an error about one that doesn't exist.
func ThereAre(list []Version) string {
	if len(list) == 0 {
		return "there are none"
	}
	newest := slices.SortedFunc(slices.Values(list), func(a, b Version) int { return CompareVersions(b, a) })
	var names []string
	for _, v := range newest[:min(len(newest), maxVersions)] {
		names = append(names, v.String())
	}
	text := strings.Join(names, ", ")
	if more := len(newest) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(newest) == 1 {
		return "there is only " + text
	}
	return "there are " + text
}
