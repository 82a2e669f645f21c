package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdWorkspace = &Command{
	Name: "workspace", Short: "Manage several states of one configuration",
	Long: `
Creates, lists, shows, selects and deletes workspaces. Each workspace has its
own state of the configuration.`,
	Sub: []*Command{cmdWorkspaceDelete, cmdWorkspaceList, cmdWorkspaceNew, cmdWorkspaceSelect, cmdWorkspaceShow},
}

// cmdEnv is the old name of the workspace command.
var cmdEnv = outdated("env", cmdWorkspace)

// outdated returns a copy of a group of commands with an old name. Each command in it warns
// that the name is outdated.
func outdated(name string, group *Command) *Command {
	old := *group
	old.Name, old.Hidden, old.Sub = name, true, nil
	for _, sub := range group.Sub {
		warned := *sub
		warned.New = func(o *options) runFunc {
			run := sub.New(o)
			return func(ctx context.Context, app *App, args []string) error {
				app.printOnStderr(tfdiags.Warningf("Deprecated command",
					"The commands \"tofu %s\" are now called \"tofu %s\"; the old name will be removed.", name,
					group.Name).List())
				return run(ctx, app, args)
			}
		}
		old.Sub = append(old.Sub, &warned)
	}
	return &old
}

// workspaceFlags are the options of all workspace commands except show.
type workspaceFlags struct {
	viewFlags
	varFlags
	lockFlags
	State    string
	Force    bool
	OrCreate bool
}

func (f *workspaceFlags) declare(fs *options) {
	f.addJSON(fs)
	f.varFlags.add(fs)
}

var cmdWorkspaceShow = &Command{
	Name: "show", Short: "Show which workspace is selected",
	Long: "Prints the name of the selected workspace.",
	New: with(func(f *workspaceFlags, fs *options) {
		f.viewFlags.add(fs)
	}, func(_ context.Context, app *App, _ *workspaceFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		name, err := app.Workspace()
		if err != nil {
			return err
		}
		app.Say("%s", name)
		return nil
	}),
}

var cmdWorkspaceList = &Command{
	Name: "list", Short: "List the workspaces",
	Long: "Lists the workspaces; the selected one is marked with an asterisk.",
	New: with((*workspaceFlags).declare, func(ctx context.Context, app *App, f *workspaceFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		w, err := openWorkspaces(ctx, app.Session, f.Variables)
		if err != nil {
			return err
		}
		app.Printer.Message(ui.Workspaces{Current: w.Workspace, Names: w.names})
		if name := app.Env("TF_WORKSPACE"); name != "" {
			app.Warnings.Add(tfdiags.Warningf("The workspace is overridden",
				"The environment variable TF_WORKSPACE selects the workspace %q, whatever is selected in this working "+
					"directory.", name))
		}
		return nil
	}),
}

var cmdWorkspaceNew = &Command{
	Name: "new", Args: "NAME", Short: "Create a workspace and select it",
	Long: "Creates a workspace and selects it.",
	New: with(func(f *workspaceFlags, fs *options) {
		f.declare(fs)
		f.lockFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Copy the state file at `path` into the new workspace.")
	}, func(ctx context.Context, app *App, f *workspaceFlags, args []string) error {
		name, err := workspaceArgument(args)
		if err != nil {
			return err
		}
		return newWorkspace(ctx, app.Session, f, name)
	}),
}

var cmdWorkspaceSelect = &Command{
	Name: "select", Args: "NAME", Short: "Select another workspace",
	Long: "Selects another workspace.",
	New: with(func(f *workspaceFlags, fs *options) {
		f.declare(fs)
		fs.BoolVar(&f.OrCreate, "or-create", false, "Create the workspace if it does not exist.")
		f.Lock = true
	}, runWorkspaceSelect), Complete: workspaceNames,
}

