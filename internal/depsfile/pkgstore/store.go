package pkgstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
)

// Store is a directory of packages. It is safe for concurrent use, including by several processes.
type Store struct {
	root string
	temp bool // the store is temporary: Close removes root
}

// Content is an unpacked package in the store.
type Content struct {
	Dir  string
	Hash depsfile.Hash // "h1:"
}

// Open opens the store at the path dir, creating the directory if necessary. If that fails, or if
// dir is "", the store is a temporary one that Close removes.
func Open(dir string) (*Store, error) {
	if dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			s := &Store{root: abs}
			if s.makeFolders() == nil {
				return s, nil
			}
		}
	}
	tmp, err := os.MkdirTemp("", "tofu-packages-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for provider packages: %w", err)
	}
	s := &Store{root: tmp, temp: true}
	return s, s.makeFolders()
}

func (s *Store) makeFolders() error {
	for _, name := range []string{"packages", "archives", "releases", "roots", "notes", "stat", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(s.root, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Close removes a temporary store.
func (s *Store) Close() error {
	if s.temp {
		return os.RemoveAll(s.root)
	}
	return nil
}

// unwritable lists the errors that mean a file system can't be written to.
var unwritable = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS}

// Explain extends the error if the store can't be written to. The added text says what the store is
// for and how to move it.
func (s *Store) Explain(err error) error {
	here := slices.ContainsFunc(unwritable, func(reason error) bool { return errors.Is(err, reason) }) ||
		// A permission error without the store's path is about another file.
		errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), s.root)
	if s.temp || !here {
		return err
	}
	return fmt.Errorf("%w. The provider packages of all configurations are kept in %s; the environment variable "+
		"TOFU_CACHE_DIR can select another directory, for example on another disk", err, s.root)
}

// TempDir creates a directory for a download, on the same disk as the store. The caller removes it.
func (s *Store) TempDir() (string, error) { return atomicfile.TempDir(filepath.Join(s.root, "tmp")) }

// Find returns an intact stored package that has one of the hashes.
func (s *Store) Find(hashes []depsfile.Hash) (Content, bool) {
	for _, h := range hashes {
		content := h
		if h.Scheme() == depsfile.SchemeArchive {
			known, ok := s.ContentOf(h)
			if !ok {
				continue
			}
			content = known
		}
		if c, ok := s.intact(content); ok {
			return c, true
		}
	}
	return Content{}, false
}

func (s *Store) intact(h depsfile.Hash) (Content, bool) {
	dir, ok := s.dir(h)
	if !ok {
		return Content{}, false
	}
	if _, err := os.Stat(dir); err != nil {
		return Content{}, false
	}
	got, err := s.ContentHash(dir)
	if err == nil && got == h {
		return Content{dir, h}, true
	}
	s.discard(dir)
	return Content{}, false
}

// dir returns the directory of the package with the given content hash. It first checks the form of
// the hash, because the hash comes from a file that users may edit.
func (s *Store) dir(h depsfile.Hash) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Value())
	if h.Scheme() != depsfile.SchemeContent || err != nil || len(raw) != 32 {
		return "", false
	}
	return filepath.Join(s.root, "packages", hex.EncodeToString(raw)), true
}

// Add unpacks an archive with the given hash into the store, unless its content is already there.
// It passes the content hash to accept. If accept returns an error, nothing is stored.
func (s *Store) Add(archive string, hash depsfile.Hash, accept func(content depsfile.Hash) error) (Content, error) {
	if c, ok := s.Find([]depsfile.Hash{hash}); ok {
		return c, accept(c.Hash)
	}
	tmp, err := s.TempDir()
	if err != nil {
		return Content{}, err
	}
	defer os.RemoveAll(tmp)
	content, err := Unpack(archive, tmp)
	if err == nil {
		err = accept(content)
	}
	if err != nil {
		return Content{}, err
	}
	if c, ok := s.intact(content); ok {
		return c, s.Remember(hash, content)
	}
	dir, ok := s.dir(content)
	if !ok {
		panic("unreachable: a content hash is valid")
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return Content{}, err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if c, ok := s.intact(content); ok { // another process has added the content
			return c, s.Remember(hash, content)
		}
		return Content{}, fmt.Errorf("storing the package: %w", err)
	}
	// This process has just written the files, so they need not be read again.
	if err := s.rememberStat(dir, content); err != nil {
		return Content{}, err
	}
	return Content{dir, content}, s.Remember(hash, content)
}

