//go:build unix

package sources

import "syscall"

// errNotDir is the error of reading a directory if one of the path's parents is a file.
var errNotDir error = syscall.ENOTDIR
