package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/fleet"
	"tofu/internal/parallel"
	"tofu/internal/plugin"
	"tofu/internal/roots"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

var cmdRoots = &Command{
	Name: "roots", Own: true, Short: "Plan and apply many root modules together",
	Long: `
Works on all root modules below a directory in one process: lists them with
their dependencies, and plans, applies or destroys all of them in order. A root
module is a directory with configuration that no other module calls by a
relative path, or one that roots.tofu.hcl declares. It depends on another root module if it has a
terraform_remote_state data source that reads the state of the other one.

The optional file roots.tofu.hcl in the top directory declares what can't be
inferred: names, workspaces, variables, backend settings and tags of root
modules, several root modules that share a directory, and variables that get
outputs of another root module.`,
	Sub: []*Command{cmdRootsApply, cmdRootsDestroy, cmdRootsDrift, cmdRootsGraph, cmdRootsImport, cmdRootsInit, cmdRootsList,
		cmdRootsMove, cmdRootsOutput, cmdRootsPlan, cmdRootsSBOM, cmdRootsSplit, cmdRootsTest, cmdRootsValidate,
		cmdRootsWatch},
}

// workerFlags limit how many root modules are processed at the same time.
type workerFlags struct{ Workers int }

func (f *workerFlags) addWorkers(fs *options) {
	f.Workers = fleet.DefaultRoots
	usage := fmt.Sprintf("Process at most `n` root modules at the same time (default %d).", f.Workers)
	fs.Func("roots", usage, func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("must be a positive whole number")
		}
		f.Workers = n
		return nil
	})
}

// loadEstate finds the root modules below the directories in args, or below the working
// directory. If root modules have errors, the estate still contains all of them; see
// [roots.Load].
func loadEstate(ctx context.Context, app *App, args []string) (*roots.Estate, error) {
	return loadCached(ctx, app, args, nil)
}

// orHere returns directories or, if there are none, the working directory.
func orHere(dirs []string) []string {
	if len(dirs) == 0 {
		return []string{"."}
	}
	return dirs
}

// loadCached is loadEstate with a cache, which may be nil.
func loadCached(ctx context.Context, app *App, args []string, cache *roots.Cache) (*roots.Estate, error) {
	args = orHere(args)
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return nil, badUsage("Option after an argument", "The option %s must come before %s.", arg, args[0])
		}
		if info, err := os.Stat(arg); err == nil && !info.IsDir() {
			return nil, notADirectory(arg)
		}
	}
	app.Live.Phase("Reading the root modules", 0)
	defer app.Live.Phase("", 0)
	defer app.Timings.Phase("reading the root modules")()
	estate, err := roots.LoadCached(ctx, args, cache, func(m session.RootModule) *session.Session {
		// Without Timings: several root modules are read at a time, so their phases would overlap.
		return app.Session.At(m, app.quiet(io.Discard))
	})
	if saveErr := cache.Save(); saveErr != nil {
		app.Logs.Core.Warn("saving what was read of the root modules", "error", saveErr)
	}
	if estate == nil {
		return nil, err
	}
	warnings := estate.Unsure
	if len(estate.Unread) > 0 {
		warnings = append(warnings, unreadFiles(estate.Unread))
	}
	switch {
	case len(warnings) == 0:
	case app.view.JSON:
		app.Printer.Diagnostics(warnings)
	default: // standard output may hold a document
		app.printOnStderr(warnings)
	}
	if err == nil && len(estate.Roots) == 0 {
		return nil, noRoots(estate, args)
	}
	return estate, err
}

// noRoots returns the error about directories without root modules.
func noRoots(estate *roots.Estate, dirs []string) error {
	if len(estate.Unsure) > 0 {
		return tfdiags.Errorf("No root modules", "All directories with configuration in or below %s may be modules of "+
			"others; see the warning.", strings.Join(dirs, ", "))
	}
	return tfdiags.Errorf("No root modules", "No directory with configuration was found in or below %s.",
		strings.Join(dirs, ", "))
}

