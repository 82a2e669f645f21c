package statemgr

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData waits until the file's data is on disk. It does not wait for metadata such as file
// times.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
