//go:build unix && !linux

package plugin

import "syscall"

// endWithParent does nothing: this system has no such signal.
func endWithParent(*syscall.SysProcAttr) {}