// notADirectory returns the error about a file where a command takes directories.
func notADirectory(path string) error {
	if fleet.IsFile(path) {
		return badUsage("Not a directory", "%s is a saved plan. To apply it or to show it, run: "+
			"tofu roots apply %[1]s, or tofu show %[1]s.", path)
	}
	return badUsage("Not a directory", "%s is a file. The arguments must be directories: the command finds the root "+
		"modules in and below them.", path)
}

// unreadFiles returns the warning about roots.tofu.hcl files that are ignored.
func unreadFiles(paths []string) tfdiags.Diagnostic {
	const most = 10
	lines := paths
	if n := len(paths) - most; n > 0 {
		lines = append(slices.Clone(paths[:most]), fmt.Sprintf("and %d more", n))
	}
	dir := filepath.Dir(paths[0])
	return tfdiags.Warningf("Unread "+rootsfile.FileName, "The file is read only in the working directory, or in "+
		"the directories that are arguments of the command. These files are not read:\n  - %s\nTheir root modules are "+
		"found, but without the settings in the files. To use a file, name its directory, such as: tofu roots list %s",
		strings.Join(lines, "\n  - "), dir)
}

// quiet returns a terminal without input that prints to out. The options of the command select
// the form of the output.
func (a *App) quiet(out io.Writer) *terminal.Terminal {
	t := terminal.New(&terminal.Streams{In: strings.NewReader(""), Out: out, Err: out, Width: a.Width})
	t.Color, t.Scripted = a.Color, true
	opts := a.viewOptions(out)
	opts.Err, opts.Live = out, nil
	if a.view.JSON {
		t.Printer = ui.NewJSON(opts)
	} else {
		t.Printer = withDeprecation(ui.NewHuman(opts), a.view.Deprecation)
	}
	return t
}

// at returns an App that runs commands in a root module and prints to out.
func (a *App) at(r *roots.Root, out io.Writer, times *timings.Recorder) *App {
	m := r.Module()
	m.Timings = times
	s := a.Session.At(m, a.quiet(out))
	return &App{Session: s, Automated: true, view: a.view, planView: a.planView}
}

var cmdRootsList = &Command{
	Name: "list", Args: "[DIR...]", Short: "List the root modules and their dependencies",
	Long: "Lists the root modules below the directories. \"A needs B\" means that A reads outputs of B or " +
		"comes after it.",
	New: with(func(f *rootsListFlags, fs *options) {
		f.viewFlags.add(fs)
		f.documentFlags.add(fs)
		f.addSelect(fs)
	}, runRootsList),
}

type rootsListFlags struct {
	viewFlags
	documentFlags
	selectFlags
}

func runRootsList(ctx context.Context, app *App, f *rootsListFlags, args []string) error {
	estate, selected, err := f.find(ctx, app, args)
	if estate == nil {
		return err
	}
	into, openErr := f.documentFlags.open()
	if openErr != nil {
		return openErr
	}
	if into != nil {
		err = tfdiags.Join(err, writeEstate(into, estate, selected), into.Close())
	}
	if f.Document {
		return tfdiags.Join(err, writeEstate(app.Out, estate, selected))
	}
	for _, r := range selected {
		line := r.Name
		switch needs := estate.Needs(r); {
		case r.Err != nil:
			line += " (can't be read)"
		case len(needs) > 0:
			line += " needs " + namesOf(needs)
		}
		app.Say("%s", line)
	}
	if len(estate.Called) > 0 {
		app.printOnStderr(tfdiags.Warningf("Lock files of called modules", "These directories have a lock file, but "+
			"other modules call them, so they are not root modules: %s. If one is a root module, too, declare it in %s.",
			someOf(estate.Called), rootsfile.FileName).List())
	}
	return err
}

func namesOf(list []*roots.Root) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}

