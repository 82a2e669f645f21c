package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// cost is the cost of a command. CPU time is the sum of user and system time, including plugins.
// Memory is the peak of the largest process.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // peak memory in bytes
	own       own   // part of the cost without plugins; zero if unknown
}

// own is the part of a cost without plugins.
type own struct {
	cpu  time.Duration
	peak int64
}

// least returns the smaller of the two values for each figure.
func (c cost) least(d cost) cost {
	return cost{min(c.wall, d.wall), min(c.cpu, d.cpu), min(c.peak, d.peak),
		own{min(c.own.cpu, d.own.cpu), min(c.own.peak, d.own.peak)}}
}

// errTimeout is the error of a command that exceeds the time limit.
var errTimeout = errors.New("timed out")

// bench runs a program in a directory with a configuration.
type bench struct {
	program string
	dir     string // directory with the configuration
	env     []string
	timeout time.Duration
	log     string // name of the file next to dir that receives the output of a command
}

// logging returns a copy of b that writes the output of commands to another file. Commands that run
// concurrently need separate files.
func (b *bench) logging(name string) *bench {
	c := *b
	c.log = name
	return &c
}

// newBench returns a bench. It writes the CLI configuration to the directory top. The configuration
// to measure must be in top/m.
func newBench(o *options, program, top, mirror string) (*bench, error) {
	rc := filepath.Join(top, "rc")
	text := ""
	if mirror != "" {
		text = fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror)
	}
	if err := os.WriteFile(rc, []byte(text), 0o644); err != nil {
		return nil, err
	}
	b := &bench{program: program, dir: filepath.Join(top, "m"), timeout: o.timeout, log: "log"}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "TOFU_") {
			b.env = append(b.env, v)
		}
	}
	b.env = append(b.env, "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1", "HOME="+top)
	if o.gate > 0 {
		// By default, the program collects no garbage while its heap is small. Without GOGC, only
		// the larger size would need collections, and linear growth would look steeper than it is.
		b.env = append(b.env, "GOGC=100")
	}
	return b, nil
}

// run runs a command and returns its cost. The output goes to a file. If the command fails, the
// error contains the end of the output. If it takes too long, the error is errTimeout.
func (b *bench) run(args ...string) (cost, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	log, err := os.Create(filepath.Join(b.dir, "..", b.log))
	if err != nil {
		return cost{}, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.dir, b.env, log, log
	killTogether(cmd)
	start := time.Now()
	var alone own
	if err = cmd.Start(); err == nil {
		alone = watch(cmd.Process.Pid)
		err = cmd.Wait()
	}
	wall := time.Since(start)
	switch {
	case ctx.Err() != nil:
		return cost{}, errTimeout
	case cmd.ProcessState == nil:
		return cost{}, err
	case err != nil:
		return cost{}, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(log.Name()))
	}
	return cost{
		wall: wall,
		cpu:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		peak: peakMemory(cmd.ProcessState),
		own:  alone,
	}, nil
}

// tail returns the last part of the file with a command's output.
func tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-800):])
}

// startUp returns the cost of starting the program: the lowest of ten runs of "tofu version".
func (b *bench) startUp() (cost, error) {
	least, err := b.run("version")
	for range 9 {
		if err != nil {
			break
		}
		var c cost
		c, err = b.run("version")
		least = least.least(c)
	}
	return least, err
}
