package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Write writes content to the file at path. It replaces an existing file or symbolic link. The
// umask applies to perm.
func Write(path string, content []byte, perm fs.FileMode) error {
	return write(path, bytes.NewReader(content), perm, nil)
}

// WriteSynced is like Write, but the file also survives a power failure.
func WriteSynced(path string, content []byte, perm fs.FileMode) error {
	err := write(path, bytes.NewReader(content), perm, (*os.File).Sync)
	if err == nil {
		SyncDir(filepath.Dir(path))
	}
	return err
}

// Copy is like Write, for content that is too large to hold in memory.
func Copy(path string, content io.Reader, perm fs.FileMode) error {
	return write(path, content, perm, nil)
}

// Rewrite replaces one of the user's files, or creates it. It follows a symbolic link and keeps the
// file's owner and permissions. The new content survives a power failure.
func Rewrite(path string, content []byte) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	before, err := os.Stat(path)
	if err != nil {
		return WriteSynced(path, content, 0o666)
	}
	if isDevice(before, nil) {
		return writeInto(path, bytes.NewReader(content))
	}
	err = write(path, bytes.NewReader(content), before.Mode().Perm(), func(f *os.File) error {
		if err := f.Chmod(before.Mode().Perm()); err != nil {
			return err
		}
		KeepOwner(f, before)
		return f.Sync()
	})
	switch {
	case errors.Is(err, fs.ErrPermission) || IsMountPoint(err):
		return Overwrite(path, content)
	case err == nil:
		SyncDir(filepath.Dir(path))
	}
	return err
}

// Overwrite writes content into an existing file. It is for files that can't be replaced: files in
// a directory that is not writable, and single files mounted into a container. A crash during the
// write may leave only part of the new content.
func Overwrite(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	return f.Sync()
}

// SyncDir makes renames in a directory survive a power failure. Errors are ignored: not every
// system supports it, and the renames have already been made.
func SyncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// WriteNamed is like WriteSynced, for a path given by the user: it follows symbolic links,
// including links to devices.
func WriteNamed(path string, content []byte, perm fs.FileMode) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	if isDevice(os.Stat(path)) {
		return writeInto(path, bytes.NewReader(content))
	}
	return WriteSynced(path, content, perm)
}

// Resolve follows symbolic links and returns the path of their target, so that callers replace the
// target instead of the link. The target need not exist. If path is a link to a device or pipe,
// Resolve returns path unchanged, because the target of a link such as /dev/stdout may have no
// path.
func Resolve(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return path, nil
	}
	target := path
	for range 40 {
		link, err := os.Readlink(target)
		if err != nil {
			return target, nil // path is not a link, or nothing exists there
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// write writes content to a temporary file, calls finish on it, and renames it to path. A device or
// a pipe is written to directly: replacing /dev/null with a file would break the system.
func write(path string, content io.Reader, perm fs.FileMode, finish func(*os.File) error) error {
	if isDevice(os.Lstat(path)) {
		return writeInto(path, content)
	}
	f, err := create(filepath.Dir(path), perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil && finish != nil {
		err = finish(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// isDevice reports whether info, the result of a stat, describes a device, a pipe or a socket.
func isDevice(info fs.FileInfo, err error) bool {
	return err == nil && info.Mode().Type()&^(fs.ModeSymlink|fs.ModeDir) != 0
}

func writeInto(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// create creates a file with a temporary name. Unlike os.CreateTemp, it applies perm.
func create(dir string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
