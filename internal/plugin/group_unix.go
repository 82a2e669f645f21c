//go:build unix

package plugin

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// inGroup makes a command start in a process group of its own, so that what it starts can be ended with it. Where standard input is a
// terminal it stays in this program's group: only that one can read from the terminal, and some plugins ask for one-time passwords
// there. Ctrl-C reaches it there, which plugins ignore; this program asks them to stop.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !term.IsTerminal(int(os.Stdin.Fd()))}
	endWithParent(cmd.SysProcAttr)
}

// killGroup ends the process group that a started command leads, if it leads one.
func killGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr.Setpgid {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nothing left of it
	}
}
