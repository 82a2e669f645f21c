//go:build !windows

package terminal

import (
	"os"
	"syscall"
)

// readerLeft holds the errors of writes to a pipe or terminal that nobody reads anymore.
var readerLeft = []error{os.ErrClosed, syscall.EPIPE, syscall.EBADF, syscall.EIO}