// The JSON form of the list of root modules.
type (
	estateDocument struct {
		FormatVersion string         `json:"format_version"`
		Roots         []rootDocument `json:"roots"`
	}
	rootDocument struct {
		Name      string         `json:"name"`
		Dir       string         `json:"dir"`
		Workspace string         `json:"workspace,omitempty"` // name of the workspace set in roots.tofu.hcl
		State     string         `json:"state,omitempty"`
		Tags      []string       `json:"tags"`
		Outputs   []string       `json:"outputs"`
		Needs     []string       `json:"needs"`
		Reads     []readDocument `json:"reads"`
		Error     string         `json:"error,omitempty"`
	}
	readDocument struct {
		Kind    roots.ReadKind `json:"kind"`
		User    string         `json:"user,omitempty"` // data source or variable that uses the outputs
		At      string         `json:"at"`
		Root    string         `json:"root,omitempty"`
		Outputs []string       `json:"outputs"` // null means all outputs
	}
)

// writeEstate writes the list of root modules as a JSON document.
func writeEstate(w io.Writer, estate *roots.Estate, selected []*roots.Root) error {
	doc := estateDocument{FormatVersion: "1.0", Roots: []rootDocument{}}
	for _, r := range selected {
		one := rootDocument{Name: r.Name, Dir: r.Dir, State: string(r.State), Tags: []string{}, Outputs: []string{},
			Needs: []string{}, Reads: []readDocument{}}
		one.Tags, one.Outputs = append(one.Tags, r.Tags()...), append(one.Outputs, r.Outputs...)
		if r.Declared != nil {
			one.Workspace = r.Declared.Workspace
		}
		for _, need := range estate.Needs(r) {
			one.Needs = append(one.Needs, need.Name)
		}
		for _, read := range r.Reads {
			d := readDocument{Kind: read.Kind, User: read.User, At: tfdiags.Place(read.Range),
				Outputs: read.Outputs.Names}
			if !read.Outputs.All && d.Outputs == nil {
				d.Outputs = []string{}
			}
			if read.Root != nil {
				d.Root = read.Root.Name
			}
			one.Reads = append(one.Reads, d)
		}
		if r.Err != nil {
			one.Error = r.Err.Error()
		}
		doc.Roots = append(doc.Roots, one)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

var cmdRootsOutput = &Command{
	Name: "output", Args: "[DIR...]", Short: "Show the outputs of all root modules",
	Long: "Shows the outputs in the states of all root modules below the directories.",
	New: with(func(f *rootsOutputFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addSensitive(fs)
		f.documentFlags.add(fs)
		f.addSelect(fs)
	}, runRootsOutput),
}

type rootsOutputFlags struct {
	viewFlags
	documentFlags
	selectFlags
}

func runRootsOutput(ctx context.Context, app *App, f *rootsOutputFlags, args []string) error {
	estate, selected, err := f.find(ctx, app, args)
	if estate == nil {
		return err
	}
	defer app.ShareClients()()
	all := make(map[string]json.RawMessage, len(selected))
	shown := false
	for _, r := range selected {
		if r.Err != nil {
			continue // err already contains r.Err
		}
		st, readErr := rootState(ctx, app.at(r, io.Discard, app.Timings).Session)
		if readErr != nil {
			err = tfdiags.Join(err, readErr)
			continue
		}
		outputs := st.Outputs()
		if f.Document {
			var text strings.Builder
			err = tfdiags.Join(err, ui.WriteOutputs(&text, outputs))
			all[r.Name] = json.RawMessage(text.String())
			continue
		}
		if len(outputs) > 0 {
			shown = true
			app.Say("%s\n%s",
				app.Emphasis(r.Name+":"), strings.TrimRight(ui.OutputsText(outputs, f.ShowSensitive), "\n"))
		}
	}
	switch {
	case f.Document:
		enc := json.NewEncoder(app.Out)
		enc.SetIndent("", "  ")
		err = tfdiags.Join(err, enc.Encode(all))
	case !shown && err == nil:
		app.printOnStderr(tfdiags.Warningf("No outputs found", "The states have no outputs. Outputs that the "+
			"configurations declare are added by `tofu roots apply`.").List())
	}
	return err
}

// rootState reads the outputs in the state of a root module. It closes the session.
func rootState(ctx context.Context, s *session.Session) (*states.State, error) {
	defer s.Close()
	open, err := s.OpenState(ctx, session.StateRequest{OnlyOutputs: true})
	if err != nil {
		return nil, err
	}
	return open.State(), open.Close()
}

// rootsJob runs a command in many root modules, several at a time.
type rootsJob struct {
	app     *App
	workers int                  // maximum number of root modules at the same time
	doing   string               // describes the command in the display of progress
	run     func(sub *App) error // runs the command in one root module
}

// each runs the command in the selected root modules below some directories. It prints the outputs
// of the root modules one after the other, sorted by name.
func (j *rootsJob) each(ctx context.Context, f *selectFlags, dirs []string) error {
	app := j.app
	estate, selected, err := f.find(ctx, app, dirs)
	if estate == nil {
		return err
	}
	parsed := estate.Parsed(app.Parser, selected)
	failed, left := 0, 0
	show := parallel.InOrder(func(i int, done rootOutput) {
		if done.skipped {
			left++
		}
		if done.err != nil || done.text.Len() > 0 {
			done.show(app.Terminal, selected[i].Name)
		}
		// Free the source text only now, because showing the errors above needs it.
		parsed.Finished(selected[i])
		if done.failed() {
			failed++
		}
	})
	j.work(ctx, selected, show.Add)
	if failed > 0 {
		app.Say("\n%d of %s failed.", failed, ui.Count(len(selected), "root module"))
	}
	if left > 0 {
		app.Say("\nThe run was interrupted: %d of %s not started.", left, ui.Count(len(selected), "root module"))
	}
	if failed+left > 0 {
		return exitStatus(1)
	}
	return err
}

// work runs the command in the given root modules, and passes each outcome to the function done.
// After an interrupt, it starts no more root modules.
func (j *rootsJob) work(ctx context.Context, selected []*roots.Root, done func(i int, out rootOutput)) {
	app := j.app
	defer app.Session.SharePlugins(&plugin.Shared{})()
	defer app.ShareClients()()
	defer app.Timings.Phase(strings.ToLower(j.doing) + " root modules")()
	app.Live.Phase(j.doing+" root modules", len(selected))
	defer app.Live.Phase("", 0)
	parallel.Each(len(selected), j.workers, func(i int) {
		if ctx.Err() != nil {
			done(i, rootOutput{skipped: true})
			return
		}
		app.Live.Begin(selected[i].Name, j.doing)
		defer app.Live.End(selected[i].Name)
		done(i, j.one(selected[i]))
	})
}

// one runs the command in one root module.
func (j *rootsJob) one(r *roots.Root) (out rootOutput) {
	if r.Err != nil {
		return rootOutput{err: r.Err}
	}
	times, end := j.app.Timings.Root(r.Name)
	defer end()
	sub := j.app.at(r, &out.text, times)
	defer sub.Close()
	out.err = j.run(sub)
	sub.Printer.Diagnostics(sub.Warnings.Take())
	return out
}

// rootOutput holds the output and the error of a command in a root module.
type rootOutput struct {
	text    bytes.Buffer
	err     error
	skipped bool // whether an interrupt kept the command from starting
}

// failed reports whether the command failed.
func (o *rootOutput) failed() bool {
	var status exitStatus
	return o.err != nil && (!errors.As(o.err, &status) || status != 0)
}

// show prints the output and the error of the command below the name of the root module.
func (o *rootOutput) show(t *terminal.Terminal, name string) {
	t.Say("%s", rootHeading(t, name))
	_, _ = t.Out.Write(o.text.Bytes())
	if o.failed() && !errors.As(o.err, new(exitStatus)) {
		t.Printer.Diagnostics(tfdiags.FromError(o.err))
	}
}

// rootHeading returns the heading above the output of a root module.
func rootHeading(t *terminal.Terminal, name string) terminal.Styled {
	return "\n" + t.Emphasis("── "+termtext.OneLine(name)+" ──")
}
