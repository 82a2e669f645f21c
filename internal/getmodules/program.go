package getmodules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// run runs a program. If the program fails, the error contains its standard error.
func run(ctx context.Context, env []string, program string, args ...string) error {
	_, err := output(ctx, env, program, args...)
	return err
}

// output is like run, but also returns the program's standard output.
func output(ctx context.Context, env []string, program string, args ...string) (string, error) {
	var out answer
	var errorOutput tail
	err := start(ctx, env, &out, &errorOutput, program, args...)
	return string(out), programError(err, program, string(errorOutput))
}

// watched is like run, for programs that print their progress on standard error.
func (f *fetcher) watched(ctx context.Context, j job, env []string, program string, args ...string) error {
	w := &stepWriter{report: func(step string) {
		if f.progress != nil {
			f.progress(Progress{Source: j.shown, Step: step})
		}
	}}
	err := start(ctx, env, io.Discard, w, program, args...)
	return programError(err, program, string(w.errorOutput)+string(w.line))
}

func start(ctx context.Context, env []string, out, errorOutput io.Writer, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("the program %q must be installed to fetch this module", program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, errorOutput, outputGrace
	return cmd.Run()
}

// Limits for the output of programs. Much of this output comes from remote servers. Longer standard
// output is an error. Only the end of the standard error is kept, because it explains why the
// program failed.
const (
	longestAnswer = 64 << 20
	longestTail   = 64 << 10
)

// answer collects the standard output of a program.
type answer []byte

func (a *answer) Write(p []byte) (int, error) {
	if len(*a)+len(p) > longestAnswer {
		return 0, fmt.Errorf("the output is longer than %d MB", longestAnswer>>20)
	}
	*a = append(*a, p...)
	return len(p), nil
}

// tail keeps the end of a program's output.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if len(*t) > 2*longestTail {
		*t = append((*t)[:0], (*t)[len(*t)-longestTail:]...)
	}
	return len(p), nil
}

// outputGrace limits how long to wait for the output of processes that a program has left running.
// For example, an ssh that waits for an unreachable host outlives the git that was killed.
const outputGrace = 2 * time.Second

// programError returns an error that contains the program's error output or, if that is empty, its
// exit status. If err does not report an exit status, programError returns it unchanged.
func programError(err error, program, text string) error {
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return err
	}
	text = strings.TrimSuffix(strings.TrimSpace(text), ".")
	if text != "" {
		return fmt.Errorf("%s: %s", program, text)
	}
	return fmt.Errorf("%s: %w", program, err)
}

// stepWriter processes a program's standard error. It reports progress such as "Receiving objects:
// 45% (9/20)" and keeps everything else.
type stepWriter struct {
	report      func(step string)
	line        []byte // current line, which is incomplete
	errorOutput tail
}

var stepForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+(\d+%|\d+)`)
})

// Write also splits lines at carriage returns, because programs use these to overwrite a line.
func (w *stepWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		i := bytes.IndexAny(w.line, "\r\n")
		if i < 0 {
			if len(w.line) > longestTail { // too long for a progress message
				_, _ = w.errorOutput.Write(w.line)
				w.line = nil
			}
			return len(p), nil
		}
		line := string(w.line[:i])
		w.line = w.line[i+1:]
		if m := stepForm().FindStringSubmatch(line); m != nil {
			w.report(m[1] + " " + m[2])
		} else {
			_, _ = w.errorOutput.Write([]byte(line + "\n"))
		}
	}
}
