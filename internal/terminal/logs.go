package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"tofu/internal/ui/termtext"
)

// logLevels maps the values of the environment variables for logs to levels.
var logLevels = map[string]hclog.Level{
	"TRACE": hclog.Trace, "DEBUG": hclog.Debug, "INFO": hclog.Info, "WARN": hclog.Warn, "ERROR": hclog.Error,
	"OFF": hclog.Off, "": hclog.Off, "JSON": hclog.Trace,
}

// Logs holds the loggers that the environment variables configure.
type Logs struct {
	Core, Provider *slog.Logger
	Close          func() error
}

// logEnv returns the value and the name of a log variable. TOFU_LOG… takes precedence over TF_LOG….
func logEnv(getenv func(string) string, suffix string) (value, name string) {
	name = "TOFU_LOG" + suffix
	if v := getenv(name); v != "" {
		return v, name
	}
	name = "TF_LOG" + suffix
	return getenv(name), name
}

// LogsOnTerminal reports whether the environment variables send a log to standard error.
func LogsOnTerminal(getenv func(string) string) bool {
	if path, _ := logEnv(getenv, "_PATH"); path != "" {
		return false
	}
	return slices.ContainsFunc([]string{"", "_CORE", "_PROVIDER"}, func(suffix string) bool {
		word, _ := logEnv(getenv, suffix)
		return word != "" && !strings.EqualFold(word, "OFF")
	})
}

// OpenLogs opens the loggers. An unknown level is treated as TRACE. If the log file can't be
// opened, the log is written to stderr. Both problems are reported on stderr.
func OpenLogs(getenv func(string) string, stderr io.Writer) *Logs {
	out, closeFile := stderr, func() error { return nil }
	if path, variable := logEnv(getenv, "_PATH"); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintf(stderr, "The log is written to standard error, because the file that %s names can't be opened: %s\n",
				variable, err)
		} else {
			out, closeFile = file, file.Close
		}
	}
	reported := false
	writing := &sync.Mutex{}
	logger := func(name, suffix string) *slog.Logger {
		word, variable := logEnv(getenv, suffix)
		if word == "" {
			word, variable = logEnv(getenv, "")
		}
		level, ok := logLevels[strings.ToUpper(word)]
		if !ok {
			level = hclog.Trace
			if !reported {
				reported = true
				fmt.Fprintf(stderr, "[WARN] %s: %q is not a log level, so TRACE is used. The levels are TRACE, DEBUG, "+
					"INFO, WARN, ERROR and OFF; JSON means TRACE in JSON form.\n", variable, word)
			}
		}
		asJSON := strings.EqualFold(word, "JSON")
		return slog.New(&logHandler{raw: asJSON, to: hclog.New(&hclog.LoggerOptions{
			Name: name, Level: level, Output: out, Mutex: writing, JSONFormat: asJSON,
		})})
	}
	return &Logs{Core: logger("", "_CORE"), Provider: logger("provider", "_PROVIDER"), Close: closeFile}
}

// logHandler writes records in the format of hclog, because programs that run this one parse
// the log:
//
//	2026-11-23T17:16:20.333Z [INFO]  name: message: key=value
type logHandler struct {
	to     hclog.Logger
	prefix string // names of open groups, each followed by a dot
	raw    bool   // the output can hold every character
}

// hclogLevel converts a level of slog to one of hclog.
func hclogLevel(level slog.Level) hclog.Level {
	switch {
	case level < slog.LevelDebug:
		return hclog.Trace
	case level < slog.LevelInfo:
		return hclog.Debug
	case level < slog.LevelWarn:
		return hclog.Info
	case level < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return hclogLevel(level) >= h.to.GetLevel()
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	args := make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(attr slog.Attr) bool {
		args = h.append(args, attr)
		return true
	})
	h.to.Log(hclogLevel(r.Level), h.printable(r.Message), args...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, attr := range attrs {
		args = h.append(args, attr)
	}
	return &logHandler{to: h.to.With(args...), prefix: h.prefix, raw: h.raw}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{to: h.to, prefix: h.prefix + name + ".", raw: h.raw}
}

func (h *logHandler) append(args []any, attr slog.Attr) []any {
	value := attr.Value.Resolve().Any()
	switch v := value.(type) {
	case string:
		value = h.printable(v)
	case error:
		value = h.printable(v.Error())
	}
	return append(args, h.prefix+attr.Key, value)
}

// printable returns text from a provider or another source, to be shown in a terminal.
func (h *logHandler) printable(text string) string {
	if h.raw {
		return text
	}
	return termtext.Printable(text)
}
