// Command tofu plans and applies configurations.
package main

import (
	"os"

	"tofu/internal/command"
	"tofu/internal/lang/funcs"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

func main() { os.Exit(run(command.NewApp)) }

// run runs the program and returns its exit status. Tests call it too.
func run(newApp func(*terminal.Streams, []string) *command.App) (status int) {
	collectLater()
	funcs.LimitOperators()
	defer func() {
		if problem := recover(); problem != nil {
			status = command.ReportCrash(os.Stderr, tfdiags.CrashOf(problem))
		}
	}()
	return newApp(terminal.StandardStreams(), os.Environ()).Run(os.Args[1:])
}
