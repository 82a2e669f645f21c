package provisioner

import (
	"os/exec"
	"strconv"
	"syscall"
)

// prepare puts the process into its own group, so that console events can be sent to it alone.
func (p *process) prepare() {
	p.group = true
	p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt kills the process and its children: Windows has no signal that programs expect and
// shells pass on.
func (p *process) interrupt() { p.kill() }

func (p *process) kill() {
	if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run(); err != nil {
		p.cmd.Process.Kill()
	}
}
