package command

import (
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"tofu/internal/suggest"
)

// Command is a command or a group of commands.
type Command struct {
	Name    string
	Aliases []string
	Args    string // arguments after the options, as shown in help
	Short   string // one line for the list of commands
	Long    string // text of the help page, already wrapped
	Hidden  bool   // whether help omits the command
	Main    bool   // whether help lists it among the main commands
	Own     bool   // whether OpenTofu lacks it and its Sub, so that no program needs colors of it in pipes
	Outer   bool   // whether it runs other commands, which are measured instead of it

	// New declares the options of the command and returns the function that runs the command with
	// them; see the function with. New is nil for a group of commands.
	New func(*options) runFunc
	Sub []*Command
	// Complete returns the possible values of the first argument for shell completion, or of all
	// arguments if CompleteAll is set. If it is nil, shells complete file names.
	Complete    completer
	CompleteAll bool
}

// options is the set of a command's options. Groups of options that App itself needs set a field
// here when they are declared.
type options struct {
	*flag.FlagSet
	view  *viewFlags // nil if the command has no output options
	input *inputFlag // nil if the command never asks the user
	line  []string   // what is parsed, for commands that pass it on to other processes
}

func newOptions(name string) *options {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return &options{FlagSet: fs}
}

// given reports whether an option was on the command line.
func (o *options) given(name string) bool {
	found := false
	o.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// runFunc runs a command with its arguments.
type runFunc func(ctx context.Context, app *App, args []string) error

// with returns a New function for a command with options of type F: declare adds the options to
// the set, and run runs the command with their values.
func with[F any](
	declare func(*F, *options), run func(context.Context, *App, *F, []string) error,
) func(*options) runFunc {
	return func(o *options) runFunc {
		f := new(F)
		declare(f, o)
		return func(ctx context.Context, app *App, args []string) error { return run(ctx, app, f, args) }
	}
}

// commands lists everything that can follow `tofu`.
func commands() []*Command {
	return []*Command{
		cmdInit, cmdValidate, cmdPlan, cmdApply, cmdDestroy,
		cmdAdopt, cmdApprove, cmdCompletion, cmdConsole, cmdDrift, cmdEnv, cmdExplain, cmdFmt, cmdForceUnlock,
		cmdGet, cmdGraph, helpCommand(), cmdImport, cmdLogin, cmdLogout, cmdMetadata, cmdMigrate, cmdModules,
		cmdOutput, cmdProviders, cmdQuery, cmdRefresh, cmdRoots, cmdRuns, cmdSBOM, cmdServe, cmdShow, cmdState,
		cmdTaint, cmdTest, cmdUntaint, cmdUpdate, cmdVersion, cmdWorker, cmdWorkspace,
	}
}

// find returns the command that args begin with, its path, and the remaining args. The command is
// nil if args begin with none of the table.
func find(table []*Command, args []string) (cmd *Command, path, rest []string) {
	for len(args) > 0 {
		i := slices.IndexFunc(table,
			func(c *Command) bool { return c.Name == args[0] || slices.Contains(c.Aliases, args[0]) })
		if i < 0 {
			break
		}
		cmd = table[i]
		path, args, table = append(path, cmd.Name), args[1:], cmd.Sub
	}
	return cmd, path, args
}

// own reports whether a command or a group that it is in is one that OpenTofu lacks.
func own(table []*Command, path []string) bool {
	for i := range path {
		if cmd, _, _ := find(table, path[:i+1]); cmd.Own {
			return true
		}
	}
	return false
}

// nearestCommand returns the name in the table that is most similar to word, or "" if none is
// similar enough.
func nearestCommand(table []*Command, word string) string {
	best, distance := "", 4
	for _, c := range table {
		if c.Hidden {
			continue
		}
		d := suggest.Distance(strings.ToLower(word), c.Name, distance)
		if strings.HasPrefix(c.Name, word) {
			d = 0
		}
		if d < distance && d < len(c.Name) {
			best, distance = c.Name, d
		}
	}
	return best
}
