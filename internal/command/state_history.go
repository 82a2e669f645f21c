package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

// atUsage is the help of the option -at.
const atUsage = "Use the state as it was at `RUN|TIME`: the end of a run, whose ID may be abbreviated, or a time " +
	"such as 2026-01-31T12:00:00Z. Needs the backend \"postgres\"."

var cmdStateHistory = &Command{
	Name: "history", Own: true, Args: "[ADDRESS]", Complete: stateAddresses, Short: "List who changed the state, and when",
	Long: `
Without an address, lists the runs that changed the state of the current
workspace, newest first, with the numbers of objects and outputs that they
created, updated and deleted. With the address of a module, a resource, an
instance or an output value, lists its changes, with the names of the attributes
that changed.

Only the backend "postgres" keeps a history. "tofu state show -at=RUN" and
"tofu state pull -at=RUN" show the state at the end of a run.`,
	New: with(func(f *stateHistoryFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON document, with values before and after each change.")
		fs.UintVar(&f.Limit, "limit", 50, "List at most `number` entries; 0 lists all.")
	}, runStateHistory),
}

type stateHistoryFlags struct {
	viewFlags
	varFlags
	Document bool
	Limit    uint
}

func runStateHistory(ctx context.Context, app *App, f *stateHistoryFlags, args []string) error {
	if len(args) > 1 {
		return badUsage("Too many command line arguments", "The \"state history\" command takes at most one address.")
	}
	var part statemgr.Part
	if len(args) == 1 {
		var err error
		part, err = parsePart(args[0])
		if err != nil {
			return err
		}
	}
	at, err := app.LocateState(ctx, session.StateRequest{Vars: f.Variables, LazyKeys: true})
	if err != nil {
		return err
	}
	h, err := at.Historian()
	if err != nil {
		return err
	}
	limit := int(min(f.Limit, 1<<30))
	if len(args) == 0 {
		runs, err := h.RunChanges(ctx, at.Workspace, limit)
		if err != nil {
			return historyFailed(err)
		}
		return printHistory(app, f, runs, runTable(runs))
	}
	changes, err := h.PartChanges(ctx, at.Workspace, part, limit)
	if err != nil {
		return historyFailed(err)
	}
	if len(changes) == 0 && !f.Document {
		app.Printer.Message(ui.Text{Text: "The history has no changes to " + args[0] + ". \"tofu state history\" without an " +
			"address lists all runs."})
		return nil
	}
	return printHistory(app, f, changes, changeTable(changes))
}

func historyFailed(err error) error {
	return tfdiags.Errorf("Failed to read the history", "%s", tfdiags.Sentence(err))
}

// parsePart parses the address of an output value, or of objects.
func parsePart(text string) (statemgr.Part, error) {
	if name, ok := strings.CutPrefix(text, "output."); ok {
		return statemgr.Part{Output: name}, nil
	}
	target, err := addrs.ParseTargetText(text)
	if err != nil {
		return statemgr.Part{}, err
	}
	return statemgr.Part{Address: target.String()}, nil
}

// printHistory prints entries as JSON, or as a table whose first row is the header.
func printHistory[E any](app *App, f *stateHistoryFlags, entries []E, table [][]string) error {
	if f.Document {
		if entries == nil {
			entries = []E{}
		}
		text, err := json.Marshal(entries)
		if err == nil {
			_, err = fmt.Fprintf(app.Out, "%s\n", text)
		}
		return err
	}
	if len(entries) == 0 {
		app.Printer.Message(ui.Text{Text: "There are no changes in the history."})
		return nil
	}
	for _, row := range table {
		for i := range row {
			row[i] = termtext.OneLine(row[i])
		}
	}
	return writeTable(app.textOut(), table)
}

func runTable(runs []statemgr.RunChange) [][]string {
	out := [][]string{{"started", "run", "operation", "who", "outcome", "created", "updated", "deleted"}}
	for _, r := range runs {
		outcome := r.Outcome
		if outcome == "" {
			outcome = "running"
		}
		out = append(out, []string{historyTime(r.At), r.Run, r.Operation, r.Who, outcome,
			fmt.Sprint(r.Created), fmt.Sprint(r.Updated), fmt.Sprint(r.Deleted)})
	}
	return out
}

func historyTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func changeTable(changes []statemgr.PartChange) [][]string {
	out := [][]string{{"at", "run", "operation", "who", "action", "address", "attributes"}}
	for _, c := range changes {
		address := c.Address
		if c.Deposed != "" {
			address += " (deposed object " + c.Deposed + ")"
		}
		out = append(out, []string{historyTime(c.At), c.Run, c.Operation, c.Who, c.Action, address,
			strings.Join(c.Attributes(), ", ")})
	}
	return out
}

var cmdStateVacuum = &Command{
	Name: "vacuum", Own: true, Short: "Remove old versions from the history",
	Long: `
Removes old versions of objects and outputs of the current workspace: those that
were replaced longer ago than the time to keep, which the option -keep or the
argument "keep" of the backend "postgres" sets. Later states stay available. With
the argument, runs also remove old versions themselves, at most once a day.`,
	New: with(func(f *stateVacuumFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.Keep, "keep", "", "Keep the history of this `time`, such as 90d, 12h or 52w.")
	}, runStateVacuum),
}

type stateVacuumFlags struct {
	viewFlags
	varFlags
	Keep string
}

func runStateVacuum(ctx context.Context, app *App, f *stateVacuumFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	keep, err := statemgr.ParseKeep(f.Keep)
	if err != nil {
		return badUsage("Invalid time to keep", "%s", tfdiags.Sentence(fmt.Errorf("-keep: %w", err)))
	}
	at, err := app.LocateState(ctx, session.StateRequest{Vars: f.Variables, LazyKeys: true})
	if err != nil {
		return err
	}
	h, err := at.Historian()
	if err != nil {
		return err
	}
	if keep == 0 {
		keep = h.Keep()
	}
	if keep == 0 {
		return badUsage("The time to keep is missing", "The backend block has no argument \"keep\". Add it, or use "+
			"an option such as -keep=90d.")
	}
	done, err := h.Vacuum(ctx, at.Workspace, keep)
	if err != nil {
		return tfdiags.Errorf("Failed to vacuum the history", "%s", tfdiags.Sentence(err))
	}
	text := fmt.Sprintf("Removed %s.", ui.Count(done.Versions, "old version"))
	if !done.Since.IsZero() {
		text += " The history begins at " + historyTime(done.Since) + "."
	}
	app.Printer.Message(ui.Text{Text: text})
	return nil
}
