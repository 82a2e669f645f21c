package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
)

// atHand installs the locked version without asking a source. It looks for a package with one of
// the locked checksums in the installation directory, the plugin cache and the store, and returns
// false if none of them has one.
func (in *installer) atHand(ctx context.Context, p addrs.Provider, lock depsfile.Lock) (result, bool) {
	known := depsfile.Known(lock.Hashes)
	if len(known) == 0 {
		return result{}, false
	}
	same := result{lock: depsfile.Lock{Version: lock.Version, Hashes: depsfile.Union(lock.Hashes)}}
	target := pkgstore.PackageDir(in.Dir, p, lock.Version, in.Platform)
	if h, err := in.Store.ContentHash(target); err == nil && slices.Contains(known, h) {
		if _, err := pkgstore.Executable(target, p); err == nil {
			in.notify(AlreadyInstalled{p, lock.Version})
			return same, true
		}
	}
	if in.Cache != "" {
		cached := pkgstore.PackageDir(in.Cache, p, lock.Version, in.Platform)
		if h, err := in.Store.ContentHash(cached); err == nil && slices.Contains(known, h) &&
			in.finish(p, cached, target) == nil {
			in.notify(FromCache{p, lock.Version})
			return same, true
		}
	}
	return in.fromStore(ctx, p, lock, known)
}

// fromStore installs a package from the store if the lock file has the package's content hash. In
// this case, fetching the package could not add anything to the lock file. An unpacked package of a
// local mirror takes precedence, because it is linked and not copied.
func (in *installer) fromStore(
	ctx context.Context, p addrs.Provider, lock depsfile.Lock, known []depsfile.Hash,
) (result, bool) {
	if nearby, ok := in.Source.(interface {
		Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool
	}); ok && nearby.Unpacked(p, lock.Version, in.Platform) {
		return result{}, false
	}
	archive, ok := in.Store.Release(releaseKey(p, lock.Version, in.Platform))
	if !ok {
		return result{}, false
	}
	content, ok := in.Store.Find([]depsfile.Hash{archive})
	if !ok || !slices.Contains(known, content.Hash) {
		return result{}, false
	}
	in.notify(Installing{p, lock.Version})
	place := func(dest string) error { return in.Store.Place(content, dest) }
	if err := in.put(ctx, p, lock.Version, place); err != nil {
		return failed("Failed to install provider", fmt.Errorf("installing provider %s %s: %w", p.ForDisplay(),
			lock.Version, err)), true
	}
	in.notify(Installed{p, lock.Version, "verified checksum", ""})
	return result{lock: depsfile.Lock{Version: lock.Version, Hashes: depsfile.Union(lock.Hashes)}}, true
}

// releaseKey returns the key by which the store finds the archive of a release.
func releaseKey(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) string {
	return p.String() + "/" + v.String() + "/" + platform.String()
}

// install gets a package from the source and installs it, unless an unverified package in the
// plugin cache may be used. known lists the lock file's checksums for the version.
func (in *installer) install(
	ctx context.Context, p addrs.Provider, v depsfile.Version, known []depsfile.Hash,
) (result, error) {
	if done, ok := in.unverifiedCache(p, v, known); ok {
		return done, nil
	}
	pkg, err := in.Source.Package(ctx, p, v, in.Platform)
	if err != nil {
		return result{}, err
	}
	in.notify(Installing{p, v})
	var found fetched
	if pkg.Dir != "" {
		found, err = in.folder(pkg, known)
	} else {
		found, err = in.archive(ctx, pkg, known, len(known) == 0 &&
			in.Store.Installed(in.Dir, releaseKey(p, v, in.Platform)))
		err = in.Store.Explain(err)
	}
	if err != nil {
		return result{}, err
	}
	err = in.put(ctx, p, v, func(dest string) error {
		if pkg.Dir != "" {
			return in.Store.Link(pkg.Dir, dest)
		}
		return in.Store.Place(found.content, dest)
	})
	if err != nil {
		return result{}, err
	}
	in.Store.SetInstalled(in.Dir, releaseKey(p, v, in.Platform))
	in.notify(Installed{p, v, pkg.Auth, pkg.KeyID})
	done := result{
		lock: depsfile.Lock{Version: v, Hashes: depsfile.Union([]depsfile.Hash{found.content.Hash}, known,
			found.verified, pkg.Trusted)},
		incomplete: len(known) == 0 && len(pkg.Trusted) == 0,
	}
	return done, nil
}

// unverifiedCache uses the package in the plugin cache although there are no checksums for it, if
// the user has allowed this.
func (in *installer) unverifiedCache(p addrs.Provider, v depsfile.Version, known []depsfile.Hash) (result, bool) {
	if in.Cache == "" || !in.CacheMayBreakLock || len(known) > 0 {
		return result{}, false
	}
	cached := pkgstore.PackageDir(in.Cache, p, v, in.Platform)
	if entries, err := os.ReadDir(cached); err != nil || len(entries) == 0 {
		return result{}, false
	}
	h, err := in.Store.ContentHash(cached)
	if err != nil || in.finish(p, cached, pkgstore.PackageDir(in.Dir, p, v, in.Platform)) != nil {
		return result{}, false
	}
	in.notify(FromCache{p, v})
	return result{lock: depsfile.Lock{Version: v, Hashes: []depsfile.Hash{h}}, incomplete: true}, true
}

// put fills the package's directory by calling the function place, and checks that the directory
// then contains the provider's program. With a plugin cache, it fills the directory there and links
// to it.
func (in *installer) put(
	ctx context.Context, p addrs.Provider, v depsfile.Version, place func(dest string) error,
) error {
	target := pkgstore.PackageDir(in.Dir, p, v, in.Platform)
	if err := in.checkTarget(target); err != nil {
		return err
	}
	if in.Cache == "" {
		if err := place(target); err != nil {
			return err
		}
		_, err := pkgstore.Executable(target, p)
		return err
	}
	dest := pkgstore.PackageDir(in.Cache, p, v, in.Platform)
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return fmt.Errorf("using the plugin cache: %w", err)
	}
	// OpenTofu locks the same file while it fills the directory, so the two programs wait for each
	// other.
	unlock, err := pkgstore.LockFile(ctx, dest+".lock", func() { in.notify(Waiting{p, v}) })
	if err != nil {
		return err
	}
	err = place(dest)
	unlock()
	if err != nil {
		return err
	}
	return in.finish(p, dest, target)
}

// finish checks that a package in the plugin cache contains the provider's program, and creates the
// link from target to the package.
func (in *installer) finish(p addrs.Provider, cached, target string) error {
	if _, err := pkgstore.Executable(cached, p); err != nil {
		return err
	}
	if err := in.checkTarget(target); err != nil {
		return err
	}
	return in.Store.Link(cached, target)
}

// checkTarget returns an error if the package's directory is outside of the data directory because
// of a symbolic link above it. The package's directory itself may be a link.
func (in *installer) checkTarget(target string) error {
	if err := atomicfile.CheckBelow(filepath.Dir(in.Dir), filepath.Dir(target)); err != nil {
		return fmt.Errorf("%w: remove the link; to keep providers in another place, set TF_DATA_DIR or "+
			"plugin_cache_dir", err)
	}
	return nil
}
