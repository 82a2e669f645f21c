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
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

const (
	// grace is the time that an interrupted command has to end on its own, and that background
	// processes have after their command has ended.
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
		pr.Close()
		return commandError(r, command, err, "")
	}
	kept := &tail{max: errorOutput}
	l := &lines{out: r.out}
	output := &shownOutput{to: io.MultiWriter(l, kept)}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		defer pr.Close()
		io.Copy(output, pr) // ends when all writers have closed the pipe, or when pr is closed
	}()
	err = p.wait(ctx)
	r.awaitBackground(ctx, p, pr, copied)
	output.end()
	l.end()
	if ctx.Err() != nil && err != nil {
		return commandError(r, command, fmt.Errorf("interrupted: %w", err), kept.String())
	}
	if err != nil {
		return commandError(r, command, err, kept.String())
	}
	return nil
}

// awaitBackground waits until the output pr of a command that has ended is copied. Processes that
// the command has left in the background may still have the pipe open. They have a grace period, and
// an interrupt ends them. Those that stay can go on writing, because the copying doesn't end.
func (r *request) awaitBackground(ctx context.Context, p *process, pr *os.File, copied <-chan struct{}) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
		r.warn("The command has ended, but it left processes in the background that still have its output open. They " +
			"go on, but tofu neither waits for them nor shows their output from now on. If they write after tofu " +
			"has ended, they are likely to fail: redirect their output to a file, as in \"PROGRAM >log 2>&1 &\".")
	case <-ctx.Done():
		p.kill()
		time.AfterFunc(drainTime, func() { pr.Close() })
		<-copied
	}
}

// shownOutput is a writer that passes on its input until its end, and discards the rest.
type shownOutput struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (o *shownOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

func (o *shownOutput) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to = io.Discard
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
