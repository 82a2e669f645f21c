package terminal

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
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// Streams are the process's standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// InTerminal, OutTerminal and ErrTerminal report whether the stream is a terminal. Width is
	// the width of the terminal in columns, or 0 if it is unknown.
	InTerminal, OutTerminal, ErrTerminal bool
	Width                                int
	// Size returns the current size of the terminal, or zeros if it is unknown.
	Size func() (columns, rows int)
}

// StandardStreams returns the streams of this process.
func StandardStreams() *Streams {
	s := &Streams{
		In: os.Stdin, Out: &LossyWriter{W: os.Stdout}, Err: &LossyWriter{W: os.Stderr},
		InTerminal: term.IsTerminal(int(os.Stdin.Fd())), OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.Size = func() (columns, rows int) {
		columns, rows, _ = term.GetSize(int(os.Stdout.Fd()))
		return columns, rows
	}
	if s.OutTerminal {
		s.Width, _ = s.Size()
	}
	return s
}

// Terminal is where a command prints and asks questions.
type Terminal struct {
	*Streams
	Printer  ui.Printer
	Color    bool // output may have colors
	Scripted bool // whether a program reads the output; then no approval is asked for
	// Live shows the progress below all other output. It may be nil.
	Live *progress.Live

	lines lineReader
}

// New returns the terminal of a process with the given streams.
func New(streams *Streams) *Terminal {
	return &Terminal{Streams: streams, lines: lineReader{in: streams.In}}
}

// ReadLine returns the next line of the input without its line ending. It returns io.EOF at the
// end of the input, and the context's error if ctx ends first.
func (t *Terminal) ReadLine(ctx context.Context) (string, error) { return t.lines.next(ctx) }

// LossyWriter writes until the first failure and drops everything after it. So a command
// doesn't end when the reader of its output goes away. LossyWriter keeps any other failure, for
// commands that must not succeed with an incomplete document.
type LossyWriter struct {
	W io.Writer

	mu   sync.Mutex
	gone bool
	err  error
}

// Write implements io.Writer. It never fails.
func (l *LossyWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return len(p), nil
	}
	if _, err := l.W.Write(p); err != nil {
		l.gone = true
		matches := func(left error) bool { return errors.Is(err, left) }
		if !slices.ContainsFunc(readerLeft, matches) {
			l.err = err
		}
	}
	return len(p), nil
}

// Failure returns the error that made the output incomplete. It returns nil if there was no
// error or if the reader has just gone away.
func (l *LossyWriter) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// lineReader reads standard input line by line. A read doesn't delay an interrupt.
type lineReader struct {
	once  sync.Once
	in    io.Reader
	lines chan string
	wants chan struct{}
}

// next returns the next line without its line ending, io.EOF, or the context's error if ctx
// ends first. A read can't be interrupted, so it continues in the background, and the next call
// returns its result.
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
	default: // the request of an earlier call is still pending
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

// Question is a question to the user.
type Question struct {
	Title  string // line in bold
	Text   string // explanation below the title; may have several lines
	Secret bool   // whether to hide the answer

	AnyCase bool // whether "YES" is accepted too; only for questions where nothing can be lost
}

// ErrNoInput reports that questions must not be asked.
var ErrNoInput = errors.New("input is disabled")

// Ask asks the user and returns the answer. The caller checks whether asking is allowed:
// -input=false forbids questions about values, but not about approval.
func (t *Terminal) Ask(ctx context.Context, q Question) (string, error) {
	t.Live.Phase("", 0)
	bold, reset := t.Bold()
	out := t.Prompts()
	fmt.Fprintf(out, "%s%s%s\n", bold, termtext.OneLine(q.Title), reset)
	if q.Text != "" {
		fmt.Fprintf(out, "%s\n", Indent(termtext.Printable(q.Text), "  "))
	}
	fmt.Fprintf(out, "\n  %sEnter a value:%s ", bold, reset)
	answer, err := t.readAnswer(ctx, q.Secret)
	fmt.Fprintln(out)
	switch {
	case err == io.EOF:
		err = ErrInputEnded
	case ctx.Err() != nil:
		err = errors.New("there was an interrupt")
	}
	return answer, err
}

