package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/workers"
)

var cmdRuns = &Command{
	Name: "runs", Own: true, Short: "List, show and cancel runs over workers",
	Long: "Works with the runs that \"tofu roots\" has put in a queue with -queue.",
	Sub:  []*Command{cmdRunsCancel, cmdRunsList, cmdRunsLogs, cmdRunsShow},
}

// runsFlags are the options of all commands for runs.
type runsFlags struct {
	viewFlags
	addressFlags
	Document bool
}

func (f *runsFlags) declare(fs *options) {
	f.viewFlags.add(fs)
	f.addAddress(fs, "The `address` of the queue. The default is in "+queueEnv+".")
}

func (f *runsFlags) declareDocument(fs *options) {
	f.declare(fs)
	fs.BoolVar(&f.Document, "json", false, "Print a JSON document.")
}

// onRun runs a function with the run that args names.
func (f *runsFlags) onRun(
	ctx context.Context, app *App, args []string, do func(*workers.Queue, *workers.Run) error,
) error {
	if len(args) != 1 {
		return badUsage("One run required", "The command takes the ID of a run. To list the runs, use: tofu runs list")
	}
	q, err := f.open(ctx, app)
	if err != nil {
		return err
	}
	defer q.Close()
	r, err := q.Run(ctx, args[0])
	if err != nil {
		return err
	}
	return do(q, r)
}

