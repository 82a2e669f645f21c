package provisioner

import (
	"os/exec"
	"strconv"
	"syscall"
)

// prepare puts the process into its own process group, so that it can receive console events
// separately.
func (p *process) prepare() {
	p.group = true
	p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt kills the process and its children. Windows has no signal that programs generally
// handle and that shells pass on.
func (p *process) interrupt() { p.kill() }

func (p *process) kill() {
	if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run(); err != nil {
		p.cmd.Process.Kill()
	}
}