// Prompts returns where questions are printed. A standard output that is no terminal is read by a
// program or kept in a file, so a question there would be missed and would spoil a document.
func (t *Terminal) Prompts() io.Writer {
	if t.OutTerminal {
		return t.Out
	}
	return t.Err
}

// ErrInputEnded reports that the input ended before the user answered.
var ErrInputEnded = errors.New("the input ended before the question was answered")

func (t *Terminal) readAnswer(ctx context.Context, secret bool) (string, error) {
	file, ok := t.In.(*os.File)
	if !ok || !secret || !t.InTerminal {
		return t.ReadLine(ctx)
	}
	answer, err := ReadTerminal(ctx, file, func() (string, error) {
		answer, err := term.ReadPassword(int(file.Fd()))
		return string(answer), err
	})
	fmt.Fprintln(t.Prompts())
	return answer, err
}

// ReadTerminal calls read, which changes the terminal's settings while it reads. If ctx ends
// first, ReadTerminal restores the settings and abandons the read, which can't be interrupted.
func ReadTerminal(ctx context.Context, terminal *os.File, read func() (string, error)) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("reading the terminal's settings: %w", err)
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

// Bold returns the escape sequences that start and end bold text. They are empty without color.
func (t *Terminal) Bold() (on, off string) {
	if !t.Color {
		return "", ""
	}
	return "\x1b[1m", "\x1b[0m"
}

// Styled is text with this program's own colors. Other text that is printed loses such colors,
// because it may come from outside.
type Styled string

// Emphasis returns text in bold, or without a style if colors are off.
func (t *Terminal) Emphasis(text string) Styled {
	on, off := t.Bold()
	return Styled(on + termtext.Printable(text) + off)
}

// Success prints a message whose first sentence is green.
func (t *Terminal) Success(text string) {
	text = termtext.Printable(text)
	if t.Color {
		text = green(text)
	}
	t.Printer.Message(ui.Text{Text: text})
}

func green(text string) string {
	start := len(text) - len(strings.TrimLeft(text, "\n"))
	end := start + strings.IndexAny(text[start:], "!.") + 1
	return text[:start] + "\x1b[32m\x1b[1m" + text[start:end] + "\x1b[0m" + text[end:]
}

// Say prints a formatted line.
func (t *Terminal) Say(format string, args ...any) {
	t.Printer.Message(ui.Text{Text: t.format(format, args)})
}

// Note is like Say, for sentences that have line breaks; see ui.Note.
func (t *Terminal) Note(format string, args ...any) {
	t.Printer.Message(ui.Note{Text: t.format(format, args)})
}

func (t *Terminal) format(format string, args []any) string {
	args = slices.Clone(args)
	for i, arg := range args {
		if text, ok := arg.(string); ok && !t.Scripted { // JSON can hold every character
			args[i] = termtext.Printable(text)
		}
	}
	return fmt.Sprintf(format, args...)
}

// onlyYes is the last line of every question that Confirm asks.
const onlyYes = "Only 'yes' will be accepted to confirm."

// Confirm asks for approval and reports whether the answer was yes. If a program reads the
// output, it returns ErrNoInput.
func (t *Terminal) Confirm(ctx context.Context, q Question) (bool, error) {
	if t.Scripted {
		return false, ErrNoInput
	}
	q.Text = strings.TrimPrefix(q.Text+"\n"+onlyYes, "\n")
	answer, err := t.Ask(ctx, q)
	if err != nil {
		return false, fmt.Errorf("asking for approval: %w", err)
	}
	return answer == "yes" || q.AnyCase && strings.EqualFold(answer, "yes"), nil
}

// Indent returns text with indent before each line that is not empty. It removes line breaks at the
// beginning and end.
func Indent(text, indent string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = indent + l
		}
	}
	return strings.Join(lines, "\n")
}
