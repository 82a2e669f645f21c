package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// readerLeft holds the errors of writing to a pipe or terminal that is no longer read.
var readerLeft = []error{os.ErrClosed, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_INVALID_HANDLE}
