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

// run runs a program and makes its complaints the error.
func run(ctx context.Context, env []string, program string, args ...string) error {
	_, err := output(ctx, env, program, args...)
	return err
}

// output is run for a program whose output is wanted.
func output(ctx context.Context, env []string, program string, args ...string) (string, error) {
	var out, complaints bytes.Buffer
	err := start(ctx, env, &out, &complaints, program, args...)
	return out.String(), complain(err, program, complaints.String())
}

// watched is run for a program that says on its standard error how far it is.
func (f *fetcher) watched(ctx context.Context, j job, env []string, program string, args ...string) error {
	w := &stepWriter{tell: func(step string) {
		if f.progress != nil {
			f.progress(Progress{Source: j.shown, Step: step})
		}
	}}
	err := start(ctx, env, io.Discard, w, program, args...)
	return complain(err, program, w.complaints.String()+string(w.line))
}

func start(ctx context.Context, env []string, out, complaints io.Writer, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("the program %q must be installed to fetch this module", program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, out, complaints, lastWords
	return cmd.Run()
}

// lastWords is how long the output is read of what a program started and didn't end, when it has ended itself: an ssh that waits for a
// host that is away outlives the git that was killed.
const lastWords = 2 * time.Second

// complain prefers what a program said over its exit status.
func complain(err error, program, text string) error {
	var status *exec.ExitError
	if !errors.As(err, &status) {
		return err
	}
	if text = strings.TrimSuffix(strings.TrimSpace(text), "."); text != "" {
		return fmt.Errorf("%s: %s", program, text)
	}
	return fmt.Errorf("%s: %w", program, err)
}

// stepWriter takes a program's standard error: steps like "Receiving objects:  45% (9/20)" are told, the rest is kept.
type stepWriter struct {
	tell       func(step string)
	line       []byte // not complete yet
	complaints bytes.Buffer
}

var stepForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+(\d+%|\d+)`)
})

// Write splits at carriage returns too, with which programs write a line again.
func (w *stepWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	for {
		i := bytes.IndexAny(w.line, "\r\n")
		if i < 0 {
			return len(p), nil
		}
		line := string(w.line[:i])
		w.line = w.line[i+1:]
		if m := stepForm().FindStringSubmatch(line); m != nil {
			w.tell(m[1] + " " + m[2])
		} else {
			w.complaints.WriteString(line + "\n")
		}
	}
}
