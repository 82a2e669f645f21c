package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdStateList = &Command{
	Name: "list", Aliases: []string{"ls"}, Args: "[address...]", Complete: stateAddresses, CompleteAll: true,
	Short: "List the resource instances",
	Long: `
Lists the resource instances in the state. Addresses of modules, resources or
instances restrict the list; an address that matches nothing is an error.`,
	New: with(func(f *stateListFlags, fs *options) {
		f.addJSON(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Read the state from `statefile` instead of the current workspace's.")
		fs.StringVar(&f.ID, "id", "", "List only objects whose id attribute is `ID`.")
	}, runStateList),
}

type stateListFlags struct {
	viewFlags
	varFlags
	State, ID string
}

func runStateList(ctx context.Context, app *App, f *stateListFlags, args []string) error {
	open, err := app.OpenState(ctx, session.StateRequest{Vars: f.Variables,
		Paths: session.StatePaths{State: f.State}})
	if err != nil {
		return err
	}
	defer app.Release(open)
	if !app.view.JSON {
		app.printOnStderr(app.Warnings.Take()) // standard output is for the list only
	}
	if !open.Exists() {
		return noStateFile()
	}
	st := open.State()
	targets, err := parseTargets(args)
	errs := tfdiags.FromError(err)
	var found []addrs.AbsInstance // in the order of the arguments
	for _, t := range targets {
		selected := st.Select([]addrs.Target{t})
		if len(selected) == 0 {
			errs = errs.Append(st.NotFound(t))
		}
		found = append(found, selected...)
	}
	if err := errs.Err(); err != nil {
		return err
	}
	if len(targets) == 0 {
		found = st.Select(nil)
	}
	var list ui.Addresses
	for _, addr := range found {
		if f.ID == "" || objectID(st.Instance(addr).Current) == f.ID {
			list.Addrs = append(list.Addrs, addr.String())
		}
	}
	app.Printer.Message(list)
	return nil
}

// objectID returns the id attribute of an object, or "" if it has no id. It doesn't need the
// schema.
func objectID(o *states.Object) string {
	if o == nil {
		return ""
	}
	if o.Flatmap != nil {
		return o.Flatmap["id"]
	}
	var attrs struct {
		ID any `json:"id"`
	}
	d := json.NewDecoder(bytes.NewReader(o.Attrs))
	d.UseNumber()
	if d.Decode(&attrs) != nil {
		return ""
	}
	switch id := attrs.ID.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	}
	return ""
}

var cmdStateRm = &Command{
	Name: "rm", Aliases: []string{"remove"}, Args: "ADDRESS...", Complete: stateAddresses, CompleteAll: true,
	Short: "Forget resource instances",
	Long: `
Removes resource instances from the state without destroying the objects. The
address of a resource or a module selects all of its instances.

An object whose creation was interrupted may exist without being in the state.
Plans mention it until it is created, imported or removed here: if you have
made sure that it does not exist, run this command with its address.`,
	New: with(func(f *stateRmFlags, fs *options) {
		f.add(fs)
		f.timedBackup = true
		fs.BoolVar(&f.DryRun, "dry-run", false, "Only say what would be removed.")
		fs.BoolVar(&f.InDoubt, "in-doubt", false, "Keep the state, and say only that interrupted creations of objects "+
			"with these addresses have made no object.")
	}, runStateRm),
}

type stateRmFlags struct {
	stateChangeFlags
	DryRun, InDoubt bool
}

func runStateRm(ctx context.Context, app *App, f *stateRmFlags, args []string) error {
	if len(args) == 0 {
		return badUsage("At least one address is required",
			"The state rm command needs the address of at least one resource or module to forget.")
	}
	targets, err := parseTargets(args)
	if err != nil {
		return err
	}
	return f.change(ctx, app.Session,
		func(st *states.State, open *session.OpenedState) (*states.State, string, error) {
			var found []addrs.AbsInstance
			if !f.InDoubt {
				found = st.Select(targets)
			}
			doubts := open.Snapshot.Doubts(targets)
			switch {
			case len(found) == 0 && len(doubts) == 0 && f.DryRun:
				return nil, "Would have removed nothing." + st.Suggestion(targets[0]), nil
			case len(found) == 0 && len(doubts) == 0 && f.InDoubt:
				return nil, "", tfdiags.Errorf("Invalid target address",
					"No creation of an object with such an address is in doubt.")
			case len(found) == 0 && len(doubts) == 0:
				return nil, "", tfdiags.Errorf("Invalid target address",
					"Nothing in the state has such an address.%s \"tofu state list\" shows what it has.",
					st.Suggestion(targets[0]))
			}
			var nowhere strings.Builder
			for _, t := range states.Unmatched(targets, slices.Concat(found, doubts)) {
				fmt.Fprintf(&nowhere, "\n  - %s.%s", t, st.Suggestion(t))
			}
			if nowhere.Len() > 0 {
				app.Warnings.Add(tfdiags.Warningf("Some addresses match nothing",
					"The state has nothing at these addresses:%s", nowhere.String()))
			}
			if f.DryRun {
				for _, addr := range slices.Concat(found, doubts) {
					app.Say("Would remove %s", addr)
				}
				return nil, "", nil
			}
			var report strings.Builder
			for _, addr := range doubts {
				open.Gone(addr)
				fmt.Fprintf(&report, "The creation of %s is no longer in doubt.\n", addr)
			}
			app.Warnings.Add(open.StillInDoubt(app.Warnings.Take())...)
			if len(found) == 0 {
				return st, strings.TrimSuffix(report.String(), "\n"), nil
			}
			before := st
			st = st.Clone()
			for _, addr := range found {
				st.Forget(addr)
				fmt.Fprintf(&report, "Removed %s\n", addr)
			}
			fmt.Fprintf(&report, "Successfully removed %d resource instance(s).", len(found))
			st.Prune()
			st.RepairDependencies(states.DependencyRepair{Before: before})
			return st, report.String(), nil
		})
}
