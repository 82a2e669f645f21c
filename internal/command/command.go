package command

import (
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"tofu/internal/suggest"
)

// Command is one word of the command line.
type Command struct {
	Name    string
	Aliases []string
	Args    string // the arguments after the options, as help shows them
	Short   string // one line for the list of commands
	Long    string // the help page's text, wrapped already
	Hidden  bool   // not listed
	Main    bool   // listed among the main commands

	// New declares the command's options and returns the function that runs the command with them; nil
	// for a group of commands. See with.
	New func(*options) runFunc
	Sub []*Command
	// Complete gives what the argument may be, for shells; nil leaves it to the shell, which knows files.
	Complete func(ctx context.Context, app *App) []string
}

// options is the set of a command's options. Groups of options that concern how commands are run
// register themselves when they are declared.
type options struct {
	*flag.FlagSet
	view  *viewFlags // nil: nothing to say about how output looks
	input *inputFlag // nil: the command asks no questions
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

// with returns the New function of a command with options of type F: declare adds them to the set, and
// run runs the command with their values.
func with[F any](declare func(*F, *options), run func(context.Context, *App, *F, []string) error) func(*options) runFunc {
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
		cmdConsole, cmdEnv, cmdFmt, cmdForceUnlock, cmdGet, cmdGraph, cmdImport, cmdLogin, cmdLogout, cmdMetadata, cmdOutput, cmdProviders, cmdRefresh, cmdShow, cmdState, cmdTaint, cmdTest, cmdUntaint, cmdUpdate, cmdVersion,
		cmdWorkspace,
	}
}

// find gives the command that args begin with, the words that led to it, and what is left of args.
func find(table []*Command, args []string) (cmd *Command, path, rest []string) {
	for len(args) > 0 {
		i := slices.IndexFunc(table, func(c *Command) bool { return c.Name == args[0] || slices.Contains(c.Aliases, args[0]) })
		if i < 0 {
			break
		}
		cmd = table[i]
		path, args, table = append(path, cmd.Name), args[1:], cmd.Sub
	}
	return cmd, path, args
}

// nearestCommand returns the name in the table that is most like word, or "" if none is near.
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
