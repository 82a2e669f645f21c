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

// Write makes the file at path, in place of a file or symbolic link that is there. The system's mask applies to its permissions.
func Write(path string, content []byte, perm fs.FileMode) error {
	return put(path, bytes.NewReader(content), perm, nil)
}

// WriteSynced is Write for what must survive a power cut too.
func WriteSynced(path string, content []byte, perm fs.FileMode) error {
	err := put(path, bytes.NewReader(content), perm, (*os.File).Sync)
	if err == nil {
		SyncFolder(filepath.Dir(path))
	}
	return err
}

// Copy is Write for content that is too large for the memory.
func Copy(path string, content io.Reader, perm fs.FileMode) error {
	return put(path, content, perm, nil)
}

// Rewrite replaces a file that the user knows and may have arranged: a symbolic link is followed, and owner and permissions stay as they
// are. It survives a power cut.
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
		return pour(path, bytes.NewReader(content))
	}
	err = put(path, bytes.NewReader(content), before.Mode().Perm(), func(f *os.File) error {
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
		SyncFolder(filepath.Dir(path))
	}
	return err
}

// Overwrite writes into a file that is there, for one whose folder doesn't let us do better: a folder that can't be written while the file
// can, or a single file that is mounted into a container. A crash half way leaves a file with the start of the new content.
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

// SyncFolder makes renames in a folder survive a power cut. Not every system can; they have happened either way.
func SyncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// WriteNamed is WriteSynced for a path that the user gave: a symbolic link is followed, also one to a device.
func WriteNamed(path string, content []byte, perm fs.FileMode) error {
	path, err := Resolve(path)
	if err != nil {
		return err
	}
	if isDevice(os.Stat(path)) {
		return pour(path, bytes.NewReader(content))
	}
	return WriteSynced(path, content, perm)
}

// Resolve follows symbolic links, so that the file they lead to is replaced and not the link. The file need not exist. A link to a
// device or a pipe stays as it is: what /dev/stdout leads to has no path of its own.
func Resolve(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return path, nil
	}
	target := path
	for range 40 {
		link, err := os.Readlink(target)
		if err != nil {
			return target, nil // no link, or nothing there
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(target), link)
		}
		target = link
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// put writes a file, lets finish look after it before it is closed, and gives it its name. A device or a pipe is written to: a file
// in the place of /dev/null would break the machine.
func put(path string, content io.Reader, perm fs.FileMode, finish func(*os.File) error) error {
	if isDevice(os.Lstat(path)) {
		return pour(path, content)
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

// isDevice reports whether a path that was looked up is a device, a pipe or the like.
func isDevice(info fs.FileInfo, err error) bool {
	return err == nil && info.Mode().Type()&^(fs.ModeSymlink|fs.ModeDir) != 0
}

func pour(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// create makes a file with a temporary name. Unlike os.CreateTemp it takes the permissions of the file to be.
func create(dir string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
