package statemgr

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves space behind the end of the file without making it longer. File systems that can't are none the worse.
func allocate(f *os.File, offset, length int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, length)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return nil
}
