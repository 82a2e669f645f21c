package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"tofu/internal/engine"
	"tofu/internal/fleet"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/progress"
)

// rootsView shows a run over many root modules: below the name of each root module what it printed or, for
// more than fleet.Few, tables, and lines that begin with the name of a root module. Of the plans in a table,
// only dangerous changes are shown, unless few have changes.
type rootsView struct {
	app   *App
	table bool

	mu       sync.Mutex
	plans    int                      // number of plans that were shown
	whole    map[string]*bytes.Buffer // whole plans by root module, while there are few
	shown    []rootText               // what finished root modules printed, in the order of the run
	failed   map[string]string        // the first root module with some errors, by their texts
	warnings tfdiags.Diagnostics
}

// rootText is the output of a root module.
type rootText struct {
	name string
	text []byte
}

func newRootsView(app *App, selected int) *rootsView {
	return &rootsView{app: app, table: selected > fleet.Few && !app.planView.Chosen,
		whole: make(map[string]*bytes.Buffer), failed: make(map[string]string)}
}

// rootPrinter prints what happens in one root module. Its parts print events at once, and the rest when the
// root module is finished.
type rootPrinter struct {
	ui.Printer // writes what is shown when the root module is finished
	view       *rootsView
	root       string
	live       *progress.Live
	now        ui.Printer // writes lines that begin with the name of the root module
}

// printer returns the printer of a root module. What it writes to out is shown when the root module is
// finished.
func (v *rootsView) printer(root string, out io.Writer) ui.Printer {
	opts := v.app.viewOptions(v.app.Out)
	opts.Root = root
	now := ui.NewHuman(opts)
	return &rootPrinter{Printer: v.later(out, v.table), view: v, root: root, live: v.app.Live, now: now}
}

// later returns a printer for text that is shown later.
func (v *rootsView) later(out io.Writer, losses bool) ui.Printer {
	opts := v.app.viewOptions(out)
	opts.Err, opts.Live, opts.Terminal = out, nil, v.app.OutTerminal
	opts.View.Losses = losses
	return withDeprecation(ui.NewHuman(opts), v.app.view.Deprecation)
}

// Event implements ui.Printer. A failure is always printed at once.
func (p *rootPrinter) Event(e engine.Event) {
	p.live.RootEvent(p.root, e)
	if p.view.table || ui.IsFailure(e) {
		p.now.Event(e)
	}
	if !p.view.table {
		p.Printer.Event(e)
	}
}

// Plan implements ui.Printer.
func (p *rootPrinter) Plan(plan *ui.PlanView) {
	if p.view.table {
		plan = onlyChecks(plan)
		p.view.keep(p.root, plan)
	}
	p.Printer.Plan(plan)
}

// keep keeps the text of a whole plan, unless there are too many.
func (v *rootsView) keep(root string, plan *ui.PlanView) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.plans++; v.plans > fleet.Few {
		v.whole = nil
		return
	}
	var text bytes.Buffer
	v.later(&text, false).Plan(plan)
	v.whole[root] = &text
}

// shownRoot has what the process of a worker has printed about a root module, for the view of the caller.
type shownRoot struct {
	Text     []byte          `json:"text,omitempty"`
	Whole    []byte          `json:"whole,omitempty"`    // see rootsView.whole
	Warnings json.RawMessage `json:"warnings,omitempty"` // see rootsView.warnings
	Result   json.RawMessage `json:"result,omitempty"`
}

// give returns what was printed about the only root module of this view.
func (v *rootsView) give(root string, text []byte) (out shownRoot, err error) {
	out.Text = text
	if whole := v.whole[root]; whole != nil {
		out.Whole = whole.Bytes()
	}
	out.Warnings, err = fleet.EncodeDiagnostics(v.warnings)
	return out, err
}

// take adds what another process has printed about a root module.
func (v *rootsView) take(root string, from shownRoot) error {
	warnings, err := fleet.DecodeDiagnostics(from.Warnings)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.warnings = append(v.warnings, warnings...)
	if from.Whole == nil {
		return err
	}
	if v.plans++; v.plans > fleet.Few {
		v.whole = nil
	} else {
		v.whole[root] = bytes.NewBuffer(from.Whole)
	}
	return err
}

// onlyChecks returns a plan with the warnings about checks. The view shows the others once for all root
// modules.
func onlyChecks(plan *ui.PlanView) *ui.PlanView {
	only := *plan.Plan
	only.Warnings = slices.DeleteFunc(slices.Clone(only.Warnings), func(w plans.Warning) bool { return w.Check == "" })
	return &ui.PlanView{Plan: &only, Config: plan.Config, Schemas: plan.Schemas, Later: true}
}

// Diagnostics implements ui.Printer. Warnings of many root modules are shown together.
func (p *rootPrinter) Diagnostics(diags tfdiags.Diagnostics) {
	if !p.view.table || diags.HasErrors() {
		p.Printer.Diagnostics(diags)
		return
	}
	p.view.mu.Lock()
	defer p.view.mu.Unlock()
	p.view.warnings = append(p.view.warnings, diags...)
}

