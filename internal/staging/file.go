package staging

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Write makes the file at path, in place of one that is there. The system's mask applies to its permissions.
func Write(path string, content []byte, perm fs.FileMode) error {
	return put(path, bytes.NewReader(content), perm, nil)
}

// WriteSynced is Write for what must survive a power cut too.
func WriteSynced(path string, content []byte, perm fs.FileMode) error {
	return put(path, bytes.NewReader(content), perm, (*os.File).Sync)
}

// Copy is Write for content that is too large for the memory.
func Copy(path string, content io.Reader, perm fs.FileMode) error {
	return put(path, content, perm, nil)
}

// Rewrite replaces a file that the user knows and may have arranged: a symbolic link is followed, and permissions stay as they are.
// It survives a power cut.
func Rewrite(path string, content []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	return put(path, bytes.NewReader(content), 0o666, func(f *os.File) error {
		if err == nil {
			if err := f.Chmod(info.Mode().Perm()); err != nil {
				return err
			}
		}
		return f.Sync()
	})
}

// put writes a file, lets finish look after it before it is closed, and gives it its name.
func put(path string, content io.Reader, perm fs.FileMode, finish func(*os.File) error) error {
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
