package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/memo"
	"tofu/internal/tfdiags"
)

// Locker computes checksums of packages for any platform without installing them. One Locker serves
// any number of root modules: it fetches each list of versions once, and fetches, inflates and
// hashes each package once.
type Locker struct {
	in       *installer
	slots    chan struct{} // limits the number of packages processed at once
	versions memo.Map[addrs.Provider, sources.Versions]
	packages memo.Map[packageKey, []depsfile.Hash] // hashes to record for each package
}

type packageKey struct {
	provider addrs.Provider
	version  depsfile.Version
	platform depsfile.Platform
}

func (k packageKey) failed(err error) error {
	return fmt.Errorf("provider %s %s for %s: %w", k.provider.ForDisplay(), k.version, k.platform, err)
}

// NewLocker returns a Locker. Of the options, it uses only Source, Store, Unmanaged, Upgrade, Replace
// and Observe.
func NewLocker(opts *Options) *Locker {
	return &Locker{in: newInstaller(nil, opts), slots: make(chan struct{}, parallel)}
}

// Added describes the hashes added for a provider on one platform.
type Added struct {
	Provider addrs.Provider
	Platform depsfile.Platform
	New      bool // the provider wasn't locked before
	More     bool // there are hashes that weren't recorded before
}

// Root is a root module whose lock file is updated.
type Root struct {
	Dir  string
	Reqs depsfile.Requirements
	Prev *depsfile.Locks
}

// LockFile returns the path of the root module's lock file.
func (r Root) LockFile() string { return filepath.Join(r.Dir, depsfile.FileName) }

// RootResult is the result for one root module. Locks is nil if there is an error.
type RootResult struct {
	Locks *depsfile.Locks
	Added []Added
	Err   error
}

// LockAll runs Lock for many root modules concurrently and returns the results in the order of the
// root modules. It calls done for each finished root module, from several goroutines.
func (l *Locker) LockAll(
	ctx context.Context, roots []Root, platforms []depsfile.Platform, done func(i int, r RootResult),
) []RootResult {
	results := make([]RootResult, len(roots))
	var group errgroup.Group
	group.SetLimit(64) // more than there are slots, because most root modules wait for the same packages
	for i, root := range roots {
		group.Go(func() error {
			r := &results[i]
			r.Locks, r.Added, r.Err = l.Lock(ctx, root.Reqs, root.Prev, platforms)
			done(i, *r)
			return nil
		})
	}
	_ = group.Wait() // the errors are in the results
	return results
}

// Lock selects versions like Ensure and returns locks with the checksums for the platforms. It
// keeps the locks of other providers and the checksums that are already recorded. On errors it
// returns nil locks.
func (l *Locker) Lock(
	ctx context.Context, reqs depsfile.Requirements, prev *depsfile.Locks, platforms []depsfile.Platform,
) (*depsfile.Locks, []Added, error) {
	providers, err := l.in.installable(reqs)
	if err != nil {
		return nil, nil, err
	}
	found := make([]checksumsFor, len(providers))
	var group errgroup.Group
	for i, p := range providers {
		group.Go(func() error {
			found[i] = l.provider(ctx, p, reqs[p], prev, platforms)
			return nil
		})
	}
	_ = group.Wait() // the errors are in the results
	locks := prev
	var added []Added
	var errs tfdiags.Diagnostics
	for i, p := range providers {
		if found[i].err != nil {
			errs = errs.AppendError(found[i].err)
			continue
		}
		locks = locks.With(p, found[i].lock)
		added = append(added, found[i].added...)
	}
	if err := errs.Err(); err != nil {
		return nil, nil, err
	}
	if locks == nil {
		locks = &depsfile.Locks{}
	}
	return locks, added, nil
}

type checksumsFor struct {
	lock  depsfile.Lock
	added []Added
	err   error
}