var cmdWorkspaceDelete = &Command{
	Name: "delete", Args: "NAME", Short: "Delete a workspace and its state",
	Long: "Deletes a workspace with its state. The selected one and \"default\" can't be deleted.",
	New: with(func(f *workspaceFlags, fs *options) {
		f.declare(fs)
		f.lockFlags.add(fs)
		fs.BoolVar(&f.Force, "force", false, "Delete the workspace even if it manages objects, which "+
			"then are no longer managed.")
	}, runWorkspaceDelete), Complete: workspaceNames,
}

func workspaceArgument(args []string) (string, error) {
	if len(args) != 1 {
		return "", badUsage("Invalid number of arguments", "Expected a single argument, the name of a workspace.")
	}
	return args[0], nil
}

// workspaces are the workspaces of a backend.
type workspaces struct {
	*session.Location
	session *session.Session
	names   []string
}

// workspaceNames returns the names of all workspaces. It returns nil if they can't be listed, for
// example because the backend isn't initialized.
func workspaceNames(ctx context.Context, app *App, _ string) []string {
	w, err := openWorkspaces(ctx, app.Session, session.Variables{})
	if err != nil {
		return nil
	}
	return w.names
}

func openWorkspaces(ctx context.Context, s *session.Session, vars session.Variables) (*workspaces, error) {
	cfg, err := s.LoadForState(ctx, vars)
	if err != nil {
		return nil, err
	}
	p, err := s.Locate(ctx, cfg, session.StateRequest{})
	if err != nil {
		return nil, err
	}
	names, err := p.Store.List(ctx)
	if err != nil && !errors.Is(err, backend.ErrNoWorkspaces) {
		return nil, tfdiags.Errorf("Failed to list workspaces", "%s", tfdiags.Sentence(err))
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == backend.DefaultWorkspace })
	slices.Sort(names)
	// In other backends, the default workspace always exists.
	if _, without := p.Store.(backend.Undefaulted); !without {
		names = slices.Insert(names, 0, backend.DefaultWorkspace)
	}
	return &workspaces{p, s, names}, nil
}

// canSelect returns an error if TF_WORKSPACE is set, because it overrides the selection.
func canSelect(getenv func(string) string) error {
	if getenv("TF_WORKSPACE") == "" {
		return nil
	}
	return tfdiags.Errorf("The workspace is overridden",
		"The environment variable TF_WORKSPACE selects the workspace. Unset it to select another one.")
}

func newWorkspace(ctx context.Context, s *session.Session, f *workspaceFlags, name string) error {
	if name == "" {
		return s.SelectWorkspace(backend.DefaultWorkspace) // an empty name means the default workspace
	}
	if !session.ValidWorkspaceName(name) {
		return tfdiags.Errorf("Invalid workspace name", "The workspace name %q is not allowed: %s.", name,
			session.WorkspaceNameRule)
	}
	if err := canSelect(s.Env); err != nil {
		return err
	}
	w, err := openWorkspaces(ctx, s, f.Variables)
	if err != nil {
		return err
	}
	if slices.Contains(w.names, name) {
		return tfdiags.Errorf(fmt.Sprintf("Workspace %q already exists", name),
			"\"tofu workspace select %s\" selects it.", name)
	}
	w.Workspace = name
	if err := w.create(ctx, f.LockOptions); err != nil {
		return err
	}
	if err := s.SelectWorkspace(name); err != nil {
		return err
	}
	created := fmt.Sprintf("Created and switched to workspace %q!", name)
	if f.State != "" {
		initial, err := readStateFile(s.In, f.State)
		if err != nil {
			return err
		}
		push := func(open *session.OpenedState) error { return open.Overwrite(ctx, initial) }
		if err := w.change(ctx, f.LockOptions, push); err != nil {
			return err
		}
		s.Say("%s\n\nIts state is a copy of %s.", created, f.State)
		return nil
	}
	s.Say("%s\n\nIts state is empty: plans here don't include the objects of other workspaces.",
		created)
	return nil
}

