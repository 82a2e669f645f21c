package plugin

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// endWithParent makes a process receive SIGTERM when this program ends for any reason. Otherwise it
// would wait for requests forever.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// starter starts processes in a thread that lives as long as this program. It is needed because the
// signal is sent when the thread that started a process ends, even if the program continues.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startChild starts a command.
func startChild(cmd *exec.Cmd) error {
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}
