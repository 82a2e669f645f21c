//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// inGroup makes a command start in its own process group, so that its child processes can be ended
// with it. If standard input is a terminal, the command stays in this program's group instead: only
// this group can read from the terminal, and some plugins ask for one-time passwords. Ctrl-C then
// reaches the plugins too. They ignore it, and this program stops them.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !term.IsTerminal(int(os.Stdin.Fd()))}
	endWithParent(cmd.SysProcAttr)
}

// killGroup kills the process group of a started command, unless the command is in this program's
// group.
func killGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that the group has ended
	}
}
