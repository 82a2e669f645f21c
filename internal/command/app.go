package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"tofu/internal/cliconfig"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
	"tofu/internal/version"
)

// App runs a command.
type App struct {
	*session.Session
	Automated bool // whether to print no hints on what to run next
	view      viewFlags
	planView  ui.PlanTextView
	ours      bool                // OpenTofu doesn't have the command
	found     tfdiags.Diagnostics // problems of the CLI configuration
	nowhere   error               // why the working directory is not known
}

// NewApp reads the CLI configuration, opens the logs and returns the App of this process.
func NewApp(streams *terminal.Streams, environ []string) *App {
	a := &App{}
	cli, err := cliconfig.Load(a.found.Add)
	a.found = a.found.AppendError(err)
	a.open(session.NewProcess(environ, cli, streams.Err), terminal.New(streams))
	return a
}

// open opens the session in the present working directory.
func (a *App) open(p *session.Process, t *terminal.Terminal) {
	workDir, err := os.Getwd()
	if err != nil {
		a.nowhere = fmt.Errorf("determining the working directory: %w", err)
	}
	a.Session = session.New(p, workDir, t)
	a.Moves = &session.MoveFinisher{Finish: a.finishMoves}
	a.Automated = a.Env("TF_IN_AUTOMATION") != ""
	a.setView(viewFlags{ConsolidateWarnings: true})
}

// another returns an App without output for another command of this process, in the present working directory and with
// the present environment. They share the clients of backends.
func (a *App) another() *App {
	p := session.NewProcess(os.Environ(), a.CLI, a.Err)
	p.CheckReads = a.CheckReads
	b := &App{}
	b.open(p, terminal.New(&terminal.Streams{Out: io.Discard, Err: a.Err}))
	b.Clients = a.Clients
	return b
}

// exitStatus is an error that only sets the exit status.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError is an error in how a command was called.
type usageError struct{ tfdiags.Diagnostic }

func (e usageError) Error() string { return e.Summary + ": " + e.Detail }

func badUsage(summary, detail string, args ...any) error {
	return usageError{tfdiags.Errorf(summary, detail, args...)}
}

// noArguments returns an error if args is not empty, for commands that take no arguments.
func noArguments(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return badUsage("Too many command line arguments",
		"The command takes only options, no arguments; got %q. To specify a working directory, use the "+
			"global option -chdir.", args[0])
}

// Run runs the program with its arguments and returns the exit status.
func (a *App) Run(args []string) int {
	status := a.run(args)
	for _, w := range []io.Writer{a.Out, a.Err} {
		if lossy, ok := w.(*terminal.LossyWriter); ok && lossy.Failure() != nil {
			fmt.Fprintf(a.Err, "The output is incomplete: %s\n", lossy.Failure())
			status = max(status, 1)
		}
	}
	return status
}

func (a *App) run(args []string) int {
	table := commands()
	if a.Env("COMP_LINE") != "" {
		complete(a, table, args)
		return 0
	}
	global, args, err := parseGlobal(args)
	if global.completion != nil && !global.help {
		err = setCompletion(a.Env("HOME"), *global.completion)
		if err == nil {
			return 0
		}
	}
	if err != nil {
		fmt.Fprintln(a.Err, termtext.OneLine(tfdiags.Sentence(err)))
		return 1
	}
	cmd, path, rest := find(table, args)
	a.ours = own(table, path)
	a.setView(a.view)
	a.plainIfAsked(args)
	if err := a.setup(global.chdir); err != nil {
		fmt.Fprintln(a.Err, termtext.OneLine(tfdiags.Sentence(err)))
		return 1
	}
	defer func() { _ = a.Logs.Close() }()

	switch {
	case global.version:
		cmd, path = cmdVersion, []string{"version"}
	case asksFor(args, "-v", "-version", "--version"): // these options may follow any command
		cmd, path, rest = cmdVersion, []string{"version"}, nil
	case cmd == nil && (global.help || len(args) == 0):
		printHelp(a.Out, table)
		if global.help {
			return 0
		}
		return 127
	case cmd == nil:
		fmt.Fprintln(a.Err, unknownCommand(table, nil, args[0]))
		return 1
	}
	rest, err = argsFromEnv(a.Env, path, rest)
	if err != nil {
		fmt.Fprintln(a.Err, tfdiags.Sentence(err))
		return 1
	}
	if asksFor(rest, "-h", "-help", "--help") || global.help {
		printCommandHelp(a.Out, cmd, path)
		return 0
	}
	if len(cmd.Sub) > 0 && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") { // groups take no arguments
		fmt.Fprintln(a.Err, unknownCommand(cmd.Sub, path, rest[0]))
		return 1
	}
	if cmd.New == nil {
		printCommandHelp(a.Out, cmd, path)
		return 1
	}
	return a.runCommand(cmd, path, rest, global.measure)
}

