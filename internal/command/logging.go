package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// levelTrace is below slog's own levels.
const (
	levelTrace = slog.LevelDebug - 4
	levelOff   = slog.LevelError + 100
)

var logLevels = map[string]slog.Level{
	"TRACE": levelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError,
	"OFF": levelOff, "": levelOff, "JSON": levelTrace,
}

// logs are the loggers that the environment asks for.
type logs struct {
	Core, Provider *slog.Logger
	close          func() error
}

// logEnv reads one of the log variables: TOFU_LOG… before TF_LOG….
func logEnv(getenv func(string) string, suffix string) string {
	if v := getenv("TOFU_LOG" + suffix); v != "" {
		return v
	}
	return getenv("TF_LOG" + suffix)
}

// openLogs makes the loggers. A level that isn't one means TRACE, since somebody who misspells it wants to see something, and where
// there can't be a log file stderr takes its place; both are told there.
func openLogs(getenv func(string) string, stderr io.Writer) *logs {
	out, closeFile := stderr, func() error { return nil }
	if path := logEnv(getenv, "_PATH"); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(stderr, "The log is written here, since TF_LOG_PATH names no file that can be:", err)
		} else {
			out, closeFile = file, file.Close
		}
	}
	told := false
	logger := func(name, suffix string) *slog.Logger {
		word := logEnv(getenv, suffix)
		if word == "" {
			word = logEnv(getenv, "")
		}
		level, ok := logLevels[strings.ToUpper(word)]
		if !ok {
			level = levelTrace
			if !told {
				told = true
				fmt.Fprintf(stderr, "[WARN] %q is not a log level, so TRACE is used. The levels are TRACE, DEBUG, INFO, WARN, ERROR and OFF; JSON is TRACE as JSON.\n", word)
			}
		}
		options := &slog.HandlerOptions{Level: level, ReplaceAttr: nameTrace}
		if strings.EqualFold(word, "JSON") {
			return slog.New(slog.NewJSONHandler(out, options)).With("@module", name)
		}
		return slog.New(slog.NewTextHandler(out, options)).With("module", name)
	}
	return &logs{Core: logger("tofu", "_CORE"), Provider: logger("provider", "_PROVIDER"), close: closeFile}
}

// nameTrace gives the level below DEBUG its name.
func nameTrace(_ []string, attr slog.Attr) slog.Attr {
	if level, ok := attr.Value.Any().(slog.Level); ok && attr.Key == slog.LevelKey && level <= levelTrace {
		attr.Value = slog.StringValue("TRACE")
	}
	return attr
}
