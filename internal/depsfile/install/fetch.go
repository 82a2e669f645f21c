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

// errChecksum is what a package that isn't the locked one gives.
var errChecksum = errors.New("none of the lock file's checksums is the one of the package; " +
	"if it is the right package, the lock file may come from another platform: \"tofu providers lock\" adds checksums")

// fetched is a package whose checksums have been compared with all that is known about it.
type fetched struct {
	content  pkgstore.Content
	verified []depsfile.Hash // those of its source's checksums that are this package's
}

// folder hashes an unpacked package. Checksums of archives say nothing about a folder: with nothing else it is taken
// as it is, as OpenTofu does.
func (in *installer) folder(pkg *sources.Package, known []depsfile.Hash) (fetched, error) {
	h, err := in.Store.ContentHash(pkg.Dir)
	if err != nil {
		return fetched{}, err
	}
	comparable := slices.DeleteFunc(slices.Clone(known), func(k depsfile.Hash) bool { return k.Scheme() == depsfile.SchemeArchive })
	if len(comparable) > 0 && !slices.Contains(comparable, h) {
		return fetched{}, errChecksum
	}
	return fetched{content: pkgstore.Content{Dir: pkg.Dir, Hash: h}}, nil
}

// archive brings an archive's content into the store, unless it is there, and verifies it. Only one process at a time
// works on an archive; the others then find its content. Fresh demands that it is fetched.
func (in *installer) archive(ctx context.Context, pkg *sources.Package, known []depsfile.Hash, fresh bool) (fetched, error) {
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

// stored gives the content that the store has under a hash that the source announces. Content hashes, which are all that some mirrors
// have, do where the lock file doesn't demand an archive's.
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

// expected are the archive hashes that the source announces: what the store knows under them needn't be fetched.
func expected(pkg *sources.Package) []depsfile.Hash {
	if pkg.ArchiveHash != "" {
		return []depsfile.Hash{pkg.ArchiveHash}
	}
	return slices.DeleteFunc(slices.Clone(pkg.Reported), func(h depsfile.Hash) bool { return h.Scheme() != depsfile.SchemeArchive })
}

// download gives the path of the archive and its hash, and checks what can be checked before it is opened.
func (in *installer) download(ctx context.Context, pkg *sources.Package) (path string, archive depsfile.Hash, cleanup func(), err error) {
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
		err = fmt.Errorf("the archive has the checksum %s, but its source announces %s; it was damaged on the way or replaced", archive, pkg.ArchiveHash)
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
		in.tell(Progress{pkg.Provider, pkg.Version, pkg.Platform, done, total})
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
		return fmt.Errorf("the archive has %d bytes, but its source announces %d", info.Size(), want)
	}
	return nil
}

// verify compares a package's two hashes with what its source and the lock file say.
func verify(pkg *sources.Package, known []depsfile.Hash, archive, content depsfile.Hash) (fetched, error) {
	var found fetched
	for _, h := range pkg.Reported {
		if h == archive || h == content {
			found.verified = append(found.verified, h)
		}
	}
	if len(pkg.Reported) > 0 && len(found.verified) == 0 {
		return found, fmt.Errorf("none of the checksums that the source announces is the one of the package")
	}
	if pkg.ContentHash != "" && pkg.ContentHash != content {
		return found, fmt.Errorf("the package has the checksum %s, but its source announces %s", content, pkg.ContentHash)
	}
	if len(known) > 0 && !slices.Contains(known, archive) && !slices.Contains(known, content) {
		return found, errChecksum
	}
	return found, nil
}