// plainIfAsked disables colors if an option requests that, so that errors in the options are
// printed without colors too.
func (a *App) plainIfAsked(args []string) {
	if slices.Contains(args, "-no-color") || slices.Contains(args, "--no-color") {
		a.setView(viewFlags{NoColor: true, ConsolidateWarnings: true})
	}
}

// runCommand parses the options, runs the command and reports its error.
func (a *App) runCommand(cmd *Command, path, args []string, measured measureFlags) (status int) {
	a.plainIfAsked(args) // the environment may have added an option that disables colors
	fs := newOptions(cmd.Name)
	run := cmd.New(fs)
	measured.add(fs)
	fs.line = displayFirst(args)
	parseErr := fs.Parse(fs.line)
	closeView, err := a.useOptions(fs)
	defer func() {
		if err := closeView(); err != nil {
			fmt.Fprintf(a.Err, "The file of -json-into is incomplete: %s\n", err)
			status = max(status, 1)
		}
	}()
	if err != nil {
		parseErr = errors.Join(parseErr, err)
	}
	if parseErr != nil {
		text := tfdiags.Sentence(parseErr)
		kind := "write a whole number"
		if strings.Contains(text, "boolean value") {
			kind = "write true or false"
		}
		if !strings.Contains(text, ": parse error") { // an option that can also be given without a value
			text = strings.Replace(text, "Invalid boolean value", "Invalid value", 1)
		}
		text = strings.Replace(text, ": parse error", ": "+kind, 1)
		return a.finish(badUsage("Failed to parse command-line options", "%s%s", text,
			suggestOption(parseErr, strings.Join(path, " "), fs.FlagSet)), path)
	}

	unwatch := a.Interrupts.Watch()
	defer unwatch()
	a.Interrupts.OnInterrupt(a.printInterrupt, a.printFailure)
	endMeasure := func(error) {}
	if !cmd.Outer {
		if endMeasure, err = measure(a.Session, measured, strings.Join(path, " ")); err != nil {
			return a.finish(err, path)
		}
	}
	var problem error
	defer func() { endMeasure(problem) }()
	ctx, cancel := a.Interrupts.Context(context.Background())
	defer cancel()
	defer a.Session.Close()
	err = run(ctx, a, fs.Args())
	if err != nil {
		a.Warnings.Add(lateOptions(fs)...)
	}
	a.Live.Phase("", 0)
	status = a.finish(err, path)
	fmt.Fprint(a.Out, a.Live.Slowest())
	if status == 1 { // other statuses are results, not errors
		problem = err
	}
	return status
}

// lateOptions returns a warning if an option of a command was taken as an argument.
func lateOptions(fs *options) tfdiags.Diagnostics {
	for i, arg := range fs.Args() {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if i > 0 && strings.HasPrefix(arg, "-") && fs.Lookup(name) != nil {
			return tfdiags.Warningf("An option was taken as an argument", "Options come before arguments, and %s comes after %s.",
				arg, fs.Arg(i-1)).List()
		}
	}
	return nil
}

// finish prints the remaining warnings and the errors of a command, and returns the exit status. A
// lock that could not be released makes the command fail, whatever its result is.
func (a *App) finish(err error, path []string) int {
	status := a.report(err, path)
	unreleased := a.Unreleased()
	a.Printer.Diagnostics(tfdiags.FromError(unreleased))
	if unreleased != nil && status != crashStatus {
		return 1
	}
	return status
}

// report prints the remaining warnings and the error of a command, and returns the exit status.
func (a *App) report(err error, path []string) int {
	warnings := a.Warnings.Take()
	var status exitStatus
	var usage usageError
	switch {
	case err == nil, errors.As(err, &status):
		a.Printer.Diagnostics(warnings)
		return int(status)
	case errors.As(err, &usage):
		a.Printer.Diagnostics(warnings.Append(usage.Diagnostic))
		if !a.view.JSON {
			fmt.Fprintf(a.Err, "\nTo list the options, run: tofu %s -help\n", strings.Join(path, " "))
		}
		return 1
	default:
		a.Printer.Diagnostics(warnings.AppendError(err))
		if a.Incomplete != nil {
			a.Printer.Message(*a.Incomplete)
		}
	}
	if crash, ok := crashOf(err); ok {
		return reportCrash(a.Err, "", crash)
	}
	return 1
}

