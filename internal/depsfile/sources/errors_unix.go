//go:build unix

package sources

import "syscall"

// errNotDir is the error of reading a directory if the path leads through a file.
var errNotDir error = syscall.ENOTDIR
