package main

import (
	"io"
	"os"
	"strings"

	"tofu/internal/command"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

// crashing runs the program. Its standard output panics when the text in the environment variable
// CRASH is written to it.
func crashing() {
	os.Exit(func() (status int) {
		defer func() {
			if problem := recover(); problem != nil {
				status = command.ReportCrash(os.Stderr, tfdiags.CrashOf(problem))
			}
		}()
		streams := terminal.StandardStreams()
		streams.Out = &crashWriter{streams.Out, os.Getenv("CRASH")}
		return command.NewApp(streams, os.Environ()).Run(os.Args[1:])
	}())
}

type crashWriter struct {
	io.Writer
	at string
}

func (w *crashWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.at) {
		panic("lost my way")
	}
	return w.Writer.Write(p)
}