// useOptions applies the options of the command: it sets the printer and whether the user may be
// asked. The returned function ends the display of the progress and closes the file of -json-into.
// It must be called even after an error.
func (a *App) useOptions(o *options) (closeView func() error, err error) {
	closeView = func() error { return nil }
	a.Input = true
	if o.view != nil {
		view := *o.view
		endProgress, progressErr := a.startProgress(&view)
		var viewErr error
		usual := ""
		if a.OutTerminal && a.CLI != nil {
			usual = a.CLI.View
		}
		a.planView, viewErr = view.planTextView(a.Env(planViewEnv), usual)
		a.setView(view)
		closeView = func() error {
			endProgress()
			return nil
		}
		if err := errors.Join(progressErr, viewErr); err != nil {
			return closeView, err
		}
		if view.JSON && view.JSONInto != "" {
			return closeView, errors.New("-json and -json-into can't be used together")
		}
		if view.JSONInto != "" {
			file, err := createInto(view.JSONInto)
			if err != nil {
				return closeView, err
			}
			lossy := &terminal.LossyWriter{W: file}
			closeView = func() error {
				endProgress()
				return errors.Join(lossy.Failure(), file.Close())
			}
			a.Printer = ui.Tee(a.Printer, ui.NewJSON(a.viewOptions(lossy)))
		}
	}
	word := a.Env("TF_INPUT")
	if o.input != nil {
		a.Input = o.input.Allowed && word != "0" && !strings.EqualFold(word, "false")
	}
	if a.view.JSON {
		a.Input = false
	}
	return closeView, nil
}

func (a *App) setView(view viewFlags) {
	a.view = view
	// Human-readable output of OpenTofu's commands keeps its colors in pipes too, because scripts and
	// CI logs expect them.
	a.Color = !view.NoColor && !view.JSON && a.colorful() && (a.OutTerminal || !a.ours)
	a.Scripted = view.JSON
	if view.JSON {
		a.Printer = ui.NewJSON(a.viewOptions(a.Out))
		return
	}
	a.Printer = withDeprecation(ui.NewHuman(a.viewOptions(a.Out)), view.Deprecation)
}

// colorful reports whether the environment allows colors.
func (a *App) colorful() bool { return a.Env("NO_COLOR") == "" && a.Env("TERM") != "dumb" }

func (a *App) viewOptions(out io.Writer) ui.Options {
	return ui.Options{
		Out: out, Err: a.Err, Width: a.Width, ErrWidth: a.Width, Color: a.Color, ErrColor: a.Color,
		Version: version.String, Sources: a.Source,
		CompactWarnings: a.view.CompactWarnings, SeparateWarnings: !a.view.ConsolidateWarnings,
		GroupErrors: a.view.ConsolidateErrors,
		Concise:     a.view.Concise, ShowSensitive: a.view.ShowSensitive,
		Live: a.Live, Terminal: a.OutTerminal && out == a.Out, View: a.planView, CI: termtext.InCI(a.Env),
	}
}

// textOut returns the standard output for whole lines of text for people.
func (a *App) textOut() io.Writer {
	if termtext.InCI(a.Env) {
		return &termtext.LogWriter{W: a.Out}
	}
	return a.Out
}

// stderr returns a printer to standard error, for commands whose standard output is data.
func (a *App) stderr() ui.Printer { return ui.NewHuman(a.viewOptions(a.Err)) }

// onStderr makes the printer of the session write to standard error.
func (a *App) onStderr() { a.Printer = withDeprecation(a.stderr(), a.view.Deprecation) }

// printOnStderr prints diagnostics to standard error.
func (a *App) printOnStderr(diags tfdiags.Diagnostics) { a.stderr().Diagnostics(diags) }

func (a *App) printInterrupt(count int) {
	text := "\nInterrupt received. Nothing new is started.\nAnother interrupt ends tofu at once.\n"
	switch {
	case count == 1 && a.Interrupts.Running.Load() > 0:
		text = "\nInterrupt received. Running operations are being finished and recorded; please wait.\n" +
			"Another interrupt ends tofu at once.\n"
	case count > 1 && a.Interrupts.Recording.Load() > 0:
		text = "\nSecond interrupt received: tofu ends now. It saves the known results,\nbut doesn't wait " +
			"for operations that still run.\n"
	case count > 1:
		text = "\nSecond interrupt received: tofu ends now. There is nothing to save.\nA third one kills it.\n"
	}
	a.Printer.Message(ui.Text{Text: text})
}

// printFailure says why an operation ends early.
func (a *App) printFailure(err error) {
	text := "Results can no longer be recorded in the state: " + tfdiags.Sentence(err) +
		" Running operations are being finished, and no new ones start; please wait."
	a.Printer.Message(ui.Note{Text: "\n" + termtext.Wrap(text, 78) + "\n"})
}

// unknownCommand returns the message for a word that is not in a table of commands. path holds the
// words of the group that the table belongs to.
func unknownCommand(table []*Command, path []string, word string) string {
	whole := func(word string) string { return strings.Join(append(slices.Clone(path), word), " ") }
	hint := ""
	if near := nearestCommand(table, word); near != "" {
		hint = fmt.Sprintf(" Did you mean %q?", whole(near))
	}
	return fmt.Sprintf("There is no command %q.%s To list the commands, run: tofu %s", whole(word), hint,
		whole("-help"))
}

// setup reports problems of the CLI configuration and changes to the -chdir directory.
func (a *App) setup(chdir string) error {
	slog.SetDefault(a.Logs.Core) // packages that are not passed a logger use this one
	if a.nowhere != nil {
		return a.nowhere
	}
	a.printOnStderr(a.found) // standard output may hold a document
	if a.found.HasErrors() {
		// Continue: the other settings are valid, and most commands don't need the CLI
		// configuration.
		fmt.Fprintf(a.Err, "\nWithout these settings of the CLI configuration, tofu may not do "+
			"what you expect.\n\n")
	}
	a.Logs.Core.Info("OpenTofu version: "+version.String, "engine", version.Build())
	a.Logs.Core.Info("Go runtime version: " + runtime.Version())
	if chdir == "" {
		return nil
	}
	if err := os.Chdir(chdir); err != nil {
		return fmt.Errorf("changing to the directory of the option -chdir: %w", err)
	}
	return nil
}

// globals are the options before the command.
type globals struct {
	chdir         string
	help, version bool
	completion    *bool // true to install it, false to uninstall it, nil for neither
	measure       measureFlags
}

func parseGlobal(args []string) (globals, []string, error) {
	var g globals
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := strings.TrimPrefix(strings.TrimPrefix(args[0], "-"), "-")
		dir, isDir := strings.CutPrefix(name, "chdir=")
		profile, isProfile := strings.CutPrefix(name, "profile=")
		switch {
		case isProfile && profile != "":
			g.measure.Profile = profile
		case name == "profile" || isProfile:
			return g, nil, errors.New("the option -profile needs a file; write -profile=FILE")
		case name == "timings":
			g.measure.Timings = true
		case isDir && g.chdir != "":
			return g, nil, errors.New("the option -chdir is given twice")
		case isDir && dir != "":
			g.chdir = dir
		case name == "chdir" || isDir:
			return g, nil, errors.New("the option -chdir needs a directory; write -chdir=DIR")
		case name == "help" || name == "h":
			g.help = true
		case name == "version" || name == "v":
			g.version = true
		case args[0] == "--":
			return g, nil, nil // like other arguments, a word after "--" is not a command
		case name == "install-autocomplete" || name == "uninstall-autocomplete":
			install := name[0] == 'i'
			g.completion = &install
		default:
			return g, nil, misplaced(args) // nil if no command follows; the caller then lists the commands
		}
		args = args[1:]
	}
	return g, args, nil
}

// misplaced returns the error for an option that precedes its command, or nil if no command
// follows.
func misplaced(args []string) error {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return nil
	}
	cmd, path, rest := find(commands(), args[i:])
	if cmd == nil {
		return nil
	}
	nameOf := func(arg string) string {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return name
	}
	name := nameOf(args[0])
	switch near := suggest.Nearest(name, globalNames); near {
	case "":
	case name:
		return fmt.Errorf("the global option -%s takes no value", name)
	default:
		return fmt.Errorf("there is no global option -%s. Did you mean -%s? To list the options, run: "+
			"tofu -help", name, near)
	}
	words := []string{"tofu"}
	var later []string // options of the command
	for _, arg := range args[:i] {
		if slices.Contains(globalNames, nameOf(arg)) {
			words = append(words, arg)
		} else {
			later = append(later, arg)
		}
	}
	return fmt.Errorf("there is no global option %s. Write the options of a command after it: %s",
		args[0], strings.Join(slices.Concat(words, path, later, rest), " "))
}

// globalNames are the names of the options before the command.
var globalNames = []string{"chdir", "help", "version", "timings", "profile"}

// suggestOption returns a line that suggests the most similar option. It returns "" if err doesn't
// report an unknown option, or if no option is similar enough.
func suggestOption(err error, command string, fs *flag.FlagSet) string {
	_, name, ok := strings.Cut(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "\n") // if several errors are joined, use the first
	if name == "chdir" {
		return "\nIt is a global option. Write it before the command:\n\n    tofu -chdir=DIR " + command
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	near := suggest.Nearest(name, names)
	if near == "" || len(near) <= suggest.Distance(name, near, len(near)) {
		return ""
	}
	return "\nDid you mean -" + near + "?"
}

// asksFor reports whether one of the words is among the arguments before "--".
func asksFor(args []string, words ...string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(words, arg) })
}
