package command

import (
	"context"

	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdState = &Command{
	Name: "state", Short: "Look at the state and change it",
	Long: `
Commands that show or change the state.

Commands that change the state always keep a backup of the previous one. Their
output is meant for tools such as grep and awk.`,
	Sub: []*Command{cmdStateList, cmdStateMv, cmdStatePull, cmdStatePush, cmdStateRepair,
		cmdStateReplaceProvider, cmdStateRm, cmdStateShow},
}

// stateChangeFlags are the options of commands that edit the state.
type stateChangeFlags struct {
	viewFlags
	varFlags
	lockFlags
	stateFlags

	timedBackup bool // the name of the backup includes the time
	stateless   bool // a missing state is not an error
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

// stateChange returns a changed copy of a state and the text to print after saving it. A nil state
// means that nothing is saved.
type stateChange func(*states.State) (changed *states.State, report string, diags tfdiags.Diagnostics)

// changeState locks, changes and saves the state.
func (a *App) changeState(ctx context.Context, f *stateChangeFlags, change stateChange) error {
	var diags tfdiags.Diagnostics
	open, more := a.OpenState(ctx, session.StateRequest{
		Vars: f.Variables, Paths: f.StatePaths, Lock: f.LockOptions, Operation: f.operation, TimedBackup: f.timedBackup,
	})
	diags = diags.Append(more...)
	if diags.HasErrors() {
		return diags.Err()
	}
	defer a.Release(open)
	if open.State().Empty() && !open.Exists() && !f.stateless {
		return diags.Append(noStateFile()).Err()
	}
	changed, report, more := change(open.State())
	diags = diags.Append(more...)
	if changed != nil && !diags.HasErrors() {
		diags = diags.AppendError(open.Store(ctx, changed))
	}
	if report != "" && !diags.HasErrors() {
		a.Printer.Message(ui.Text{Text: report})
	}
	return a.done(diags)
}

func noStateFile() tfdiags.Diagnostic {
	return tfdiags.Errorf("No state file was found",
		"There is no state here to work with. Run the command in a directory "+
			"that was applied, or name a state file with -state.")
}
