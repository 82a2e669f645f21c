package pkgstore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"tofu/internal/depsfile"
)

// fingerprint records the hash of a directory or file, and the stat data of its files at that time.
type fingerprint struct {
	Path  string // path, prefixed with the kind of hash
	Hash  depsfile.Hash
	Files []fileStat
}

// Kinds of hashes. The kind is a prefix of the hashed path, so hashes of different kinds are stored
// in different files.
const (
	ofFolder         = ""
	ofArchive        = "archive\x00"
	ofArchiveContent = "content\x00"
)

// ContentHash returns the content hash of a directory. It reuses the stored hash if the stat data
// of all files is unchanged.
func (s *Store) ContentHash(dir string) (depsfile.Hash, error) {
	return s.remembered(ofFolder, dir, listDir, HashDir)
}

// ArchiveHash returns the archive hash of a file. It reuses a stored hash like ContentHash.
func (s *Store) ArchiveHash(path string) (depsfile.Hash, error) {
	return s.remembered(ofArchive, path, listFile, ArchiveHash)
}

// ArchiveContentHash returns the content hash of an archive file. It reuses a stored hash like
// ContentHash.
func (s *Store) ArchiveContentHash(path string) (depsfile.Hash, error) {
	return s.remembered(ofArchiveContent, path, listFile, HashArchive)
}

func listFile(path string) ([]fileStat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return []fileStat{statOf("", info)}, nil
}

func (s *Store) remembered(
	kind, path string, list func(string) ([]fileStat, error), hash func(string) (depsfile.Hash, error),
) (depsfile.Hash, error) {
	real, err := realPath(path)
	if err != nil {
		return "", err
	}
	files, err := list(real)
	if err != nil {
		return "", err
	}
	if known, ok := s.fingerprint(kind + real); ok && slices.Equal(known.Files, files) {
		return known.Hash, nil
	}
	h, err := hash(real)
	if err != nil {
		return "", err
	}
	after, err := list(real)
	if err == nil && slices.Equal(files, after) {
		// Failing to write the store only costs time.
		_ = s.saveFingerprint(fingerprint{kind + real, h, files})
	}
	return h, nil
}

// fingerprint returns the stored fingerprint of a path, which is prefixed with the kind of hash.
func (s *Store) fingerprint(path string) (known fingerprint, ok bool) {
	data, err := os.ReadFile(s.file("stat", path))
	ok = err == nil && json.Unmarshal(data, &known) == nil && known.Path == path && known.Hash != ""
	return known, ok
}

// relinked calls link, which may create hard links to the files of a directory. The links change
// the stat data of the files. If the stored hash of the directory was valid before, relinked keeps
// it valid.
func (s *Store) relinked(dir string, link func() error) error {
	real, err := realPath(dir)
	if err != nil {
		return err
	}
	known, ok := s.fingerprint(ofFolder + real)
	if ok {
		before, err := listDir(real)
		ok = err == nil && slices.Equal(known.Files, before)
	}
	if err := link(); err != nil || !ok {
		return err
	}
	after, err := listDir(real)
	sameContent := func(a, b fileStat) bool {
		a.CTime = b.CTime
		return a == b
	}
	if err == nil && slices.EqualFunc(known.Files, after, sameContent) && !slices.Equal(known.Files, after) {
		known.Files = after
		_ = s.saveFingerprint(known) // if this fails, the directory is hashed again when it is next used
	}
	return nil
}

// rememberStat records the hash of a directory whose files this process has just written.
func (s *Store) rememberStat(dir string, h depsfile.Hash) error {
	real, err := realPath(dir)
	if err != nil {
		return err
	}
	files, err := listDir(real)
	if err != nil {
		return err
	}
	return s.saveFingerprint(fingerprint{real, h, files})
}

func (s *Store) saveFingerprint(f fingerprint) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.writeFile(s.file("stat", f.Path), data)
}

func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