func (l *Locker) provider(
	ctx context.Context, p addrs.Provider, c depsfile.Constraints, prev *depsfile.Locks, platforms []depsfile.Platform,
) checksumsFor {
	fail := func(err error) checksumsFor {
		return checksumsFor{err: problem("Could not retrieve providers for locking", err)}
	}
	version, err := l.choose(ctx, p, c, prev)
	if err != nil {
		return fail(err)
	}
	var out checksumsFor
	old, locked := prev.Provider(p)
	locked = locked && old.Version == version
	all := []depsfile.Hash{}
	if locked {
		all = depsfile.Union(old.Hashes)
	}
	results := make([][]depsfile.Hash, len(platforms))
	var group errgroup.Group
	for i, platform := range platforms {
		group.Go(func() (err error) {
			results[i], err = l.checksums(ctx, packageKey{p, version, platform})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fail(err)
	}
	for i, platform := range platforms {
		more := slices.ContainsFunc(results[i], func(h depsfile.Hash) bool { return !slices.Contains(all, h) })
		all = depsfile.Union(all, results[i])
		out.added = append(out.added, Added{p, platform, !locked, more})
	}
	out.lock = depsfile.Lock{Version: version, Constraints: c, Hashes: all}
	return out
}

func (l *Locker) choose(
	ctx context.Context, p addrs.Provider, c depsfile.Constraints, prev *depsfile.Locks,
) (depsfile.Version, error) {
	if lock, ok := prev.Provider(p); ok && !l.in.Upgrade {
		fits := depsfile.Acceptable(c).Has(lock.Version)
		if !fits && !l.in.Replace {
			return lock.Version,
				fmt.Errorf("locked provider %s %s doesn't meet the version constraints %q; run \"tofu init "+
					"-upgrade\" to select another version",
					p.ForDisplay(), lock.Version, depsfile.ConstraintsString(c))
		}
		if fits {
			return lock.Version, nil
		}
	}
	list, err := l.versions.Do(p, func() (sources.Versions, error) { return l.in.versions(ctx, p) })
	if err != nil {
		return depsfile.Version{}, err
	}
	lock, _ := prev.Provider(p)
	return l.in.choose(ctx, p, c, list.List, lock.Version)
}

// checksums returns the hashes of one package and all hashes that its source has authenticated.
func (l *Locker) checksums(ctx context.Context, key packageKey) ([]depsfile.Hash, error) {
	return l.packages.Do(key, func() ([]depsfile.Hash, error) {
		select {
		case l.slots <- struct{}{}:
			defer func() { <-l.slots }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		pkg, err := l.in.Source.Package(ctx, key.provider, key.version, key.platform)
		// A NoPackageError already names the provider.
		if _, none := errors.AsType[*sources.NoPackageError](err); none {
			return nil, err
		}
		if err != nil {
			return nil, key.failed(err)
		}
		l.in.notify(Fetching{key.provider, key.version, key.platform})
		hashes, err := l.in.hashes(ctx, pkg)
		if err != nil {
			return nil, key.failed(l.in.Store.Explain(err))
		}
		l.in.notify(Fetched{key.provider, key.version, key.platform, pkg.Auth, pkg.KeyID})
		return hashes, nil
	})
}

// hashes returns the hashes to record for a package. If neither the source nor the store knows an
// archive's content hash, it inflates the archive in memory to compute it.
func (in *installer) hashes(ctx context.Context, pkg *sources.Package) ([]depsfile.Hash, error) {
	if pkg.Dir != "" {
		found, err := in.folder(pkg, nil)
		return []depsfile.Hash{found.content.Hash}, err
	}
	if pkg.Archive != "" && len(pkg.Reported) == 0 {
		h, err := in.Store.ArchiveContentHash(pkg.Archive)
		return depsfile.Union([]depsfile.Hash{h}, pkg.Trusted), err
	}
	if pkg.ContentHash != "" {
		return depsfile.Union([]depsfile.Hash{pkg.ContentHash}, pkg.Trusted), nil
	}
	unlock, err := in.Store.Lock(ctx, releaseKey(pkg.Provider, pkg.Version, pkg.Platform))
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, archive := range expected(pkg) {
		if content, ok := in.Store.ContentOf(archive); ok {
			found, err := verify(pkg, nil, archive, content)
			return depsfile.Union([]depsfile.Hash{content}, found.verified, pkg.Trusted), err
		}
	}
	path, archive, cleanup, err := in.download(ctx, pkg)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	content, err := in.Store.HashArchive(path, archive)
	if err != nil {
		return nil, err
	}
	found, err := verify(pkg, nil, archive, content)
	return depsfile.Union([]depsfile.Hash{content}, found.verified, pkg.Trusted), err
}
