package getmodules

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// archiveSuffixes maps file name suffixes to kinds of archives. Longer suffixes come before shorter
// ones.
var archiveSuffixes = []struct{ suffix, kind string }{
	{".tar.gz", "tar.gz"}, {".tgz", "tar.gz"}, {".tar.bz2", "tar.bz2"}, {".tbz2", "tar.bz2"},
	{".tar.xz", "tar.xz"}, {".txz", "tar.xz"}, {".tar", "tar"}, {".zip", "zip"},
}

// archiveKind returns the kind of an archive: the one in the query parameter "archive" or, without
// this parameter, the one that the suffix of the file name indicates. It returns "" if the kind is
// unknown, or if the parameter says that the file is not to be unpacked.
func archiveKind(name string, query url.Values) string {
	if noArchive(query) {
		return ""
	}
	asked := query.Get("archive")
	for _, s := range archiveSuffixes {
		if asked != "" && "."+asked == s.suffix || asked == "" && strings.HasSuffix(name, s.suffix) {
			return s.kind
		}
	}
	return ""
}

// noArchive reports whether an address asks for the file not to be unpacked.
func noArchive(query url.Values) bool {
	asked := query.Get("archive")
	return asked == "false" || asked == "0"
}

// archiveMarks are the magic numbers of archives.
var archiveMarks = []struct{ mark, kind string }{
	{"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"}, {"\x1f\x8b", "tar.gz"}, {"BZh", "tar.bz2"},
	{"\xfd7zXZ\x00", "tar.xz"},
}

// archiveHead is the number of bytes contentKind needs: the first header of a tar archive.
const archiveHead = 512

// contentKind detects the kind of an archive from its first bytes. It returns "" if head doesn't
// look like the start of an archive.
func contentKind(head []byte) string {
	for _, m := range archiveMarks {
		if bytes.HasPrefix(head, []byte(m.mark)) {
			return m.kind
		}
	}
	if len(head) >= archiveHead { // a valid checksum identifies a tar header
		if h, err := tar.NewReader(bytes.NewReader(head)).Next(); err == nil && h.Name != "" {
			return "tar"
		}
	}
	return ""
}

// fileKind is like contentKind, but reads the first bytes from the file at a path.
func fileKind(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, archiveHead))
	return contentKind(head), err
}

// Limits for archives of modules. Typical source text is about ten times the size of its archive.
const (
	maxArchiveFiles   = 100_000
	maxArchiveBytes   = 4 << 30
	freeArchiveBytes  = 100 << 20 // up to this size, any compression ratio is accepted
	maxArchiveInflate = 100
)

// inflatable returns the number of bytes that an archive of the given size may inflate to.
func inflatable(size int64) int64 {
	return min(maxArchiveBytes, max(freeArchiveBytes, min(size, maxArchiveBytes)*maxArchiveInflate))
}

// unpacker extracts the entries of an archive into one directory and writes nowhere else.
type unpacker struct {
	root  *os.Root
	files int
	bytes int64
	limit int64    // maximum number of bytes to extract
	links []string // the symbolic links created so far
}

// unpack creates dir and extracts an archive into it. It detects the kind of the archive from the
// content. If the content doesn't show the kind, it uses the kind in named.
func unpack(file, named, dir string) error {
	kind, err := fileKind(file)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{root: root, limit: inflatable(info.Size())}
	if err := u.unpack(file, cmp.Or(kind, named)); err != nil {
		return err
	}
	return u.cutLinks()
}

func (u *unpacker) unpack(file, kind string) error {
	if kind == "zip" {
		return u.zip(file)
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	switch kind {
	case "tar.gz":
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		defer z.Close()
		r = z
	case "tar.bz2":
		r = bzip2.NewReader(f)
	case "tar.xz":
		r, err = xz.NewReader(f)
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
	}
	return u.tar(r)
}

func (u *unpacker) zip(file string) error {
	r, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	defer r.Close()
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		err = u.entry(f.Name, f.Mode(), "", content)
		content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the archive: %w", err)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
			if err := u.entry(h.Name, h.FileInfo().Mode(), h.Linkname, t); err != nil {
				return err
			}
		case tar.TypeXGlobalHeader: // git archive writes this entry first; it is not a file
		default:
			return fmt.Errorf("the archive's entry %q is not a file, a directory or a symbolic link", h.Name)
		}
	}
}

func (u *unpacker) entry(name string, mode fs.FileMode, link string, content io.Reader) error {
	clean := path.Clean(name)
	if clean == "." {
		return nil
	}
	if !filepath.IsLocal(filepath.FromSlash(clean)) || strings.ContainsAny(clean, "\\\x00") {
		return fmt.Errorf("the archive has an entry %q, which is outside of the module's directory or not portable", name)
	}
	u.files++
	if u.files > maxArchiveFiles {
		return fmt.Errorf("the archive has more than %d entries, the limit for a module archive", maxArchiveFiles)
	}
	local := filepath.FromSlash(clean)
	if mode.IsDir() {
		return u.root.MkdirAll(local, 0o755)
	}
	if dir := filepath.Dir(local); dir != "." {
		if err := u.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if mode&fs.ModeSymlink != 0 {
		return u.symlink(clean, link, content)
	}
	return u.file(local, mode, content)
}

// symlink creates a symbolic link within the module. If the target is outside of the module, it
// creates an empty file instead, as OpenTofu does. If target is "", content contains the target.
func (u *unpacker) symlink(name, target string, content io.Reader) error {
	if target == "" { // in a zip file, the content is the target
		data, err := io.ReadAll(io.LimitReader(content, 4096))
		if err != nil {
			return err
		}
		target = string(data)
	}
	if path.IsAbs(target) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), target))) {
		return u.file(filepath.FromSlash(name), 0o644, strings.NewReader(""))
	}
	u.links = append(u.links, filepath.FromSlash(name))
	return u.root.Symlink(filepath.FromSlash(target), filepath.FromSlash(name))
}

// cutLinks replaces each link that leads out of the module by way of another link with an empty
// file. Links whose target doesn't exist are kept.
func (u *unpacker) cutLinks() error {
	for _, name := range u.links {
		if _, err := u.root.Stat(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := u.root.Remove(name); err != nil {
			return err
		}
		if err := u.file(name, 0o644, strings.NewReader("")); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) file(name string, mode fs.FileMode, content io.Reader) error {
	perm := fs.FileMode(0o644)
	if mode&0o111 != 0 {
		perm = 0o755
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, u.limit-u.bytes+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	u.bytes += n
	if err == nil && u.bytes > u.limit {
		err = fmt.Errorf("the archive inflates to more than %d MB, the limit for a module archive of its size",
			u.limit>>20)
	}
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", name, err)
	}
	return nil
}
