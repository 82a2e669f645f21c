package configs

import (
	"errors"
	"io/fs"
	"os"

	"tofu/internal/atomicfile"
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

// ReadFile reads a whole file, which must be a regular one or the null device: links to that hide
// files.
func (OS) ReadFile(name string) ([]byte, error) {
	src, err := atomicfile.Read(name)
	if errors.Is(err, atomicfile.ErrNotRegular) && atomicfile.IsNull(name) {
		return nil, nil
	}
	return src, err
}
