//go:build unix

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// signals holds the signals by name. PIPE is not sent directly. Instead, the reader of the
// program's output closes the pipe.
var signals = map[string]syscall.Signal{
	"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "PIPE": 0,
}

// atRandomTimes runs operations with a slow provider, and interrupts them with each signal.
func (o *options) atRandomTimes(report func(string, *tally)) error {
	for _, op := range o.operations() {
		for _, sig := range o.signals {
			sum := &tally{}
			for range o.runs {
				if err := o.interrupted(op, sig, sum); err != nil {
					return err
				}
			}
			report(sig+" "+op.name, sum)
		}
	}
	return nil
}

// interrupted performs one run that is interrupted by a signal. It returns an error if the run
// can't be performed.
func (o *options) interrupted(op operation, sig string, sum *tally) error {
	t, err := o.newTrial(o.objects)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.top)
	slow := t.with("FILES_DELAY_MS=60")
	if op.before != nil {
		if err := slow.must(op.before...); err != nil {
			return err
		}
	}
	sum.runs++
	killed, err := slow.interrupt(op.name, signals[sig], t.calls(op.name)+1+o.random.IntN(t.objects*3/4), op.args)
	if err != nil {
		sum.problem("%v", err)
	}
	limit := time.Now()
	if sig == "KILL" {
		limit = killed.Add(-100 * time.Millisecond)
	}
	t.judge(sum, limit, sig != "KILL")
	t.finish(op, sum)
	return nil
}

// calls returns the number of calls of an operation that the provider has begun.
func (t *trial) calls(op string) int {
	log, err := os.ReadFile(filepath.Join(t.top, "calls"))
	if err != nil {
		return 0 // no calls yet
	}
	return bytes.Count(log, []byte("begin "+op+" "))
}

// awaitCalls waits until the provider has begun the given number of calls of an operation, or the
// program has ended, for at most a minute.
func (t *trial) awaitCalls(op string, calls int, ended <-chan struct{}) {
	deadline := time.Now().Add(60 * time.Second)
	for t.calls(op) < calls && time.Now().Before(deadline) {
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// interrupt runs a command and interrupts it when the provider has begun the given number of calls.
// It returns the time of the interrupt.
func (t *trial) interrupt(op string, sig syscall.Signal, calls int, args []string) (at time.Time, err error) {
	cmd := t.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return at, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return at, err
	}
	go io.Copy(io.Discard, output)
	ended := make(chan struct{})
	go func() {
		_, _ = cmd.Process.Wait() // cmd.Wait would close the pipe
		close(ended)
	}()
	t.awaitCalls(op, calls, ended)
	at = time.Now()
	if sig == 0 {
		output.Close()
	} else {
		_ = syscall.Kill(cmd.Process.Pid, sig) // an error means that the program has already ended
	}
	select {
	case <-ended:
	case <-time.After(90 * time.Second):
		err = errors.New("the program did not end within 90 s")
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	time.Sleep(400 * time.Millisecond) // gives remaining plugins time to finish
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	output.Close()
	return at, err
}
