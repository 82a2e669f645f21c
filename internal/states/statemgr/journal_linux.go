package statemgr

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData waits until the file's data are on the disk. Times needn't be.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
