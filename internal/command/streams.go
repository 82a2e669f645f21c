package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"tofu/internal/ui"
)

// Streams are the process's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal and OutTerminal tell whether a person sits there; Width is the terminal's, 0 when it is not known.
	InTerminal, OutTerminal bool
	Width                   int
}

// StandardStreams gives the streams of this process.
func StandardStreams() *Streams {
	s := &Streams{
		In: os.Stdin, Out: &lossyWriter{w: os.Stdout}, Err: &lossyWriter{w: os.Stderr},
		InTerminal: term.IsTerminal(int(os.Stdin.Fd())), OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
	}
	if s.OutTerminal {
		s.Width, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	return s
}

// lossyWriter writes until the first failure and drops what comes later: a reader that went away costs the display and nothing
// else. A failure other than that is kept, so that a document that could not be written makes the command fail in the end.
type lossyWriter struct {
	w io.Writer

	mu   sync.Mutex
	gone bool
	err  error
}

// Write implements io.Writer and never fails.
func (l *lossyWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return len(p), nil
	}
	if _, err := l.w.Write(p); err != nil {
		l.gone = true
		if !slices.ContainsFunc(readerLeft, func(left error) bool { return errors.Is(err, left) }) {
			l.err = err
		}
	}
	return len(p), nil
}

// failure gives the error that made output incomplete, nil when there was none or the reader merely left.
func (l *lossyWriter) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// lineReader reads the standard input line by line without blocking an interrupt.
type lineReader struct {
	once  sync.Once
	in    io.Reader
	lines chan string
	wants chan struct{}
}

// next gives the next line without its end, or io.EOF, or the context's error when that ends first. The reading itself can't be
// broken off, so it goes on in the background and the next call gets its result.
func (r *lineReader) next(ctx context.Context) (string, error) {
	r.once.Do(func() {
		r.lines, r.wants = make(chan string), make(chan struct{}, 1)
		go func() {
			defer close(r.lines)
			buffered := bufio.NewReader(r.in)
			for range r.wants {
				line, err := buffered.ReadString('\n')
				if err != nil && line == "" {
					return
				}
				r.lines <- strings.TrimRight(line, "\r\n")
			}
		}()
	})
	select {
	case r.wants <- struct{}{}:
	default: // an earlier call's request still stands
	}
	select {
	case line, ok := <-r.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// question is something that a person has to be asked.
type question struct {
	Title  string // bold line
	Text   string // explanation below it, possibly of several lines
	Secret bool   // the answer is not shown

	AnyCase bool // YES is a yes as well: nothing is lost by it
}

var errNoInput = errors.New("input is disabled")

// ask puts a question to the user and gives the answer. Whether it may be asked is the caller's to know: -input=false is about
// values, and approval is asked for all the same.
func (a *App) ask(ctx context.Context, q question) (string, error) {
	bold, reset := a.bold()
	fmt.Fprintf(a.Out, "%s%s%s\n", bold, q.Title, reset)
	if q.Text != "" {
		fmt.Fprintf(a.Out, "%s\n", indentText(q.Text, "  "))
	}
	fmt.Fprintf(a.Out, "\n  %sEnter a value:%s ", bold, reset)
	answer, err := a.readAnswer(ctx, q.Secret)
	fmt.Fprintln(a.Out)
	switch {
	case err == io.EOF:
		err = errInputEnded
	case ctx.Err() != nil:
		err = errors.New("there was an interrupt")
	}
	return answer, err
}

// errInputEnded is the error of a question to which the input has no answer.
var errInputEnded = errors.New("the input ended before an answer came")

func (a *App) readAnswer(ctx context.Context, secret bool) (string, error) {
	file, ok := a.In.(*os.File)
	if !ok || !secret || !a.InTerminal {
		return a.lines.next(ctx)
	}
	answer, err := readTerminal(ctx, file, func() (string, error) {
		answer, err := term.ReadPassword(int(file.Fd()))
		return string(answer), err
	})
	fmt.Fprintln(a.Out)
	return answer, err
}

// readTerminal reads in a way that changes the terminal's settings. When ctx ends first they are put back, and the reading, which can't
// be broken off, is left to itself.
func readTerminal(ctx context.Context, terminal *os.File, read func() (string, error)) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("looking at the terminal's settings: %w", err)
	}
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return "", ctx.Err()
	}
}

// bold gives the terminal sequences around emphasised text; empty without colour.
func (a *App) bold() (on, off string) {
	if !a.color() {
		return "", ""
	}
	return "\x1b[1m", "\x1b[0m"
}

// success prints good news, whose first sentence is green.
func (a *App) success(text string) {
	if a.color() {
		text = green(text)
	}
	a.Printer.Message(ui.Text{Text: text})
}

func green(text string) string {
	start := len(text) - len(strings.TrimLeft(text, "\n"))
	end := start + strings.IndexAny(text[start:], "!.") + 1
	return text[:start] + "\x1b[32m\x1b[1m" + text[start:end] + "\x1b[0m" + text[end:]
}
