package command

import (
	"context"
	"fmt"
	"os"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdStateShow = &Command{
	Name: "show", Args: "ADDRESS",
	Short: "Show the attributes of an instance",
	Long:  "Shows the attributes of one resource instance in the state.",
	New: with(func(f *stateShowFlags, fs *options) {
		f.addJSON(fs)
		f.addSensitive(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Read the state from `statefile` instead of the current workspace's.")
	}, runStateShow),
}

type stateShowFlags struct {
	viewFlags
	varFlags
	State string
}

func runStateShow(ctx context.Context, app *App, f *stateShowFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Exactly one argument is required", "State show needs the address of one resource instance.")
	}
	addr, err := addrs.ParseInstanceText(args[0])
	diags := tfdiags.FromError(err)
	if diags.HasErrors() {
		return diags.Err()
	}
	open, more := app.OpenState(ctx, session.StateRequest{Vars: f.Variables, Paths: session.StatePaths{State: f.State}})
	diags = diags.Append(more...)
	if diags.HasErrors() {
		return diags.Err()
	}
	defer app.Release(open)
	if !open.Exists() {
		return diags.Append(noStateFile()).Err()
	}
	inst := open.State().Instance(addr)
	if inst == nil {
		return diags.Append(noInstance(open.State(), addr)).Err()
	}
	one := states.New()
	only := &states.Resource{Addr: addr.Abs(), Provider: open.State().Resource(addr.Abs()).Provider,
		Instances: map[addrs.InstanceKey]*states.Instance{addr.Key: inst}}
	one.AddResource(only)
	view, more := app.viewState(ctx, one)
	if diags = diags.Append(more...); diags.HasErrors() {
		return diags.Err()
	}
	view.Only = &addr
	if err := app.Printer.State(view); err != nil {
		return diags.AppendError(err).Err()
	}
	return app.done(diags)
}

// noInstance returns the error for an address without an instance, and suggests an existing
// instance of the resource.
func noInstance(st *states.State, addr addrs.AbsInstance) tfdiags.Diagnostic {
	if r := st.Resource(addr.Abs()); r != nil && addr.Key == addrs.NoKey && len(r.Instances) > 0 {
		return tfdiags.Errorf("An instance key is needed",
			"%s has %s, and the command is about one: add its key, such as in %s.",
			addr, ui.Count(len(r.Instances), "instance"),
			addrs.AbsInstance{Module: addr.Module, Resource: addr.Resource, Key: r.SortedKeys()[0]})
	}
	return st.NotFound(addr)
}

// viewState returns a state with the schemas of its providers.
func (a *App) viewState(ctx context.Context, st *states.State) (*ui.StateView, tfdiags.Diagnostics) {
	st = a.ForDisplay(st)
	running, diags := a.OpenProviders(session.Requirements(nil, st))
	if diags.HasErrors() {
		return nil, diags
	}
	defer running.Close(a.Session)
	schemas, more := running.LoadSchemas(ctx, st)
	return &ui.StateView{State: st, Schemas: schemas}, diags.Append(more...)
}

var cmdStatePull = &Command{
	Name: "pull", Short: "Print the state",
	Long: "Prints the current workspace's state, in the newest format and decrypted.",
	New: with(func(f *statePullFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
	}, func(ctx context.Context, app *App, f *statePullFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		open, diags := app.OpenState(ctx, session.StateRequest{Vars: f.Variables})
		if diags.HasErrors() {
			return diags.Err()
		}
		defer app.Release(open)
		if !open.Exists() {
			return app.done(diags)
		}
		text, err := statefile.Encode(&statefile.File{Serial: open.Snapshot.Serial,
			Lineage: open.Snapshot.Lineage, State: open.State()}, &statefile.Options{})
		if err != nil {
			return diags.AppendError(fmt.Errorf("writing the state: %w", err)).Err()
		}
		fmt.Fprintf(app.Out, "%s\n", text)
		return app.done(diags)
	}),
}

type statePullFlags struct {
	viewFlags
	varFlags
}

var cmdStatePush = &Command{
	Name: "push", Args: "PATH",
	Short: "Replace the state by that in a file",
	Long: `
Replaces the state of the current workspace with the one in a file, or from
standard input if PATH is "-". A state with another lineage or a lower serial is
refused without -force.`,
	New: with(func(f *statePushFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		fs.BoolVar(&f.Force, "force", false, "Write the state whatever its lineage and serial are.")
		addRemoteVersion(fs)
	}, runStatePush),
}

type statePushFlags struct {
	viewFlags
	varFlags
	lockFlags
	Force bool
}

func runStatePush(ctx context.Context, app *App, f *statePushFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Exactly one argument is required",
			"State push needs the path of the state to push, or \"-\" for standard input.")
	}
	pushed, err := app.readStateFile(args[0])
	if err != nil {
		return err
	}
	open, diags := app.OpenState(ctx, session.StateRequest{Vars: f.Variables, Lock: f.LockOptions,
		Operation: "state-push"})
	if diags.HasErrors() {
		return diags.Err()
	}
	defer app.Release(open)
	return app.done(diags.AppendError(open.Push(ctx, pushed, f.Force)))
}

// readStateFile reads a state from a file, or from standard input if path is "-".
func (a *App) readStateFile(path string) (*statefile.File, error) {
	in := a.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the state: %w", err)
		}
		defer file.Close()
		in = file
	}
	found, err := statefile.Read(in)
	if err != nil {
		return nil, fmt.Errorf("reading the state in %s: %w", path, err)
	}
	return found, nil
}
