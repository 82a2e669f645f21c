package plugin

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// logLevels maps the levels of hclog, the log library of plugins, to those of slog.
var logLevels = map[hclog.Level]slog.Level{
	hclog.NoLevel: slog.LevelDebug,
	hclog.Trace:   slog.LevelDebug - 4,
	hclog.Debug:   slog.LevelDebug,
	hclog.Info:    slog.LevelInfo,
	hclog.Warn:    slog.LevelWarn,
	hclog.Error:   slog.LevelError,
}

// logger passes the lines that go-plugin reads from a plugin's standard error on to slog. It is
// needed because go-plugin supports only its own log library.
type logger struct {
	to   *slog.Logger
	name string
	args []any
}

func newLogger(to *slog.Logger, kind, name string) *logger {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return &logger{to: to.With(kind, name)}
}

func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	if level != hclog.Off {
		l.to.Log(context.Background(), logLevels[level], msg, args...)
	}
}

func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *logger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *logger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) enabled(level hclog.Level) bool {
	return l.to.Enabled(context.Background(), logLevels[level])
}

func (l *logger) IsTrace() bool { return l.enabled(hclog.Trace) }
func (l *logger) IsDebug() bool { return l.enabled(hclog.Debug) }
func (l *logger) IsInfo() bool  { return l.enabled(hclog.Info) }
func (l *logger) IsWarn() bool  { return l.enabled(hclog.Warn) }
func (l *logger) IsError() bool { return l.enabled(hclog.Error) }

// GetLevel returns the lowest level that is logged. If nothing is logged, it returns Off, so that
// go-plugin doesn't parse the lines.
func (l *logger) GetLevel() hclog.Level {
	for _, level := range []hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error} {
		if l.enabled(level) {
			return level
		}
	}
	return hclog.Off
}

func (l *logger) SetLevel(hclog.Level) {}

func (l *logger) Name() string       { return l.name }
func (l *logger) ImpliedArgs() []any { return l.args }

func (l *logger) With(args ...any) hclog.Logger {
	return &logger{to: l.to.With(args...), name: l.name, args: append(append([]any(nil), l.args...), args...)}
}

func (l *logger) Named(name string) hclog.Logger {
	return &logger{to: l.to, name: strings.TrimPrefix(l.name+"."+name, "."), args: l.args}
}

func (l *logger) ResetNamed(name string) hclog.Logger {
	return &logger{to: l.to, name: name, args: l.args}
}

func (l *logger) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.writer("log"), "", 0)
}

func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return l.writer("log") }

// writer returns a writer that logs each line of a stream, which is "stdout" or "stderr".
func (l *logger) writer(stream string) io.Writer { return &lineWriter{log: l, stream: stream} }

type lineWriter struct {
	log    *logger
	stream string
	mu     sync.Mutex
	rest   []byte // incomplete line, of at most longestLine bytes
}

// longestLine is the maximum size of an incomplete line in bytes. Longer lines are logged in parts.
const longestLine = 64 << 10

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := longestLine - len(w.rest); len(line) > room {
			line, rest, ended = p[:room], p[room:], true
		}
		w.rest, p = append(w.rest, line...), rest
		if ended && len(w.rest) > 0 {
			w.log.Debug(string(w.rest), "stream", w.stream)
			w.rest = w.rest[:0]
		}
	}
	return written, nil
}

const (
	tailSize  = 64 << 10
	tailLines = 30
)

// stderrTail keeps the end of a plugin's error output, which may contain the stack trace of a
// panic.
type stderrTail struct {
	mu   sync.Mutex
	text []byte
}

func (t *stderrTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
	return len(p), nil
}

// lastLines is the largest number of lines that errors quote.
const lastLines = 10

// last returns the last lines without log messages, except those about errors.
func (t *stderrTail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.FieldsFunc(string(t.text), func(c rune) bool { return c == '\n' || c == '\r' })
	plain := slices.DeleteFunc(all, func(line string) bool {
		logged := strings.HasPrefix(line, `{"@`) && !strings.Contains(line, `"@level":"error"`)
		return logged || strings.TrimSpace(line) == ""
	})
	return plain[max(len(plain)-lastLines, 0):]
}

// panicText returns the start of the stack trace that the plugin has printed, or "" if there is
// none.
func (t *stderrTail) panicText() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := -1
	for _, mark := range []string{"panic: ", "fatal error: "} {
		if bytes.HasPrefix(t.text, []byte(mark)) {
			start = 0
		} else if i := bytes.LastIndex(t.text, []byte("\n"+mark)); i >= 0 {
			start = max(start, i+1)
		}
	}
	if start < 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(t.text[start:])), "\n")
	if len(lines) > tailLines {
		lines = append(lines[:tailLines], "...")
	}
	return strings.Join(lines, "\n")
}
