package pkgstore

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/depsfile"
)

// sum is the name of a file in a package and the SHA-256 of its content.
type sum struct {
	name   string // with forward slashes
	sha256 [sha256.Size]byte
}

// contentHash returns the "h1:" hash of the files of a package: the SHA-256 of one line per file,
// sorted by name. A line consists of the SHA-256 of the file in hex, two spaces and the name.
func contentHash(files []sum) (depsfile.Hash, error) {
	slices.SortFunc(files, func(a, b sum) int { return strings.Compare(a.name, b.name) })
	all := sha256.New()
	for _, f := range files {
		if strings.Contains(f.name, "\n") {
			return "", fmt.Errorf("the file name %q contains a line break", f.name)
		}
		fmt.Fprintf(all, "%s  %s\n", hex.EncodeToString(f.sha256[:]), f.name)
	}
	return depsfile.Hash(depsfile.SchemeContent + ":" + base64.StdEncoding.EncodeToString(all.Sum(nil))), nil
}

// HashDir reads all files of an unpacked package and returns its content hash.
func HashDir(dir string) (depsfile.Hash, error) {
	files, err := listDir(dir)
	if err != nil {
		return "", err
	}
	sums := make([]sum, 0, len(files))
	for _, f := range files {
		s, err := hashFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			return "", err
		}
		sums = append(sums, sum{f.Name, s})
	}
	return contentHash(sums)
}

// HashArchive returns the content hash of an archive. It inflates the archive without writing
// files.
func HashArchive(path string) (depsfile.Hash, error) {
	r, closeZip, err := openZip(path)
	if err != nil {
		return "", err
	}
	defer closeZip()
	var sums []sum
	buf := make([]byte, chunk)
	err = eachFile(r, func(f *zip.File, content io.Reader) error {
		h := sha256.New()
		if _, err := io.CopyBuffer(h, onlyReader{content}, buf); err != nil {
			return err
		}
		sums = append(sums, sum{f.Name, [sha256.Size]byte(h.Sum(nil))})
		return nil
	})
	if err != nil {
		return "", err
	}
	return contentHash(sums)
}

// ArchiveHash returns the "zh:" hash of a file: the SHA-256 of its bytes.
func ArchiveHash(path string) (depsfile.Hash, error) {
	s, err := hashFile(path)
	if err != nil {
		return "", err
	}
	return depsfile.Hash(depsfile.SchemeArchive + ":" + hex.EncodeToString(s[:])), nil
}

func hashFile(path string) (out [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, onlyReader{f}, make([]byte, chunk)); err != nil {
		return out, fmt.Errorf("reading %s: %w", path, err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// onlyReader hides a reader's WriterTo implementation. Otherwise io.CopyBuffer would use that
// implementation's own small buffer.
type onlyReader struct{ io.Reader }

// fileStat identifies the state of a file without reading it. A program that changes a file can
// reset its modification time but not its change time. The change time also changes when a hard
// link is created or removed; see relinked.
type fileStat struct {
	Name  string // relative to the package, with forward slashes
	Size  int64
	MTime int64 // nanoseconds
	Inode uint64
	Mode  fs.FileMode
	CTime int64 // nanoseconds; 0 if the system has no change times
}

func statOf(name string, info fs.FileInfo) fileStat {
	return fileStat{name, info.Size(), info.ModTime().UnixNano(), inode(info), info.Mode(), changeTime(info)}
}

// listDir returns the files below dir in lexical order. Symbolic links to files are followed; links
// to directories are errors.
func listDir(dir string) ([]fileStat, error) {
	var files []fileStat
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file; a package may contain only files, directories and links to files", path)
		}
		rel, err := filepath.Rel(real, path)
		if err != nil {
			return err
		}
		files = append(files, statOf(filepath.ToSlash(rel), info))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the package in %s: %w", dir, err)
	}
	return files, nil
}
