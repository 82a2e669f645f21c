//go:build unix && !linux

package plugin

import "syscall"

// endWithParent does nothing, because the system can't signal a process when its parent ends.
func endWithParent(*syscall.SysProcAttr) {}
