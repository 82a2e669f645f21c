package provisioner

import (
	"os/exec"
	"strconv"
	"syscall"
)

// prepare puts the process into its own process group, which lets it receive console events alone.
func (p *process) prepare() {
	p.group = true
	p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// interrupt kills the process and its children, because Windows has no signal that programs
// generally handle and shells pass on.
func (p *process) interrupt() { p.kill() }

func (p *process) kill() {
	if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.cmd.Process.Pid)).Run(); err != nil {
		p.cmd.Process.Kill()
	}
}
