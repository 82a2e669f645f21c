package workers

import (
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup makes a command start in its own process group, which the signals of the worker's console don't reach.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup kills a started command and its child processes.
func killGroup(cmd *exec.Cmd) {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() != nil {
		_ = cmd.Process.Kill()
	}
}
