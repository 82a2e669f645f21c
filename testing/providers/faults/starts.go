package faults

import (
	"fmt"
	"os"
)

// startsEnv names the file to which each process of a test provider appends a line when it starts.
const startsEnv = "PROVIDER_STARTS"

// RecordStart appends the name of a provider, as a line, to the file that PROVIDER_STARTS names. If
// it can't be written, the process ends, because the test depends on it.
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

// appendLine appends a line to a file with a single write, so lines of several processes don't mix.
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
