package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyOptions holds options for copying a directory.
type CopyOptions struct {
	// Exclude reports whether the file or directory with that name is omitted. If it is nil,
	// everything is copied.
	Exclude func(name string) bool
	// KeepLinks copies symbolic links as links. Otherwise the files that they point to are copied;
	// links to directories are errors.
	KeepLinks bool
	// Link allows hard links instead of copies, for files that are never written to. See copyFile.
	Link bool
}

// CopyTree copies a directory, including its content, to another path. If the directory itself is a
// symbolic link, it is treated like any other link in the tree.
func (c CopyOptions) CopyTree(from, to string) error {
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
		case rel != "." && c.Exclude != nil && c.Exclude(d.Name()):
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
		return copyFile(path, target, c.Link)
	})
}

// copyFile copies a file and its permissions. It returns an error if the target exists. If the file
// system supports it, the two files share their blocks until one of them is written to. If link is
// true, the new file may be a hard link, which is suitable only for files that are never written
// to.
func copyFile(from, to string, link bool) error {
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
		dst, err = create()
		if err != nil {
			return err
		}
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
