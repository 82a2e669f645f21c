package plugin

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// endWithParent makes the system send SIGTERM to a process when this program ends for any reason.
// Without it, the process would wait for requests forever.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// starter runs functions that start processes, in a thread that lives as long as this program. The
// system sends the signal when the thread that started a process ends, even if the program
// continues.
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

// startChild starts a command in the thread of starter.
func startChild(cmd *exec.Cmd) error {
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}
