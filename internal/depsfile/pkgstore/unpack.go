package pkgstore

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/flate"

	"tofu/internal/depsfile"
)

// Limits for archives. Real packages have a handful of files and inflate to a few hundred
// megabytes, about five times the size of the archive. An archive that exceeds a limit is a mistake
// or an attack.
const (
	maxFiles   = 20_000
	maxBytes   = 16 << 30
	freeBytes  = 1 << 30 // up to this size any compression ratio is accepted
	maxInflate = 100
)

// chunk is the number of bytes to read, inflate or hash at once.
const chunk = 1 << 18

// Unpack extracts a package archive into dir, which must exist and be empty, and returns the
// content hash.
func Unpack(archive, dir string) (depsfile.Hash, error) {
	r, closeZip, err := openZip(archive)
	if err != nil {
		return "", err
	}
	defer closeZip()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var sums []sum
	buf := make([]byte, chunk)
	err = eachFile(r, func(f *zip.File, content io.Reader) error {
		s, err := extract(root, f, content, buf)
		sums = append(sums, sum{f.Name, s})
		return err
	})
	if err != nil {
		return "", err
	}
	return contentHash(sums)
}

func extract(root *os.Root, f *zip.File, content io.Reader, buf []byte) (s [sha256.Size]byte, err error) {
	name := filepath.FromSlash(f.Name)
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return s, err
		}
	}
	mode := fs.FileMode(0o644)
	if f.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return s, err
	}
	h := sha256.New()
	_, err = io.CopyBuffer(onlyWriter{io.MultiWriter(out, h)}, onlyReader{content}, buf)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return [sha256.Size]byte(h.Sum(nil)), err
}

type onlyWriter struct{ io.Writer }

// openZip opens an archive after checking all its entries, so that no part of a malicious archive
// is extracted. It uses an inflater that is faster than the standard library's.
func openZip(path string) (*zip.Reader, func() error, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the archive: %w", err)
	}
	if err := checkEntries(&r.Reader, uint64(info.Size())); err != nil {
		r.Close()
		return nil, nil, err
	}
	r.RegisterDecompressor(zip.Deflate, func(packed io.Reader) io.ReadCloser {
		// The inflater's own buffer is one page, so each page would need a system call.
		return flate.NewReader(bufio.NewReaderSize(packed, chunk))
	})
	return &r.Reader, r.Close, nil
}

// eachFile calls visit for each file of an archive.
func eachFile(r *zip.Reader, visit func(f *zip.File, content io.Reader) error) error {
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		content, err := f.Open()
		if err == nil {
			// The reader stops at the announced size. Reading one more byte detects longer content.
			err = visit(f, io.LimitReader(content, int64(f.UncompressedSize64)+1))
			content.Close()
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", f.Name, err)
		}
	}
	return nil
}

func checkEntries(r *zip.Reader, size uint64) error {
	if len(r.File) > maxFiles {
		return fmt.Errorf("the archive has %d entries, more than the limit of %d", len(r.File), maxFiles)
	}
	var packed, inflated uint64
	names := make(map[string]bool, len(r.File))
	for _, f := range r.File {
		name := strings.TrimSuffix(f.Name, "/")
		switch {
		case name == "" || strings.ContainsAny(name, "\\:\x00") ||
			!filepath.IsLocal(filepath.FromSlash(name)) || filepath.ToSlash(filepath.Clean(name)) != name:
			return fmt.Errorf("the archive has an entry %q, which is outside of the package's directory or "+
				"not portable", f.Name)
		case !f.Mode().IsRegular() && !f.Mode().IsDir():
			return fmt.Errorf("the archive's entry %q is neither a file nor a directory", f.Name)
		case names[name]:
			return fmt.Errorf("the archive has two entries named %q", f.Name)
		}
		names[name] = true
		packed, inflated = packed+f.CompressedSize64, inflated+f.UncompressedSize64
		switch {
		case packed > size:
			return fmt.Errorf("the entries of the archive are larger than the archive itself, so it is damaged or malicious")
		case f.UncompressedSize64 > maxBytes || inflated > maxBytes || inflated > freeBytes && inflated/maxInflate > size:
			return fmt.Errorf("the archive inflates to more than the maximum size of a package")
		}
	}
	return nil
}