// Message implements ui.Printer. The result of a root module has a line of its own in the view.
func (p *rootPrinter) Message(m ui.Message) {
	if _, applied := m.(ui.Applied); !applied || !p.view.table {
		p.Printer.Message(m)
	}
}

// show shows a finished root module.
func (v *rootsView) show(r *roots.Root, result *fleet.Result, text []byte) {
	app, text := v.app, bytes.TrimSpace(text)
	m := ui.EstateRoot{Name: r.Name, Status: result.Status(), Why: result.Why, Counts: result.Counts()}
	errs := tfdiags.FromError(result.Err)
	if v.table {
		errs = errs.Filter(func(d tfdiags.Diagnostic) bool { // the status says that the root module was interrupted
			_, interrupted := d.Extra.(tfdiags.Interrupted)
			return !interrupted || d.Address != ""
		})
	}
	switch {
	case app.view.JSON:
		app.Printer.Message(m)
		return
	case v.table && result.Err == nil:
		switch m.Status {
		case ui.RootChanges, ui.RootUnchanged:
			v.shown = append(v.shown, rootText{r.Name, text})
		case ui.RootApplied, ui.RootPostponed:
			app.Printer.Message(m)
		}
		return
	case v.table && len(errs) == 0 && result.Incomplete == nil:
		app.Printer.Message(m)
		return
	case v.table && len(text) == 0 && result.Incomplete == nil && v.repeats(r.Name, errs, &m.Why):
		app.Printer.Message(m)
		return
	case len(text) == 0 && result.Err == nil && result.Why == "":
		return // keep the output short: in a large estate, most root modules have no changes
	}
	app.Say("%s", rootHeading(app.Terminal, r.Name))
	switch {
	case result.Skipped:
		app.Say("Not started: %s.", result.Why)
	case m.Status == ui.RootPostponed:
		app.Say("Not applied yet: %s.", result.Why)
	case result.Why != "":
		app.Say("This will be applied later: %s.", result.Why)
	}
	if len(text) > 0 {
		_, _ = app.Out.Write(append(text, '\n'))
	}
	app.Printer.Diagnostics(errs)
	if result.Incomplete != nil && result.Err != nil {
		app.Printer.Message(*result.Incomplete)
	}
}

// repeats reports whether an earlier root module ended with the same errors, which don't concern single
// objects or places. It then sets why, which names that root module.
func (v *rootsView) repeats(name string, errs tfdiags.Diagnostics, why *string) bool {
	key := ""
	for _, d := range errs {
		if d.Subject != nil || d.Address != "" {
			return false
		}
		key += d.Summary + "\n" + d.Detail + "\n"
	}
	first, found := v.failed[key]
	switch {
	case key == "":
		return false
	case !found:
		v.failed[key] = name
		return false
	}
	*why = fmt.Sprintf("%s, as in %s", errs[0].Summary, first)
	return true
}

// still returns a function that prints how far a run is, where nothing else shows that.
func (v *rootsView) still() func(line string) {
	if !v.table || v.app.view.JSON || v.app.view.Concise || v.app.Live.Visible() {
		return nil
	}
	return func(line string) { v.app.Say("%s", line) }
}

// finish shows what concerns all root modules of a run: after a plan of many, the table and the changes, and
// always what did not start, and the warnings.
func (v *rootsView) finish(operation string, results []*fleet.Result) {
	if v.app.view.JSON || !v.table {
		return
	}
	if operation == "plan" {
		v.overview(fleet.Rows(results))
		v.warnings = v.warnings.Filter(func(d tfdiags.Diagnostic) bool { // the overview has the failed checks
			_, check := d.Extra.(tfdiags.CheckRule)
			return !check
		})
	}
	if text := fleet.NotStarted(results); text != "" {
		v.app.Say("\n%s", text)
	}
	v.app.Printer.Diagnostics(v.warnings)
	v.plans, v.whole, v.shown, v.warnings = 0, make(map[string]*bytes.Buffer), nil, nil
}

// overview shows a table of root modules, and what is dangerous in their plans or, if there are few, the
// whole plans.
func (v *rootsView) overview(rows []planview.Root) {
	v.app.Printer.Message(ui.EstateTable{Roots: rows})
	for _, root := range v.shown {
		text := root.text
		if whole := v.whole[root.name]; whole != nil {
			text = bytes.TrimSpace(whole.Bytes())
		}
		if len(text) > 0 {
			v.app.Say("%s", rootHeading(v.app.Terminal, root.name))
			_, _ = v.app.Out.Write(append(text, '\n'))
		}
	}
	if v.whole == nil {
		v.app.Printer.Message(ui.Hint{Text: moreChanges})
	}
}

// moreChanges says how to see what the view of many root modules leaves out.
const moreChanges = "\nOnly what is destroyed, replaced or forgotten is shown in detail. To see all changes, use " +
	"-view=full, brief, tree or table."
