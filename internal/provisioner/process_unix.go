//go:build unix

package provisioner

import (
	"os"
	"syscall"
)

// prepare puts the process into its own group, so that its children can be signaled too. With a
// terminal it stays in the foreground group: a background process is stopped when it reads from the
// terminal, and Ctrl-C reaches it anyway.
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

// signal signals the process or its group. A process that has ended needs no signal.
func (p *process) signal(sig syscall.Signal) {
	if p.group {
		syscall.Kill(-p.cmd.Process.Pid, sig)
		return
	}
	p.cmd.Process.Signal(sig)
}
