// Command tofu plans and applies configurations.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"tofu/internal/command"
	"tofu/internal/version"
)

func main() { os.Exit(run()) }

// run is main with a status, so that the tests can be the program too.
func run() (status int) {
	collectLater()
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(os.Stderr, crashText, problem, version.Own, debug.Stack())
			status = 11
		}
	}()
	return command.NewApp(command.StandardStreams(), os.Environ()).Run(os.Args[1:])
}

const crashText = `
This is a bug in tofu, not in your configuration: %v

What was done so far is recorded beside the state; the next command picks it up.
Please report the bug with the text below, after removing what is confidential.

version %s
%s
`
