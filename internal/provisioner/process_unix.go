//go:build unix

package provisioner

import (
	"os"
	"syscall"
)

// prepare gives the process a group of its own, so that everything it starts can be reached. With a terminal it stays in the
// terminal's foreground group: a group in the background is stopped when it asks the user for something, and Ctrl-C reaches
// it there anyway.
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

// signal reaches the process, or its group; one that is gone needs no signal any more.
func (p *process) signal(sig syscall.Signal) {
	if p.group {
		syscall.Kill(-p.cmd.Process.Pid, sig)
		return
	}
	p.cmd.Process.Signal(sig)
}
