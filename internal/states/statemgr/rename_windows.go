package statemgr

import (
	"os"

	"tofu/internal/filelock"
)

// rename gives the open, locked file its name, and gives it back or closes it. An open file can't be renamed here, so another
// descriptor is given back.
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

// removeLocked closes the file and then removes it.
func removeLocked(f *os.File, path string) {
	f.Close()
	os.Remove(path)
}
