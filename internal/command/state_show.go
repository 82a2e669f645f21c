package command

import (
	"context"
	"fmt"
	"io"
	"os"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdStateShow = &Command{
	Name: "show", Args: "ADDRESS", Complete: stateAddresses,
	Short: "Show the attributes of an instance",
	Long:  "Shows the attributes of one resource instance in the state.",
	New: with(func(f *stateShowFlags, fs *options) {
		f.addJSON(fs)
		f.addSensitive(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Read the state from `statefile` instead of the current workspace's.")
		fs.StringVar(&f.At, "at", "", atUsage)
	}, runStateShow),
}

type stateShowFlags struct {
	viewFlags
	varFlags
	State, At string
}

func runStateShow(ctx context.Context, app *App, f *stateShowFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Exactly one argument is required",
			"\"tofu state show\" expects one argument: the address of a resource instance.")
	}
	addr, err := addrs.ParseInstanceText(args[0])
	if err != nil {
		return err
	}
	if f.At != "" && f.State != "" {
		return badUsage("Incompatible options", "-at and -state can't be used together: a state file has no history.")
	}
	open, err := openStateAt(ctx, app.Session, f.At, session.StateRequest{Vars: f.Variables,
		Paths: session.StatePaths{State: f.State}})
	if err != nil {
		return err
	}
	defer app.Release(open)
	if !open.Exists() {
		return noStateFile()
	}
	inst := open.State().Instance(addr)
	if inst == nil {
		return noInstance(open.State(), addr)
	}
	one := states.New()
	only := &states.Resource{Addr: addr.Abs(), Provider: open.State().Resource(addr.Abs()).Provider,
		Instances: map[addrs.InstanceKey]*states.Instance{addr.Key: inst}}
	one.AddResource(only)
	view, err := viewState(ctx, app.Session, one)
	if err != nil {
		return err
	}
	view.Only = &addr
	return app.Printer.State(view)
}

// openStateAt opens a state for reading. The parameter at is a run or a time in the form of the
// option -at. If it is "", the current state is opened.
func openStateAt(
	ctx context.Context, s *session.Session, at string, req session.StateRequest,
) (*session.OpenedState, error) {
	if at == "" {
		return s.OpenState(ctx, req)
	}
	p, err := s.LocateState(ctx, session.StateRequest{Vars: req.Vars})
	if err != nil {
		return nil, err
	}
	return p.ReadAt(ctx, s, at)
}

// noInstance returns the error for an address at which the state has no instance. It suggests an
// existing instance of the resource, or a similar address.
func noInstance(st *states.State, addr addrs.AbsInstance) error {
	if r := st.Resource(addr.Abs()); r != nil && addr.Key == addrs.NoKey && len(r.Instances) > 0 {
		return tfdiags.Errorf("An instance key is needed",
			"%s has %s with a key, so the address needs the key of one instance, such as in %s.",
			addr, ui.Count(len(r.Instances), "instance"),
			addrs.AbsInstance{Module: addr.Module, Resource: addr.Resource, Key: r.SortedKeys()[0]})
	}
	return st.NotFound(addr)
}

// viewState combines a state with the schemas of its providers.
func viewState(ctx context.Context, s *session.Session, st *states.State) (*ui.StateView, error) {
	st = session.ForDisplay(st, s.LockFile(), s.Env)
	running, err := s.OpenProviders(session.Requirements(nil, st))
	if err != nil {
		return nil, err
	}
	defer running.Close()
	schemas, err := running.LoadSchemas(ctx, st)
	if err != nil {
		return nil, err
	}
	return &ui.StateView{State: st, Schemas: schemas}, nil
}

var cmdStatePull = &Command{
	Name: "pull", Short: "Print the state",
	Long: "Prints the current workspace's state, in the newest format and decrypted.",
	New: with(func(f *statePullFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.At, "at", "", atUsage)
	}, func(ctx context.Context, app *App, f *statePullFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		open, err := openStateAt(ctx, app.Session, f.At, session.StateRequest{Vars: f.Variables})
		if err != nil {
			return err
		}
		defer app.Release(open)
		if !open.Exists() {
			return nil
		}
		text, err := statefile.Encode(open.Snapshot.File(), &statefile.Options{})
		if err != nil {
			return fmt.Errorf("writing the state: %w", err)
		}
		app.printOnStderr(app.Warnings.Take()) // standard output is for the state only
		fmt.Fprintf(app.Out, "%s\n", text)
		return nil
	}),
}

type statePullFlags struct {
	viewFlags
	varFlags
	At string
}

var cmdStatePush = &Command{
	Name: "push", Args: "PATH",
	Short: "Replace the state with the one in a file",
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
			"\"tofu state push\" expects one argument: the path of the state to push, or \"-\" for standard input.")
	}
	pushed, err := readStateFile(app.In, args[0])
	if err != nil {
		return err
	}
	open, err := app.OpenState(ctx, session.StateRequest{Vars: f.Variables, Lock: f.LockOptions,
		Operation: "state-push"})
	if err != nil {
		return err
	}
	defer app.Release(open)
	return open.Push(ctx, pushed, f.Force)
}

// readStateFile reads a state from a file, or from stdin if path is "-".
func readStateFile(stdin io.Reader, path string) (*statefile.File, error) {
	in, name := stdin, "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the state: %w", err)
		}
		defer file.Close()
		in, name = file, path
	}
	found, err := statefile.Read(in)
	if err != nil {
		return nil, fmt.Errorf("reading the state in %s: %w", name, err)
	}
	return found, nil
}
