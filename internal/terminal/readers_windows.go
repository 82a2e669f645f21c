package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// readerLeft holds the errors of writes to a pipe or terminal that nobody reads anymore.
var readerLeft = []error{os.ErrClosed, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_INVALID_HANDLE}