// discard renames a damaged package before removing it, so that a partly removed package is never
// used.
func (s *Store) discard(dir string) {
	tmp, err := s.TempDir()
	if err != nil {
		return
	}
	os.Rename(dir, filepath.Join(tmp, "damaged"))
	os.RemoveAll(tmp)
}

// ContentOf returns the content hash of an archive, if the archive has been unpacked or hashed
// before.
func (s *Store) ContentOf(archive depsfile.Hash) (depsfile.Hash, bool) {
	path, ok := s.archiveFile(archive)
	if !ok {
		return "", false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	h, err := depsfile.ParseHash(strings.TrimSpace(string(text)))
	if err != nil {
		return "", false
	}
	_, valid := s.dir(h)
	return h, valid
}

// Remember records the content hash of an archive.
func (s *Store) Remember(archive, content depsfile.Hash) error {
	path, ok := s.archiveFile(archive)
	if !ok {
		return nil
	}
	return s.writeFile(path, []byte(content+"\n"))
}

func (s *Store) archiveFile(h depsfile.Hash) (string, bool) {
	raw, err := hex.DecodeString(h.Value())
	if h.Scheme() != depsfile.SchemeArchive || err != nil || len(raw) != 32 {
		return "", false
	}
	return filepath.Join(s.root, "archives", hex.EncodeToString(raw)), true
}

// writeFile replaces a small file of the store.
func (s *Store) writeFile(path string, data []byte) error {
	if err := atomicfile.Write(path, data, 0o600); err != nil {
		return fmt.Errorf("writing the package store: %w", err)
	}
	return nil
}

// HashArchive returns the content hash of an archive and records it, so that each archive is
// inflated once.
func (s *Store) HashArchive(path string, archive depsfile.Hash) (depsfile.Hash, error) {
	if h, ok := s.ContentOf(archive); ok {
		return h, nil
	}
	h, err := HashArchive(path)
	if err != nil {
		return "", err
	}
	return h, s.Remember(archive, h)
}

// Lock locks a name for this process and returns the function that unlocks it. Where file locks
// don't work, it doesn't wait, and packages may be fetched more than once.
func (s *Store) Lock(ctx context.Context, name string) (func(), error) {
	return LockFile(ctx, s.file("locks", name), nil)
}

// Release returns the hash that a release's archive had when it was last fetched. The caller
// chooses the key.
func (s *Store) Release(key string) (depsfile.Hash, bool) {
	text, err := os.ReadFile(s.file("releases", key))
	if err != nil {
		return "", false
	}
	h, err := depsfile.ParseHash(strings.TrimSpace(string(text)))
	return h, err == nil && h.Scheme() == depsfile.SchemeArchive
}

// SetRelease records the archive hash of a release.
func (s *Store) SetRelease(key string, archive depsfile.Hash) error {
	if old, ok := s.Release(key); ok && old == archive {
		return nil
	}
	return s.writeFile(s.file("releases", key), []byte(archive+"\n"))
}

// Installed reports whether a release was installed into a directory before. Users who remove an
// installed package and the lock file expect a fresh download rather than the stored copy.
func (s *Store) Installed(dir, key string) bool {
	_, err := os.Stat(s.installedFile(dir, key))
	return err == nil
}

// SetInstalled records that a release was installed into a directory. The record is a hint: errors
// are ignored.
func (s *Store) SetInstalled(dir, key string) {
	_ = s.writeFile(s.installedFile(dir, key), nil)
}

func (s *Store) installedFile(dir, key string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return s.file("roots", dir+"\x00"+key)
}

// Note returns the text that SetNote last recorded for a key, and the time of that.
func (s *Store) Note(key string) (text []byte, at time.Time, ok bool) {
	path := s.file("notes", key)
	info, err := os.Stat(path)
	if err != nil {
		return nil, at, false
	}
	text, err = os.ReadFile(path)
	return text, info.ModTime(), err == nil
}

// SetNote records a text. The record is a hint: errors are ignored. The caller chooses the key.
func (s *Store) SetNote(key string, text []byte) { _ = s.writeFile(s.file("notes", key), text) }

// file returns the path of a record. The key may be any text.
func (s *Store) file(folder, key string) string {
	name := sha256.Sum256([]byte(key))
	return filepath.Join(s.root, folder, hex.EncodeToString(name[:16]))
}
