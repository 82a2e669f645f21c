package command

import (
	"os"

	"golang.org/x/sys/windows"
)

// readerLeft are the errors of writing where nobody reads any more.
var readerLeft = []error{os.ErrClosed, windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA, windows.ERROR_INVALID_HANDLE}
