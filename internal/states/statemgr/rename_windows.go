package statemgr

import (
	"os"

	"tofu/internal/filelock"
)

// rename renames the open, locked file and returns it. It closes the file on error. Windows can't
// rename an open file, so the result is another descriptor.
func rename(f *os.File, path string) (*os.File, error) {
	if err := f.Close(); err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return nil, err
	}
	g, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err = filelock.Lock(g); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// removeLocked closes the file and removes it.
func removeLocked(f *os.File, path string) {
	f.Close()
	os.Remove(path)
}
