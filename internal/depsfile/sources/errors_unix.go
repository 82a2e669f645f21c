//go:build unix

package sources

import "syscall"

// errNotDir is what reading a folder whose path leads through a file gives.
var errNotDir error = syscall.ENOTDIR
