package command

import (
	"context"

	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

var cmdState = &Command{
	Name: "state", Short: "Look at the state and change it",
	Long: `
Commands that show or change the state.

The commands mv, rm and replace-provider keep a backup of the previous state.
The output of all commands is easy to process with tools such as grep and awk.`,
	Sub: []*Command{cmdStateHistory, cmdStateList, cmdStateMv, cmdStatePull, cmdStatePush, cmdStateQuery,
		cmdStateReencrypt, cmdStateRepair, cmdStateReplaceProvider, cmdStateRm, cmdStateShow, cmdStateVacuum},
}

// stateChangeFlags are the options of commands that edit the state.
type stateChangeFlags struct {
	viewFlags
	varFlags
	lockFlags
	stateFlags

	timedBackup bool // whether the name of the backup includes the time
	stateless   bool // whether a missing state is allowed
	operation   string
}

func (f *stateChangeFlags) add(fs *options) {
	f.addJSON(fs)
	f.varFlags.add(fs)
	f.lockFlags.add(fs)
	f.stateFlags.add(fs)
	f.operation = fs.Name()
	addRemoteVersion(fs)
}

// stateChange returns a changed copy of a state, and the text to print after the copy is saved.
// If the copy is nil, nothing is saved.
type stateChange func(*states.State, *session.OpenedState) (changed *states.State, report string, err error)

// change locks, changes and saves the state.
func (f *stateChangeFlags) change(ctx context.Context, s *session.Session, change stateChange) error {
	open, err := s.OpenState(ctx, session.StateRequest{
		Vars: f.Variables, Paths: f.StatePaths, Lock: f.LockOptions, Operation: f.operation, TimedBackup: f.timedBackup,
	})
	if err != nil {
		return err
	}
	defer s.Release(open)
	if open.State().Empty() && !open.Exists() && len(open.Snapshot.Interrupted) == 0 && !f.stateless {
		return noStateFile()
	}
	changed, report, err := change(open.State(), open)
	if err != nil {
		return err
	}
	if changed != nil {
		if err := open.Store(ctx, changed); err != nil {
			return err
		}
	}
	if report != "" {
		s.Printer.Message(ui.Text{Text: termtext.Printable(report)})
	}
	return nil
}

func noStateFile() error {
	return tfdiags.Errorf("No state file was found",
		"There is no state here to work with. Check the directory and the "+
			"selected workspace, or name an existing state file with -state.")
}
