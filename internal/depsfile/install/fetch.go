package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
)

// errChecksum is the error for a package that matches none of the locked checksums.
var errChecksum = errors.New("the package matches none of the checksums in the lock file; " +
	"if it is the right package, the lock file may lack the checksums for this platform: \"tofu providers lock\" adds them")

// fetched is a package that matches all known checksums.
type fetched struct {
	content  pkgstore.Content
	verified []depsfile.Hash // checksums from the source that match this package
}

// folder verifies an unpacked package. The checksums of archives can't be compared with it. If the
// lock file has no other checksums, the package is accepted, as in OpenTofu.
func (in *installer) folder(pkg *sources.Package, known []depsfile.Hash) (fetched, error) {
	h, err := in.Store.ContentHash(pkg.Dir)
	if err != nil {
		return fetched{}, err
	}
	comparable := slices.DeleteFunc(slices.Clone(known),
		func(k depsfile.Hash) bool { return k.Scheme() == depsfile.SchemeArchive })
	if len(comparable) > 0 && !slices.Contains(comparable, h) {
		return fetched{}, errChecksum
	}
	return fetched{content: pkgstore.Content{Dir: pkg.Dir, Hash: h}}, nil
}

// archive adds an archive's content to the store, unless it is already there, and verifies it. Only
// one process at a time works on an archive; others wait and then find its content in the store. If
// fresh is set, the archive is fetched even if its content is in the store.
func (in *installer) archive(
	ctx context.Context, pkg *sources.Package, known []depsfile.Hash, fresh bool,
) (fetched, error) {
	key := releaseKey(pkg.Provider, pkg.Version, pkg.Platform)
	unlock, err := in.Store.Lock(ctx, key)
	if err != nil {
		return fetched{}, err
	}
	defer unlock()
	if found, ok, err := in.stored(pkg, known, key); ok && !fresh {
		return found, err
	}
	path, archive, cleanup, err := in.download(ctx, pkg)
	if err != nil {
		return fetched{}, err
	}
	defer cleanup()
	var found fetched
	content, err := in.Store.Add(path, archive, func(content depsfile.Hash) (err error) {
		found, err = verify(pkg, known, archive, content)
		return err
	})
	if err == nil {
		err = in.Store.SetRelease(key, archive)
	}
	found.content = content
	return found, err
}

// stored looks in the store for the content of a package, by the hashes that the source announces.
// It also accepts a content hash instead of an archive hash, because some mirrors announce no
// archive hash.
func (in *installer) stored(pkg *sources.Package, known []depsfile.Hash, key string) (fetched, bool, error) {
	for _, h := range expected(pkg) {
		if content, ok := in.Store.Find([]depsfile.Hash{h}); ok {
			found, err := verify(pkg, known, h, content.Hash)
			found.content = content
			if err == nil {
				err = in.Store.SetRelease(key, h)
			}
			return found, true, err
		}
	}
	if content, ok := in.Store.Find(pkg.Reported); ok {
		found, err := verify(pkg, known, "", content.Hash)
		found.content = content
		return found, err == nil, nil
	}
	return fetched{}, false, nil
}

// expected returns the archive hashes that the source announces. If the store has the content for
// one of them, the archive need not be fetched.
func expected(pkg *sources.Package) []depsfile.Hash {
	if pkg.ArchiveHash != "" {
		return []depsfile.Hash{pkg.ArchiveHash}
	}
	return slices.DeleteFunc(slices.Clone(pkg.Reported),
		func(h depsfile.Hash) bool { return h.Scheme() != depsfile.SchemeArchive })
}

// download returns the path of the archive, its hash, and a function that removes the archive if it
// was fetched. It does all checks that don't require opening the archive.
func (in *installer) download(
	ctx context.Context, pkg *sources.Package,
) (path string, archive depsfile.Hash, cleanup func(), err error) {
	path, cleanup = pkg.Archive, func() {}
	if path == "" {
		dir, err := in.Store.TempDir()
		if err != nil {
			return "", "", nil, err
		}
		cleanup = func() { os.RemoveAll(dir) }
		path = filepath.Join(dir, "package.zip")
		if err := in.fetchTo(ctx, pkg, path); err != nil {
			cleanup()
			return "", "", nil, err
		}
	}
	if pkg.Archive != "" {
		archive, err = in.Store.ArchiveHash(path)
	} else {
		archive, err = pkgstore.ArchiveHash(path)
	}
	if err == nil && pkg.Size != 0 {
		err = checkSize(path, pkg.Size)
	}
	if err == nil && pkg.ArchiveHash != "" && archive != pkg.ArchiveHash {
		err = fmt.Errorf("the archive has the checksum %s, but its source reports %s; it was damaged in "+
			"transit or replaced", archive, pkg.ArchiveHash)
	}
	if err != nil {
		cleanup()
		return "", "", nil, err
	}
	return path, archive, cleanup, nil
}

func (in *installer) fetchTo(ctx context.Context, pkg *sources.Package, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = pkg.Fetch(ctx, f, func(done, total int64) {
		in.notify(Progress{pkg.Provider, pkg.Version, pkg.Platform, done, total})
	})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func checkSize(path string, want int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() != want {
		return fmt.Errorf("the archive has %d bytes, but its source reports %d", info.Size(), want)
	}
	return nil
}

// verify compares both hashes of a package with the checksums from its source and from the lock
// file.
func verify(pkg *sources.Package, known []depsfile.Hash, archive, content depsfile.Hash) (fetched, error) {
	var found fetched
	for _, h := range pkg.Reported {
		if h == archive || h == content {
			found.verified = append(found.verified, h)
		}
	}
	if len(pkg.Reported) > 0 && len(found.verified) == 0 {
		return found, fmt.Errorf("the package matches none of the checksums reported by its source")
	}
	if pkg.ContentHash != "" && pkg.ContentHash != content {
		return found, fmt.Errorf("the package has the checksum %s, but its source reports %s", content, pkg.ContentHash)
	}
	if len(known) > 0 && !slices.Contains(known, archive) && !slices.Contains(known, content) {
		return found, errChecksum
	}
	return found, nil
}
