package install

import (
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
)

// Options configure where packages are fetched from and installed to.
type Options struct {
	// Dir is the directory to install packages in: .terraform/providers.
	Dir string
	// Source provides the packages.
	Source sources.Source
	// Store is the user's package store.
	Store *pkgstore.Store
	// Cache is the plugin cache directory, where packages are installed first and linked from. It
	// may be empty.
	Cache string
	// CacheMayBreakLock accepts unverified packages from the cache if the lock file has no
	// checksums for them.
	CacheMayBreakLock bool
	// Upgrade selects the newest acceptable versions rather than the locked ones.
	Upgrade bool
	// Replace selects another version if the locked one no longer meets the constraints, instead of
	// failing. Only Locker uses it.
	Replace bool
	// Unmanaged are providers that are already running. They are neither installed nor locked anew.
	Unmanaged map[addrs.Provider]bool
	// Overridden are providers with a development override. They are installed and locked too, but
	// failing to do so is not an error: there may be no release yet.
	Overridden map[addrs.Provider]bool
	// Platform is the platform to install packages for. The zero value means the current one.
	Platform depsfile.Platform
	// Observe receives events, one call at a time. It may be nil.
	Observe func(Event)
}

// parallel is the number of providers processed at once. Downloads wait for the network, unpacking
// for a processor: a few more than there are processors keep both busy.
const parallel = 8

// installer is one run.
type installer struct {
	Options
	locks *depsfile.Locks // previous locks
	mu    sync.Mutex      // serializes Observe
}

func newInstaller(prev *depsfile.Locks, opts *Options) *installer {
	in := &installer{Options: *opts, locks: prev}
	if in.Platform == (depsfile.Platform{}) {
		in.Platform = depsfile.CurrentPlatform()
	}
	return in
}

func (in *installer) notify(e Event) {
	if in.Observe == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Observe(e)
}
