package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// FS is the file system from which configuration is read: the operating system's or a snapshot.
// Unlike the names in an fs.FS, its names may be absolute, relative to the working directory, or
// contain "..", as users write them.
type FS interface {
	ReadDir(dir string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
}

// OS reads the files of the operating system.
type OS struct{}

// ReadDir lists a directory, sorted by name.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// ErrNotRegular is the error of OS.ReadFile for a device, a pipe or a socket. Reading it could wait
// for ever or never end.
var ErrNotRegular = errors.New("not a regular file")

// ReadFile reads a whole file, which must be a regular one.
func (OS) ReadFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %w", name, ErrNotRegular)
	}
	return os.ReadFile(name)
}
