package faults

import (
	"fmt"
	"os"
)

// startsEnv is the environment variable with the path of a file. Each provider process that starts
// appends a line to this file.
const startsEnv = "PROVIDER_STARTS"

// RecordStart appends a line with the name of a provider to the file in PROVIDER_STARTS, if that is
// set. If this fails, the process exits, because the test depends on the line.
func RecordStart(name string) {
	path := os.Getenv(startsEnv)
	if path == "" {
		return
	}
	if err := appendLine(path, name); err != nil {
		fmt.Fprintf(os.Stderr, "recording the start: %s\n", err)
		os.Exit(ExitStatus)
	}
}

// appendLine appends a line to a file. It uses a single write, so that the lines of concurrent
// processes don't mix.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
