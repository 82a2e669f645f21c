package configs

import (
	"io/fs"
	"os"
)

// FS is where configuration is read from: the machine's files, or those of a snapshot. Names may be relative to the working
// directory, lead upwards or be absolute, as users write them, which is why this is not an fs.FS.
type FS interface {
	ReadDir(dir string) ([]fs.DirEntry, error)
	ReadFile(name string) ([]byte, error)
}

// OS reads the machine's own files.
type OS struct{}

// ReadDir lists a directory, sorted by name.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// ReadFile reads a whole file.
func (OS) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }
