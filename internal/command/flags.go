package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tofu/internal/configs/inputs"
	"tofu/internal/pace"
	"tofu/internal/repeat"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// The structs below are groups of options that several commands share. Each has an add method that
// declares them.

// viewFlags control the output of a command.
type viewFlags struct {
	JSON                bool
	JSONInto            string
	NoColor             bool
	CompactWarnings     bool
	ConsolidateWarnings bool
	ConsolidateErrors   bool
	Concise             bool
	ShowSensitive       bool
	Deprecation         string
	Progress            string         // one of progressModes; "" if the command shows no progress
	PlanView            *planViewFlags // nil if the command shows no plans
}

// add declares the options that every command has.
func (f *viewFlags) add(fs *options) {
	fs.view = f
	f.ConsolidateWarnings = true
	fs.BoolFunc("no-color", "Disable terminal escape sequences.", func(text string) error {
		if text != "true" {
			return errors.New("the option takes no value")
		}
		f.NoColor = true
		return nil
	})
	fs.BoolVar(&f.CompactWarnings, "compact-warnings", false,
		"Show warnings as one line each, unless there are errors too.")
	fs.BoolVar(&f.ConsolidateWarnings, "consolidate-warnings", true, "Do not group similar warnings.")
	fs.BoolVar(&f.ConsolidateErrors, "consolidate-errors", false, "Group similar errors.")
	fs.BoolVar(&f.Concise, "concise", false, "Leave out progress messages.")
	fs.Func("deprecation", "Which deprecation warnings to show: `module:all` (the default), module:local (of "+
		"modules with a relative path) or module:none.",
		func(text string) error {
			if !strings.HasPrefix(text, "module:") { // any other value means "all"
				return errors.New("must be module:all, module:local or module:none")
			}
			f.Deprecation = text
			return nil
		})
}

// displayFlags are options that may also follow the arguments of a command, because users append
// them to typed commands.
var displayFlags = []string{"no-color", "compact-warnings", "consolidate-warnings", "consolidate-errors",
	"concise", "deprecation"}

// displayFirst moves the display options to the front.
func displayFirst(args []string) []string {
	var display, rest []string
	for i, arg := range args {
		if arg == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		name, _, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(displayFlags, name) && (hasValue || name != "deprecation") {
			display = append(display, arg)
		} else {
			rest = append(rest, arg)
		}
	}
	return append(display, rest...)
}

// addJSON declares the options of add, and those of commands that print events.
func (f *viewFlags) addJSON(fs *options) {
	f.add(fs)
	fs.BoolVar(&f.JSON, "json", false, "Print JSON, for programs.")
	fs.StringVar(&f.JSONInto, "json-into", "",
		"Write the output of -json to `out.json`, in addition to the human-readable output.")
}

// documentFlags select JSON for commands that print one document rather than events.
type documentFlags struct {
	Document     bool
	DocumentInto string
}

func (f *documentFlags) add(fs *options) {
	fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
	fs.StringVar(&f.DocumentInto, "json-into", "",
		"Write the JSON document to `out.json`, in addition to the human-readable output.")
}

// open opens the file of -json-into, or returns nil without that option. Only the user can read the
// file, because it may contain secrets.
func (f *documentFlags) open() (*os.File, error) {
	switch {
	case f.DocumentInto == "":
		return nil, nil
	case f.Document:
		return nil, badUsage("Incompatible options", "-json and -json-into can't be used together.")
	}
	return createInto(f.DocumentInto)
}

func createInto(path string) (*os.File, error) {
	err := linkedVictim(path, "document", isDocument)
	if err != nil {
		return nil, fmt.Errorf("creating the file of -json-into: %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the file of -json-into: %w", err)
	}
	return file, nil
}

func (f *viewFlags) addSensitive(fs *options) {
	fs.BoolVar(&f.ShowSensitive, "show-sensitive", false, "Show sensitive values.")
}

// varFlags are the values of input variables in command-line order.
type varFlags struct{ session.Variables }

func (f *varFlags) add(fs *options) {
	fs.Func("var", "Set the root module's input variable `name=value`. May be repeated.", func(text string) error {
		f.Vars = append(f.Vars, inputs.Flag{Text: text})
		return nil
	})
	fs.Func("var-file", "Read values of input variables from `filename`, in addition to terraform.tfvars "+
		"and *.auto.tfvars. May be repeated.",
		func(path string) error {
			f.Vars = append(f.Vars, inputs.Flag{File: true, Text: path})
			return nil
		})
}

// duration is an option whose value is a time with a unit.
type duration time.Duration

func (d *duration) String() string { return time.Duration(*d).String() }

// Set implements flag.Value.
func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	if err == nil {
		*d = duration(value)
		return nil
	}
	problem := "a duration is a number with a unit, such as 30s or 10m"
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(text, number)))
	meant := number + cmp.Or(unit, "s")[:1]
	if _, err := time.ParseDuration(meant); err == nil {
		problem = "did you mean " + strconv.Quote(meant) + "? " + tfdiags.Capitalize(problem)
	}
	return errors.New(problem)
}

// lockFlags control the state lock.
type lockFlags struct{ session.LockOptions }

func (f *lockFlags) add(fs *options) {
	fs.BoolVar(&f.Lock, "lock", true, "Do not lock the state. Dangerous when others may run commands in the "+
		"same workspace.")
	fs.Var((*duration)(&f.Timeout), "lock-timeout",
		"Wait up to this `duration` for a state lock that another process holds, such as 30s.")
}

// stateFlags are the path options of the local backend.
type stateFlags struct{ session.StatePaths }

func (f *stateFlags) add(fs *options) {
	f.addIn(fs)
	fs.StringVar(&f.StateOut, "state-out", "",
		"Write the state to `path` instead of -state. For the local backend only.")
	f.addBackup(fs)
}

// addUnused declares the path options of a command that writes no state. The command accepts
// them for compatibility and ignores them.
func (f *stateFlags) addUnused(fs *options) {
	fs.String("state-out", "", "")
	fs.String("backup", "", "")
}

func (f *stateFlags) addIn(fs *options) {
	fs.StringVar(&f.State, "state", "", "Use the state in `path`. For the local backend only.")
}

func (f *stateFlags) addBackup(fs *options) {
	fs.StringVar(&f.Backup, "backup", "", `Keep the previous state in `+"`path`"+
		`; "-" keeps none. For the local backend only.`)
}

// addRemoteVersion declares an option that other programs have for backends that compare
// versions with a server. It has no effect here.
func addRemoteVersion(fs *options) {
	fs.Bool("ignore-remote-version", false, "Has no effect, because no backend compares the version of this program "+
		"with that of a service.")
}

// operationFlags are common to plan, apply, destroy, refresh and import.
type operationFlags struct {
	viewFlags
	varFlags
	lockFlags
	stateFlags
	Input  inputFlag
	Limits pace.Limits
}

func (f *operationFlags) operation() session.OperationOptions {
	return session.OperationOptions{Variables: f.Variables, Paths: f.StatePaths, Lock: f.LockOptions,
		Limits: f.Limits}
}

func (f *operationFlags) add(fs *options) {
	f.addJSON(fs)
	f.addProgress(fs)
	f.varFlags.add(fs)
	f.lockFlags.add(fs)
	f.Input.add(fs)
	addLimits(fs, &f.Limits)
}

// addRetry declares the option to try failed steps of an apply again.
func addRetry(fs *options, times *int) {
	fs.Func("retry", fmt.Sprintf("Try failed steps again up to `n` times, if that is safe: reads, plans, and creations of "+
		"which the provider says that nothing was made. 0 (the default) to %d.", repeat.MaxRetries), func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > repeat.MaxRetries {
			return fmt.Errorf("must be a number from 0 to %d", repeat.MaxRetries)
		}
		*times = n
		return nil
	})
}

// addLimits declares the options that limit the calls of providers.
func addLimits(fs *options, l *pace.Limits) {
	fs.Func("parallelism", "Run at most `n` operations at the same time (by default 10 changes, and more reads). "+
		"\"aws=20,cloudflare=4,10\" gives providers numbers of their own.", l.ParseCalls)
	fs.Func("provider-rate", "Call a provider at most so many times per second, as in `aws=50,cloudflare=4`.", l.ParseRates)
}

// targetFlags limit an operation to parts of the configuration.
type targetFlags struct{ Targets, Excludes, TargetFiles, ExcludeFiles []string }

func (f *targetFlags) add(fs *options) {
	fs.Var((*list)(&f.Targets), "target", "Only this `address` (module, resource or instance) and what it "+
		"depends on. May be repeated.")
	fs.Var((*list)(&f.TargetFiles), "target-file",
		"The addresses in this `file`, one per line, as if each were given with -target.")
	fs.Var((*list)(&f.Excludes), "exclude", "All but this `address` and what depends on it. May be repeated; "+
		"not together with -target.")
	fs.Var((*list)(&f.ExcludeFiles), "exclude-file",
		"The addresses in this `file`, one per line, as if each were given with -exclude.")
}

// inputFlag is the option -input: whether the user may be asked for values.
type inputFlag struct{ Allowed bool }

func (f *inputFlag) add(fs *options) {
	fs.input = f
	fs.BoolVar(&f.Allowed, "input", true, "Do not ask for anything.")
}

// list is the value of an option that may be repeated.
type list []string

// String implements flag.Value.
func (l *list) String() string { return "" }

// Set implements flag.Value.
func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}
