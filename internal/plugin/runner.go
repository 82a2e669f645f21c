package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// outputGrace limits how long the output of a plugin is read after its end, if another process
// keeps the output open.
const outputGrace = time.Second

// runner runs the process of a plugin for go-plugin. go-plugin's own runner waits for the end of
// the plugin's output to detect the end of its process, but a child of the plugin can keep the
// output open. It also kills only the plugin's process, not the children of this process.
type runner struct {
	cmd            *exec.Cmd
	stdout, stderr *output
	tmp            string // directory that contains the plugin's socket

	started bool
	ended   chan struct{} // closed when the process has ended
	status  error         // exit status
	killed  atomic.Bool   // by this program
}

// newRunner returns a runner for a command that has not been started. tmp is the directory that
// contains the plugin's socket. If the start fails, the runner removes tmp.
func newRunner(cmd *exec.Cmd, tmp string) (*runner, error) {
	inGroup(cmd)
	r := &runner{cmd: cmd, tmp: tmp, ended: make(chan struct{})}
	cmd.Cancel = r.kill
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		os.RemoveAll(tmp)
		return nil, err
	}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		outRead.Close()
		outWrite.Close()
		os.RemoveAll(tmp)
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outWrite, errWrite
	r.stdout, r.stderr = newOutput(outRead), newOutput(errRead)
	return r, nil
}

// output is one of the output streams of a plugin.
type output struct {
	*os.File
	once  sync.Once
	ended chan struct{} // closed when there is no more output to read
}

func newOutput(read *os.File) *output { return &output{File: read, ended: make(chan struct{})} }

// Read reads the stream until all processes have closed it, or until the runner stops waiting for
// them.
func (o *output) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	if err != nil {
		o.once.Do(func() { close(o.ended) })
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

func (r *runner) closeOutput() {
	r.stdout.File.Close()
	r.stderr.File.Close()
}

// Start implements runner.Runner.
func (r *runner) Start(context.Context) error {
	err := startChild(r.cmd)
	r.cmd.Stdout.(*os.File).Close() // the child process has its own copies
	r.cmd.Stderr.(*os.File).Close()
	if err != nil {
		r.closeOutput()
		os.RemoveAll(r.tmp)
		return err
	}
	r.started = true
	go r.wait()
	return nil
}

// wait waits for the process to end, kills the remaining processes in its group, and waits until
// the output has been read.
func (r *runner) wait() {
	r.status = r.cmd.Wait()
	killGroup(r.cmd)
	late := time.AfterFunc(outputGrace, r.closeOutput)
	<-r.stdout.ended
	<-r.stderr.ended
	late.Stop()
	r.closeOutput()
	close(r.ended)
}

// kill kills the process and its group.
func (r *runner) kill() error {
	killGroup(r.cmd)
	err := r.cmd.Process.Kill()
	if err == nil {
		r.killed.Store(true)
	}
	return err
}

// Kill implements runner.Runner.
func (r *runner) Kill(context.Context) error {
	if !r.started {
		return nil
	}
	if err := r.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Wait implements runner.Runner.
func (r *runner) Wait(context.Context) error {
	<-r.ended
	return r.status
}

// Stdout implements runner.Runner.
func (r *runner) Stdout() io.ReadCloser { return r.stdout }

// Stderr implements runner.Runner.
func (r *runner) Stderr() io.ReadCloser { return r.stderr }

// Name implements runner.Runner.
func (r *runner) Name() string { return r.cmd.Path }

// ID implements runner.Runner.
func (r *runner) ID() string {
	if !r.started {
		return ""
	}
	return strconv.Itoa(r.cmd.Process.Pid)
}

// Diagnose implements runner.Runner.
func (r *runner) Diagnose(context.Context) string {
	return fmt.Sprintf("%s may be built for another operating system or processor, lack libraries, or not "+
		"be a plugin", r.cmd.Path)
}

// PluginToHost implements runner.Runner. The address is unchanged, because the plugin and this
// program use the same network.
func (r *runner) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin implements runner.Runner.
func (r *runner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
