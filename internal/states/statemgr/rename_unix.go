//go:build unix

package statemgr

import "os"

// rename gives the open, locked file its name, and gives it back or closes it.
func rename(f *os.File, path string) (*os.File, error) {
	if err := os.Rename(f.Name(), path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeLocked removes the open file, and then closes it.
func removeLocked(f *os.File, path string) {
	os.Remove(path)
	f.Close()
}
