package command

import (
	"context"
	"flag"
	"slices"
	"strings"

	"tofu/internal/spelling"
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

	// Flags adds the command's options to the set and returns the struct that they fill; nil means no options.
	Flags func(*flag.FlagSet) any
	// Run does the work; nil means that the command is only a group of others.
	Run func(ctx context.Context, app *App, flags any, args []string) error
	Sub []*Command
	// Complete gives what the argument may be, for shells; nil leaves it to the shell, which knows files.
	Complete func(ctx context.Context, app *App) []string
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

// suggest gives the name in the table that the word was probably meant to be, "" when none is near.
func suggest(table []*Command, word string) string {
	best, distance := "", 4
	for _, c := range table {
		if c.Hidden {
			continue
		}
		d := spelling.Distance(strings.ToLower(word), c.Name, distance)
		if strings.HasPrefix(c.Name, word) {
			d = 0
		}
		if d < distance && d < len(c.Name) {
			best, distance = c.Name, d
		}
	}
	return best
}
