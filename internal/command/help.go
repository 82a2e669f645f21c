package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"tofu/internal/terminal"
	"tofu/internal/version"
)

const programWord = "tofu [global options] "

// globalOptions are the options before the command.
var globalOptions = []option{
	{"-chdir=DIR", "Run as if in the directory DIR."},
	{"-help", "Show this page, or the help of a command."},
	{"-profile=FILE", `Write a CPU profile for "go tool pprof". The environment variable TOFU_CPU_PROFILE does ` +
		"the same."},
	{"-timings", "Show at the end where the time went: phases, provider calls, waits, the slowest instances and " +
		"the critical path."},
	{"-version", `Do the same as the command "version".`},
}

// helpCommand returns the command "help". It is no variable, because its function needs the table of
// commands, which contains it.
func helpCommand() *Command {
	return &Command{
		Name: "help", Own: true, Args: "[COMMAND]", Short: "Show the commands, or the help of a command",
		Long: `
Lists the commands or, with the words of a command such as "state mv", shows
what the command does and its options. COMMAND -help does the same.`,
		New:      with(func(f *viewFlags, fs *options) { f.add(fs) }, runHelp),
		Complete: func(context.Context, *App, string) []string { return commandNames(commands()) },
	}
}

func runHelp(_ context.Context, app *App, _ *viewFlags, args []string) error {
	table := commands()
	if len(args) == 0 {
		printHelp(app.Out, table)
		return nil
	}
	cmd, path, rest := find(table, args)
	if len(rest) > 0 {
		if cmd != nil {
			table = cmd.Sub
		}
		fmt.Fprintln(app.Err, unknownCommand(table, path, rest[0]))
		return exitStatus(1)
	}
	printCommandHelp(app.Out, cmd, path)
	return nil
}

// printHelp prints the list of all commands.
func printHelp(w io.Writer, table []*Command) {
	fmt.Fprintf(w, "Usage: %sCOMMAND [options] [arguments]\n\n%s %s is an infrastructure engine of its own, compatible with "+
		"OpenTofu %s.\n\nMain commands:\n", programWord, version.Name, version.Own, version.String)
	listCommands(w, "  ", table, func(c *Command) bool { return c.Main })
	fmt.Fprint(w, "\nAll other commands:\n")
	listCommands(w, "  ", table, func(c *Command) bool { return !c.Main })
	fmt.Fprint(w, "\nGlobal options, before the command:\n")
	listOptions(w, globalOptions)
}

func listCommands(w io.Writer, indent string, table []*Command, want func(*Command) bool) {
	width := 0
	for _, c := range table {
		if want(c) && !c.Hidden {
			width = max(width, len(c.Name))
		}
	}
	for _, c := range table {
		if want(c) && !c.Hidden {
			fmt.Fprintf(w, "%s%-*s  %s\n", indent, width, c.Name, c.Short)
		}
	}
}

// printCommandHelp prints the help of one command. The options come from its flag set, so they are
// always up to date.
func printCommandHelp(w io.Writer, cmd *Command, path []string) {
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", usage(cmd, path), terminal.Indent(cmd.Long, "  "))
	if len(cmd.Sub) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
		listCommands(w, "    ", cmd.Sub, func(*Command) bool { return true })
	}
	if cmd.New != nil {
		fmt.Fprint(w, "\nOptions:\n\n")
		listOptions(w, optionsOf(cmd))
	}
}

// usage returns how a command is called.
func usage(cmd *Command, path []string) string {
	line := programWord + strings.Join(path, " ")
	if cmd.New == nil {
		line += " COMMAND [options] [arguments]"
	} else {
		line += " [options]"
	}
	if cmd.Args != "" {
		line += " " + cmd.Args
	}
	return line
}

// option is an option as help shows it: with the name of its value, and what it does.
type option struct{ left, usage string }

// optionsOf returns the documented options of a command. A usage text may contain the name of the
// option's value in backquotes.
func optionsOf(cmd *Command) []option {
	fs := newOptions(cmd.Name)
	cmd.New(fs)
	var all []option
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		if usage == "" {
			return // an undocumented alias or legacy option
		}
		left := "-" + f.Name
		switch {
		case isBoolFlag(f) && f.DefValue == "true":
			left += "=false"
		case !isBoolFlag(f):
			left += "=" + value
		}
		all = append(all, option{left, usage})
	})
	return all
}

// listOptions prints options in two columns.
func listOptions(w io.Writer, all []option) {
	width := 0
	for _, o := range all {
		width = max(width, len(o.left))
	}
	for _, o := range all {
		for i, line := range wrap(o.usage, 78-width-4) {
			left := ""
			if i == 0 {
				left = o.left
			}
			fmt.Fprintf(w, "  %-*s  %s\n", width, left, line)
		}
	}
}

func isBoolFlag(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// wrap breaks text at spaces into lines of at most width characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
