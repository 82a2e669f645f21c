package command

import (
	"context"
	"fmt"
	"path/filepath"

	"tofu/internal/moves"
	"tofu/internal/session"
	"tofu/internal/states"
)

var cmdStateMv = &Command{
	Name: "mv", Aliases: []string{"move"}, Args: "SOURCE DESTINATION", Complete: addressNames, CompleteAll: true,
	Short: "Change the addresses of resources and modules",
	Long: `
Changes the address of a resource, a resource instance or a module in the
state. The objects themselves are not changed. With -state-out, the item is
moved to another state file.

A "moved" block in the configuration does the same for all users of the module,
and the plan shows it.`,
	New: with(func(f *stateMvFlags, fs *options) {
		f.add(fs)
		f.timedBackup = true
		fs.BoolVar(&f.DryRun, "dry-run", false, "Only say what would be moved.")
		fs.StringVar(&f.BackupOut, "backup-out", "",
			"Keep the previous state of the file given with -state-out in `path`.")
	}, runStateMv),
}

type stateMvFlags struct {
	stateChangeFlags
	DryRun    bool
	BackupOut string
}

func runStateMv(ctx context.Context, app *App, f *stateMvFlags, args []string) error {
	if len(args) != 2 {
		return badUsage("Exactly two arguments are required",
			"\"tofu state mv\" expects two arguments: the current address and the new address.")
	}
	targets, err := parseTargets(args)
	if err != nil {
		return err
	}
	outPath := f.StateOut
	f.StateOut = ""
	if f.State != "" && filepath.Clean(f.State) == filepath.Clean(outPath) {
		outPath = "" // both paths refer to the same file, which can be locked only once
	}
	var out *session.OpenedState
	if outPath != "" {
		out, err = app.OpenState(ctx, session.StateRequest{
			Vars: f.Variables, Paths: session.StatePaths{State: outPath, Backup: f.BackupOut}, Lock: f.LockOptions,
			Operation: f.operation, TimedBackup: true,
		})
		if err != nil {
			return err
		}
		defer app.Release(out)
	}
	return f.change(ctx, app.Session,
		func(st *states.State, open *session.OpenedState) (*states.State, string, error) {
			from := st.Clone()
			to := from
			if out != nil {
				to = out.State().Clone()
			}
			renamed, err := moves.Rename(from, to, targets[0], targets[1])
			if err != nil {
				return nil, "", err
			}
			verb := "Move"
			if f.DryRun {
				verb = "Would move"
			}
			for _, m := range renamed {
				app.Say("%s %q to %q", verb, m.From, m.To)
			}
			if f.DryRun {
				return nil, "", nil
			}
			// Write the destination first, so that an interruption can't lose the item.
			if out != nil {
				if err := out.Store(ctx, to); err != nil {
					return nil, "", err
				}
			} else {
				open.MoveDoubts(func(st *states.State) *states.State {
					_, _ = moves.Rename(st, st, targets[0], targets[1]) // it fails if none of them is in doubt
					return st
				})
			}
			return from, fmt.Sprintf("Successfully moved %d object(s).", len(renamed)), nil
		})
}
