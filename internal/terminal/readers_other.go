//go:build !windows

package terminal

import (
	"os"
	"syscall"
)

// readerLeft holds the errors of writing to a pipe or terminal that is no longer read.
var readerLeft = []error{os.ErrClosed, syscall.EPIPE, syscall.EBADF, syscall.EIO}
