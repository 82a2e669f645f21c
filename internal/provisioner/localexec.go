package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

const (
	// grace is the time that an interrupted command has to end on its own.
	grace = 5 * time.Second
	// drainTime limits how long output is read after an interrupted command has ended.
	drainTime = 200 * time.Millisecond
	// errorOutput is the maximum number of bytes of a failed command's output in its error.
	errorOutput = 8 << 10
)

var localExecSchema = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"command":     required(cty.String),
	"working_dir": optional(cty.String),
	"interpreter": optional(cty.List(cty.String)),
	"environment": optional(cty.Map(cty.String)),
	"quiet":       optional(cty.Bool),
}}

// shells holds the default interpreter of each operating system; "" is the key for all others.
var shells = map[string][]string{
	"":        {"/bin/sh", "-c"},
	"windows": {"cmd", "/C"},
}

func validateLocalExec(config cty.Value) error {
	command := attribute(config, "command")
	if command.IsKnown() && (command.IsNull() || command.AsString() == "") {
		return tfdiags.Errorf("Invalid local-exec provisioner command", "The argument \"command\" is empty or null.")
	}
	return nil
}

func runLocalExec(ctx context.Context, r *request) error {
	command := text(r.config, "command")
	if command == "" {
		return errors.New("the command is empty")
	}
	args := append(interpreter(r.config), command)
	if flag(r.config, "quiet") {
		r.out("local-exec: Executing: Suppressed by quiet=true")
	} else {
		r.out(fmt.Sprintf("Executing: %q", args))
	}

	// Pass the pipe itself to the process. Otherwise this program would copy the output in a
	// goroutine, and waiting for the process would also mean waiting for all processes that have
	// inherited its output.
	pr, pw, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe for the command's output: %w", err)
	}
	defer pr.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = r.path(text(r.config, "working_dir"))
	cmd.Env = os.Environ()
	if parent := timings.TraceParent(ctx); parent != "" {
		cmd.Env = append(cmd.Env, "TRACEPARENT="+parent)
	}
	cmd.Env = append(cmd.Env, environment(r.config)...)
	cmd.Stdout, cmd.Stderr = pw, pw

	p, err := startProcess(cmd)
	pw.Close()
	if err != nil {
		return commandError(r, command, err, "")
	}
	kept := &tail{max: errorOutput}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		l := &lines{out: r.out}
		io.Copy(io.MultiWriter(l, kept), pr) // ends when all writers have closed the pipe, or when pr is closed
		l.end()
	}()
	err = p.wait(ctx)
	// Processes that the command has left in the background may still have the pipe open. Their
	// output is read until they end or the run is interrupted, which also ends these processes.
	select {
	case <-copied:
	case <-ctx.Done():
		p.kill()
		time.AfterFunc(drainTime, func() { pr.Close() })
		<-copied
	}
	if ctx.Err() != nil && err != nil {
		return commandError(r, command, fmt.Errorf("interrupted: %w", err), kept.String())
	}
	if err != nil {
		return commandError(r, command, err, kept.String())
	}
	return nil
}

// commandError returns the error of a failed command. It omits the command and its output if they
// may contain secrets.
func commandError(r *request, command string, err error, output string) error {
	switch {
	case r.hidden:
		return fmt.Errorf("running the command: %w; the command and its output are not shown, because they depend "+
			"on sensitive or ephemeral values", err)
	case output == "":
		return fmt.Errorf("running command %q: %w", command, err)
	}
	return fmt.Errorf("running command %q: %w. Output: %s", command, err, output)
}

func interpreter(config cty.Value) []string {
	var out []string
	if v := attribute(config, "interpreter"); !v.IsNull() {
		for it := v.ElementIterator(); it.Next(); {
			if _, item := it.Element(); !item.IsNull() {
				out = append(out, item.AsString())
			}
		}
	}
	if len(out) > 0 {
		return out
	}
	if shell, ok := shells[runtime.GOOS]; ok {
		return slices.Clone(shell)
	}
	return slices.Clone(shells[""])
}

func environment(config cty.Value) []string {
	v := attribute(config, "environment")
	if v.IsNull() {
		return nil
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		if name, value := it.Element(); !value.IsNull() {
			out = append(out, name.AsString()+"="+value.AsString())
		}
	}
	return out
}

// process is a running command. How it is interrupted depends on the operating system.
type process struct {
	cmd   *exec.Cmd
	group bool // whether the command leads its own process group
	done  chan error
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan error, 1)}
	p.prepare()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- cmd.Wait() }()
	return p, nil
}

// wait returns the result of the process. If ctx ends first, wait interrupts the process, and kills
// it after a grace period.
func (p *process) wait(ctx context.Context) error {
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	p.interrupt()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-p.done:
		p.kill() // kills child processes that are still running
		return err
	case <-timer.C:
	}
	p.kill()
	return <-p.done
}