// createWorkspaceOfEnv creates the workspace that TF_WORKSPACE names, unless it exists.
func createWorkspaceOfEnv(
	ctx context.Context, s *session.Session, vars session.Variables, lock session.LockOptions,
) error {
	if name := s.Env("TF_WORKSPACE"); name == "" || name == backend.DefaultWorkspace {
		return nil
	}
	w, err := openWorkspaces(ctx, s, vars)
	if err != nil || slices.Contains(w.names, w.Workspace) {
		return err
	}
	if err := w.create(ctx, lock); err != nil {
		return err
	}
	s.Say("Created the workspace %q, which TF_WORKSPACE selects.", w.Workspace)
	return nil
}

// create creates an empty workspace at the location.
func (w *workspaces) create(ctx context.Context, lock session.LockOptions) error {
	if maker, ok := w.Store.(backend.Maker); ok {
		if err := maker.Make(ctx, w.Workspace); err != nil {
			return fmt.Errorf("creating the workspace %q: %w", w.Workspace, err)
		}
		return nil
	}
	return w.change(ctx, lock, func(open *session.OpenedState) error {
		return open.CreateIfMissing(ctx, w.session.Warnings.Add)
	})
}

// change locks and reads the state of the workspace at the location, and passes it to the function
// do.
func (w *workspaces) change(
	ctx context.Context, lock session.LockOptions, do func(*session.OpenedState) error,
) error {
	open, err := w.session.ReadState(ctx, w.Location, session.StateRequest{Lock: lock, Operation: "workspace-new"})
	if err != nil {
		return err
	}
	return tfdiags.Join(do(open), open.Close())
}

func runWorkspaceSelect(ctx context.Context, app *App, f *workspaceFlags, args []string) error {
	name, err := workspaceArgument(args)
	if err != nil {
		return err
	}
	if err := canSelect(app.Env); err != nil {
		return err
	}
	if !session.ValidWorkspaceName(name) {
		return tfdiags.Errorf("Invalid workspace name", "The workspace name %q is not allowed: %s.", name,
			session.WorkspaceNameRule)
	}
	w, err := openWorkspaces(ctx, app.Session, f.Variables)
	if err != nil {
		return err
	}
	switch {
	case w.Workspace == name:
		return nil
	case !slices.Contains(w.names, name) && f.OrCreate:
		return newWorkspace(ctx, app.Session, f, name)
	case !slices.Contains(w.names, name):
		return tfdiags.Errorf(fmt.Sprintf("Workspace %q doesn't exist", name),
			"Create it with \"tofu workspace new\" or with the option -or-create of this command.%s",
			suggest.DidYouMean(name, w.names))
	}
	if err := app.SelectWorkspace(name); err != nil {
		return err
	}
	app.Say("Switched to workspace %q.", name)
	return nil
}

