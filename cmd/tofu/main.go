// Command tofu plans and applies configurations.
package main

import (
	"os"

	"tofu/internal/command"
	"tofu/internal/lang/funcs"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

func main() { os.Exit(run()) }

// run runs the program and returns its exit status. Tests call it too.
func run() (status int) {
	collectLater()
	funcs.LimitOperators()
	defer func() {
		if problem := recover(); problem != nil {
			status = command.ReportCrash(os.Stderr, tfdiags.CrashOf(problem))
		}
	}()
	return command.NewApp(terminal.StandardStreams(), os.Environ()).Run(os.Args[1:])
}
