package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copying says how a folder is copied.
type Copying struct {
	// LeaveOut tells by its name what isn't copied; nil leaves nothing out.
	LeaveOut func(name string) bool
	// KeepLinks copies symbolic links as such. Without it what they lead to is copied, which must be files.
	KeepLinks bool
	// Link is for files that nobody writes to: see CopyFile.
	Link bool
}

// Tree copies a folder with all that is in it. If it is a symbolic link, that is what is copied or followed.
func (c Copying) Tree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case rel != "." && c.LeaveOut != nil && c.LeaveOut(d.Name()):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case c.KeepLinks && d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return CopyFile(path, target, c.Link)
	})
}

// CopyFile makes a new file with the content of another one, and its permissions. Where the file system can, the two share their blocks
// until one is written to; with link they may be one file with two names, which suits what nobody writes to.
func CopyFile(from, to string, link bool) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	create := func() (*os.File, error) {
		return os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	}
	dst, err := create()
	if err != nil {
		return err
	}
	if reflink(dst, src) == nil {
		return dst.Close()
	}
	if link {
		if err := errors.Join(dst.Close(), os.Remove(to)); err != nil {
			return err
		}
		if os.Link(from, to) == nil {
			return nil
		}
		if dst, err = create(); err != nil {
			return err
		}
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