// printDocument prints a JSON document.
func (f *runsFlags) printDocument(app *App, v any) error {
	enc := json.NewEncoder(app.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

var cmdRunsList = &Command{
	Name: "list", Short: "List the newest runs, and the workers",
	Long: "Shows each run with its state, and each worker that is there with its labels.",
	New: with((*runsFlags).declareDocument, func(ctx context.Context, app *App, f *runsFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		q, err := f.open(ctx, app)
		if err != nil {
			return err
		}
		defer q.Close()
		const most = 100
		runs, err := q.Runs(ctx, most)
		if err != nil {
			return err
		}
		there, err := q.Workers(ctx)
		if err != nil {
			return err
		}
		if f.Document {
			return f.printDocument(app, map[string]any{"format_version": "1.0", "runs": orNone(runs), "workers": orNone(there)})
		}
		for _, r := range runs {
			app.Say("%s  %-7s  %-18s  %s  %s", r.ID, r.Operation, r.Status, r.Created.Local().Format(time.DateTime), r.Who)
		}
		if len(runs) == 0 {
			app.Say("The queue has no runs.")
		}
		for _, w := range there {
			app.Say("Worker %s: %d of %d jobs, labels %s", w.ID, w.Running, w.Jobs, strings.Join(w.Labels, ","))
		}
		return nil
	}),
}

func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// runDocument is the JSON form of a run.
type runDocument struct {
	FormatVersion string `json:"format_version"`
	*workers.Run
	Roots []runRoot `json:"roots"`
}

// runRoot is the JSON form of the work on a root module in a run.
type runRoot struct {
	Name    string    `json:"name"`
	Phase   int       `json:"phase"` // odd phases plan, even ones apply
	Status  string    `json:"status"`
	Labels  []string  `json:"labels"`
	Worker  string    `json:"worker,omitempty"`
	Tries   int       `json:"tries"`
	Reasons []string  `json:"reasons,omitempty"` // why earlier tries ended
	Why     string    `json:"why,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

var cmdRunsShow = &Command{
	Name: "show", Args: "RUN", Short: "Show what a run has done in each root module",
	Long: "Shows the tasks of a run: their root modules, states, workers, tries and errors.",
	New: with((*runsFlags).declareDocument, func(ctx context.Context, app *App, f *runsFlags, args []string) error {
		return f.onRun(ctx, app, args, func(q *workers.Queue, r *workers.Run) error {
			doc := runDocument{FormatVersion: "1.0", Run: r}
			for phase := 1; phase <= r.Phase; phase++ {
				tasks, err := q.Tasks(ctx, r.ID, phase)
				if err != nil {
					return err
				}
				for _, t := range tasks {
					var o workers.Outcome
					_ = json.Unmarshal(t.Outcome, &o) // none before the end
					one := runRoot{Name: t.Root, Phase: phase, Status: t.Status, Labels: t.Labels, Worker: t.Worker,
						Tries: len(t.Reasons), Reasons: t.Reasons, Why: o.Why, Started: t.Started, Ended: t.Ended}
					if t.Status == workers.TaskRunning || t.Status == workers.TaskDone || t.Status == workers.TaskFailed && o.Error == "" {
						one.Tries++
					}
					doc.Roots = append(doc.Roots, one)
				}
			}
			if f.Document {
				return f.printDocument(app, doc)
			}
			app.Say("Run %s: %s by %s, %s", r.ID, r.Operation, r.Who, r.Status)
			for _, one := range doc.Roots {
				line := fmt.Sprintf("%-8s  %-8s  %s", phaseWord(r, one.Phase), one.Status, one.Name)
				if one.Worker != "" {
					line += " on " + one.Worker
				}
				if one.Why != "" {
					line += ": " + one.Why
				}
				app.Say("%s", line)
				for _, why := range one.Reasons {
					app.Say("                    an earlier try ended: %s", why)
				}
			}
			return nil
		})
	}),
}

var cmdRunsCancel = &Command{
	Name: "cancel", Args: "RUN", Short: "Interrupt a run",
	Long: `
Nothing new starts, and running root modules finish their running operations.
With -force, running operations are told to stop.`,
	New: with(func(f *runsCancelFlags, fs *options) {
		f.declareDocument(fs)
		fs.BoolVar(&f.Force, "force", false, "Tell running operations to stop.")
	}, func(ctx context.Context, app *App, f *runsCancelFlags, args []string) error {
		return f.onRun(ctx, app, args, func(q *workers.Queue, r *workers.Run) error {
			if r.Over() {
				return tfdiags.Errorf("The run has ended", "The status of run %s is: %s.", r.ID, r.Status)
			}
			level := 1
			if f.Force {
				level = 2
			}
			if err := q.Stop(ctx, r.ID, level); err != nil {
				return err
			}
			if f.Document {
				r, err := q.Run(ctx, r.ID)
				if err != nil {
					return err
				}
				return f.printDocument(app, struct {
					FormatVersion string `json:"format_version"`
					*workers.Run
				}{"1.0", r})
			}
			app.Say("Run %s is interrupted.", r.ID)
			return nil
		})
	}),
}

type runsCancelFlags struct {
	runsFlags
	Force bool
}

var cmdRunsLogs = &Command{
	Name: "logs", Args: "RUN", Short: "Print what a run has printed, by root module",
	Long: `
Prints what the tasks of a run have printed so far, root module by root module.
What can't be decrypted here is named, and the status is 1.`,
	New: with((*runsFlags).declareDocument, func(ctx context.Context, app *App, f *runsFlags, args []string) error {
		return f.onRun(ctx, app, args, func(q *workers.Queue, r *workers.Run) error {
			shown := &queued{app: app, flags: &fleetFlags{}, queue: q, run: r}
			document := logsDocument{FormatVersion: "1.0", Run: r, Roots: []rootLog{}}
			for phase := 1; phase <= r.Phase; phase++ {
				logs, err := shown.logs(ctx, phase)
				if err != nil {
					return err
				}
				document.Roots = append(document.Roots, logs...)
			}
			if f.Document {
				if err := f.printDocument(app, document); err != nil {
					return err
				}
			} else {
				for _, l := range document.Roots {
					app.Say("%s (%s, %s)", rootHeading(app.Terminal, l.Name), phaseWord(r, l.Phase), l.Status)
					_, _ = io.WriteString(app.Out, l.Text)
					if l.ended || len(l.diags) > 0 {
						app.Say("")
						app.Printer.Diagnostics(l.diags)
					}
				}
			}
			if len(shown.hidden) > 0 {
				return tfdiags.Errorf("Not everything can be shown", "What workers have stored for these root modules can't be "+
					"read here: %s.", strings.Join(shown.hidden, ", "))
			}
			return nil
		})
	}),
}

// logsDocument is the JSON form of what a run has printed.
type logsDocument struct {
	FormatVersion string `json:"format_version"`
	*workers.Run
	Roots []rootLog `json:"roots"`
}

// rootLog has the output of one task.
type rootLog struct {
	Name        string `json:"name"`
	Phase       int    `json:"phase"`
	Status      string `json:"status"`
	Text        string `json:"text"`
	Diagnostics any    `json:"diagnostics"`

	ended bool
	diags tfdiags.Diagnostics
}

// logs returns what the tasks of a phase have printed.
func (q *queued) logs(ctx context.Context, phase int) (out []rootLog, err error) {
	tasks, err := q.queue.Tasks(ctx, q.run.ID, phase)
	if err != nil {
		return nil, err
	}
	events, err := q.queue.Logs(ctx, q.run.ID, phase)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		var text []byte
		var unread tfdiags.Diagnostics
		for ; len(events) > 0 && events[0].Task == t.N; events = events[1:] {
			list, err := q.events(ctx, t.Root, events[0].Data)
			if err != nil && unread == nil {
				unread = q.unreadable(t, err).List()
			}
			for _, e := range list {
				text = append(text, e.Out...)
			}
		}
		q.flags.shown = newRootsView(q.app, len(tasks))
		l := rootLog{Name: t.Root, Phase: phase, Status: t.Status, ended: workers.Ended(t.Status)}
		result, more := q.result(ctx, q.flags.shown, t)
		if l.Text = string(append(text, more...)); l.ended {
			l.diags = tfdiags.FromError(result.Err)
		}
		l.diags = append(l.diags, unread.Dedup(l.diags)...)
		l.Diagnostics = ui.DescribeDiagnostics(l.diags, q.app.Source)
		out = append(out, l)
	}
	return out, nil
}

// phaseWord returns the operation of a phase.
func phaseWord(r *workers.Run, phase int) string {
	switch {
	case r.Operation == "drift":
		return r.Operation
	case phase%2 == 0:
		return "apply"
	}
	return "plan"
}
