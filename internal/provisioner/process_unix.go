//go:build unix

package provisioner

import (
	"os"
	"syscall"
)

// prepare puts the process into its own process group, so that its children can be signaled too. If
// there is a terminal, the process stays in the foreground group, for two reasons: a background
// process would be stopped when it reads from the terminal, and Ctrl-C reaches the foreground group
// anyway.
func (p *process) prepare() {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0); err == nil {
		tty.Close()
		return
	}
	p.group = true
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func (p *process) interrupt() { p.signal(syscall.SIGINT) }

func (p *process) kill() { p.signal(syscall.SIGKILL) }

// signal sends a signal to the process or its group. It ignores the error if they have already
// ended.
func (p *process) signal(sig syscall.Signal) {
	if p.group {
		syscall.Kill(-p.cmd.Process.Pid, sig)
		return
	}
	p.cmd.Process.Signal(sig)
}
