//go:build !windows

package command

import (
	"os"
	"syscall"
)

// readerLeft are the errors of writing where nobody reads any more.
var readerLeft = []error{os.ErrClosed, syscall.EPIPE, syscall.EBADF, syscall.EIO}
