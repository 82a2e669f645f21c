//go:build unix

package statemgr

import "os"

// rename renames the open, locked file and returns it. It closes the file on error.
func rename(f *os.File, path string) (*os.File, error) {
	if err := os.Rename(f.Name(), path); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeLocked removes the open file and closes it.
func removeLocked(f *os.File, path string) {
	os.Remove(path)
	f.Close()
}
