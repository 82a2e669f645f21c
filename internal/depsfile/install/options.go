package install

import (
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
)

// Options say where packages come from and go to.
type Options struct {
	// Dir is where packages are installed: .terraform/providers.
	Dir string
	// Source is where they come from.
	Source sources.Source
	// Store is the user's package store.
	Store *pkgstore.Store
	// Cache is the plugin cache folder that packages are installed into first and linked from; empty for none.
	Cache string
	// CacheMayBreakLock takes packages from the cache unverified when the lock file has no checksums for them.
	CacheMayBreakLock bool
	// Upgrade takes the newest acceptable versions rather than the locked ones.
	Upgrade bool
	// Replace chooses another version where the locked one doesn't meet the constraints any more, instead of refusing.
	// Only a Locker looks at it.
	Replace bool
	// Elsewhere are providers that run already: they are neither installed nor locked anew.
	Elsewhere map[addrs.Provider]bool
	// Overridden are providers of which a development build is used. They are installed and locked for the time after
	// that, but it doesn't matter when that isn't possible: perhaps there is no release yet.
	Overridden map[addrs.Provider]bool
	// Platform is whose packages to install; the zero value means this machine's.
	Platform depsfile.Platform
	// Observe is told what happens, one call at a time; nil for nobody.
	Observe func(Event)
}

// parallel is how many providers are worked on at once. Downloads wait for the network, unpacking for a processor; a
// few more of them than processors keep both busy.
const parallel = 8

// installer is one run.
type installer struct {
	Options
	locks *depsfile.Locks // the previous ones
	mu    sync.Mutex      // around Observe
}

func newInstaller(prev *depsfile.Locks, opts *Options) *installer {
	in := &installer{Options: *opts, locks: prev}
	if in.Platform == (depsfile.Platform{}) {
		in.Platform = depsfile.CurrentPlatform()
	}
	return in
}

func (in *installer) tell(e Event) {
	if in.Observe == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.Observe(e)
}
