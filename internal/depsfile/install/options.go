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
	// Cache is the plugin cache directory. Packages are installed there first and then linked to.
	// It is "" if there is no cache.
	Cache string
	// CacheMayBreakLock accepts unverified packages from the cache if the lock file has no
	// checksums for them.
	CacheMayBreakLock bool
	// Upgrade selects the newest acceptable versions rather than the locked ones.
	Upgrade bool
	// Replace selects another version if the locked one no longer meets the constraints, instead of
	// failing. Only Locker uses it.
	Replace bool
	// Where says where the configuration has the constraints of a provider, such as "main.tf:4". It may
	// be nil.
	Where func(addrs.Provider) string
	// Unmanaged are providers that are already running. They are not installed, and their locks
	// don't change.
	Unmanaged map[addrs.Provider]bool
	// Overridden are providers with a development override. They are installed and locked too, but
	// a failure is not an error, because there may be no release yet.
	Overridden map[addrs.Provider]bool
	// Platform is the platform to install packages for. The zero value means the current one.
	Platform depsfile.Platform
	// Observe receives events, one call at a time. It may be nil.
	Observe func(Event)
}

// parallel is the number of providers processed at once. Downloading waits for the network and
// unpacking for a processor, so it is larger than the usual number of processors to keep both busy.
const parallel = 8

// installer is one run of Ensure, Mirror or Locker.
type installer struct {
	Options
	locks *depsfile.Locks // previous locks
	mu    sync.Mutex      // held during calls of Observe
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