func runWorkspaceDelete(ctx context.Context, app *App, f *workspaceFlags, args []string) error {
	name, err := workspaceArgument(args)
	if err != nil {
		return err
	}
	w, err := openWorkspaces(ctx, app.Session, f.Variables)
	if err != nil {
		return err
	}
	switch {
	case !slices.Contains(w.names, name):
		return tfdiags.Errorf(fmt.Sprintf("Workspace %q doesn't exist", name),
			"\"tofu workspace list\" lists those that do.%s", suggest.DidYouMean(name, w.names))
	case name == backend.DefaultWorkspace:
		return tfdiags.Errorf("The default workspace can't be deleted", "The workspace \"default\" always exists.")
	case name == w.Workspace:
		return tfdiags.Errorf(fmt.Sprintf("Workspace %q is your active workspace", name),
			"Select another one before you delete it.")
	}
	w.Workspace = name
	open, err := app.ReadState(ctx, w.Location, session.StateRequest{Lock: f.LockOptions,
		Operation: "workspace-delete"})
	if err != nil {
		return err
	}
	n := open.State().CountManaged()
	if n > 0 && !f.Force {
		return tfdiags.Join(tfdiags.Errorf("Workspace is not empty",
			"Workspace %q is currently tracking %s. Destroy these objects before you delete the workspace, or "+
				"delete it with -force; then the objects are no longer managed.", name,
			ui.Count(n, "resource instance")), open.Close())
	}
	if doubts := open.Snapshot.Doubts(nil); len(doubts) > 0 && !f.Force {
		return tfdiags.Join(tfdiags.Errorf("Objects of the workspace may exist",
			"The creation of %s in the workspace %q is in doubt. Say with \"tofu state rm -in-doubt\" in that workspace "+
				"which objects do not exist, import the others, or delete the workspace with -force.",
			ui.Count(len(doubts), "object"), name), open.Close())
	}
	// Release the lock first: the deletion may remove the store that holds the lock.
	unlockErr := open.Close()
	if err := w.Store.Delete(ctx, name); err != nil {
		if held, ok := errors.AsType[*backend.LockedError](err); ok {
			return tfdiags.Join(unlockErr, tfdiags.Errorf("The workspace is in use", "A run is changing the workspace %q "+
				"or depends on its outputs. Delete the workspace when the run has ended.\n\n%s", name,
				tfdiags.Capitalize(held.Error())))
		}
		return tfdiags.Join(unlockErr, tfdiags.Errorf(fmt.Sprintf("Failed to delete workspace %q", name), "%s",
			tfdiags.Sentence(err)))
	}
	app.Say("Deleted workspace %q!", name)
	if store, ok := w.Store.(*local.Store); ok {
		if dir, files := store.Kept(name); files > 0 {
			app.Warnings.Add(tfdiags.Warningf("The directory of the workspace was kept",
				"%s has %s that the workspace's state does not consist of. While the directory exists, the workspace "+
					"is listed. Move the files away and delete the directory.", dir, ui.Count(files, "file")))
		}
	}
	if n > 0 {
		app.Warnings.Add(tfdiags.Warningf("The workspace was not empty",
			"The objects that the workspace was tracking (%s) still exist, but are no longer managed.",
			ui.Count(n, "resource instance")))
	}
	return unlockErr
}

var cmdForceUnlock = &Command{
	Name: "force-unlock", Args: "LOCK_ID", Short: "Remove a lock that was left behind",
	Long: `
Removes the lock of another process from the state of the current workspace.
Do this only if you are sure that the process no longer runs. The error message
of a command that could not acquire the lock contains the lock ID. The lock of a
local state ends with its process and can't be removed this way.`,
	New: with(func(f *forceUnlockFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Force, "force", false, "Do not ask for confirmation.")
	}, runForceUnlock),
}

type forceUnlockFlags struct {
	viewFlags
	varFlags
	Force bool
}

func runForceUnlock(ctx context.Context, app *App, f *forceUnlockFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Invalid number of arguments", "Expected a single argument, the ID of the lock.")
	}
	cfg, err := app.LoadForState(ctx, f.Variables)
	if err != nil {
		return err
	}
	p, err := app.Locate(ctx, cfg, session.StateRequest{})
	if err != nil {
		return err
	}
	manager := p.Manager(app.Session)
	if err := manager.CheckForceUnlock(args[0]); err != nil {
		return cantUnlock(err)
	}
	if !f.Force {
		ok, err := app.Confirm(ctx, terminal.Question{Title: "Remove the lock on the state?",
			Text: "If the command that holds it is still running, it and the next one may both\nwrite the state, and " +
				"changes may be lost."})
		if err != nil {
			return err
		}
		if !ok {
			app.Say("force-unlock cancelled.")
			return exitStatus(1)
		}
	}
	if err := manager.ForceUnlock(ctx, args[0]); err != nil {
		return cantUnlock(err)
	}
	app.Say("The state is unlocked. Other commands can lock it now.")
	return nil
}

func cantUnlock(err error) error {
	return tfdiags.Errorf("Failed to unlock state", "%s", tfdiags.Sentence(err))
}
