//go:build unix

package workers

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command start in its own process group, which the signals of the worker's terminal don't reach.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process group of a started command.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // an error means that it has ended
