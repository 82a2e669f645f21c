package depsfile

import (
	"maps"
	"slices"

	"github.com/apparentlymart/go-versions/versions"

	"tofu/internal/addrs"
)

// Version is one release of a provider or module.
type Version = versions.Version

// ParseVersion reads "1.2.3-beta1+build".
func ParseVersion(text string) (Version, error) { return versions.ParseVersion(text) }

// CompareVersions orders versions by precedence, in which build metadata has no say.
func CompareVersions(a, b Version) int {
	switch {
	case a.LessThan(b):
		return -1
	case b.LessThan(a):
		return 1
	}
	return 0
}

// Requirements are the providers that something needs, with the constraints of everyone who needs them.
// Providers that only a state needs have no constraints.
type Requirements map[addrs.Provider]Constraints

// InAnyVersion gives the same providers without constraints.
func (r Requirements) InAnyVersion() Requirements {
	all := make(Requirements, len(r))
	for p := range r {
		all[p] = nil
	}
	return all
}

// Providers lists the providers in order.
func (r Requirements) Providers() []addrs.Provider {
	return slices.SortedFunc(maps.Keys(r), addrs.Provider.Compare)
}

// Lock is the choice made for one provider.
type Lock struct {
	Version     Version
	Constraints Constraints // those that led to the choice; for readers only
	// Hashes are checksums of true packages of this version for any platform, sorted unless they were read from a
	// file in which somebody ordered them otherwise. None means that packages are taken unverified.
	Hashes []Hash
}

// Locks are the choices made for a root module. The zero value has none. Locks are not changed after they were
// shared; With gives a changed copy.
type Locks struct {
	providers map[addrs.Provider]Lock
}

// NewLocks makes locks of a map, which the caller gives away.
func NewLocks(providers map[addrs.Provider]Lock) *Locks { return &Locks{providers} }

// Provider gives the choice for one provider.
func (l *Locks) Provider(p addrs.Provider) (Lock, bool) {
	if l == nil {
		return Lock{}, false
	}
	lock, ok := l.providers[p]
	return lock, ok
}

// Providers lists the locked providers in order.
func (l *Locks) Providers() []addrs.Provider {
	if l == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(l.providers), addrs.Provider.Compare)
}

// Empty tells whether nothing is locked.
func (l *Locks) Empty() bool { return l == nil || len(l.providers) == 0 }

// With gives a copy with one choice added or replaced.
func (l *Locks) With(p addrs.Provider, lock Lock) *Locks {
	changed := make(map[addrs.Provider]Lock)
	if l != nil {
		maps.Copy(changed, l.providers)
	}
	changed[p] = lock
	return &Locks{changed}
}

// Equal tells whether both choose the same: providers, versions (build metadata included) and hashes as they are
// written. Constraints are for readers and don't count.
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

// SameProviders tells whether both choose for the same set of providers.
func (l *Locks) SameProviders(o *Locks) bool { return slices.Equal(l.Providers(), o.Providers()) }
