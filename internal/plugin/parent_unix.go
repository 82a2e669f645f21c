//go:build unix && !linux

package plugin

import "syscall"

// endWithParent does nothing, because the system has no such signal.
func endWithParent(*syscall.SysProcAttr) {}
