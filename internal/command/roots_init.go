package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tofu/internal/roots"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdRootsInit = &Command{
	Name: "init", Args: "[DIR...]", Short: "Initialize all root modules",
	Long: `
Does what "tofu init" does, with the same options, in each root module below the
directories. Lists once what was installed, and prints one line for each root
module, or its whole output if it failed.`,
	New: with(func(f *rootsInitFlags, fs *options) {
		f.declare(fs)
		fs.BoolVar(&f.Verbose, "verbose", false, "Show the whole output of each root module.")
		f.addWorkers(fs)
		f.addSelect(fs)
	}, runRootsInit),
}

type rootsInitFlags struct {
	initFlags
	workerFlags
	selectFlags
	Verbose bool
}

func runRootsInit(ctx context.Context, app *App, f *rootsInitFlags, args []string) error {
	initRoot := func(sub *App, note func(what string)) error {
		one := f.initFlags
		return (&initRun{app: sub, flags: &one, note: note}).run(ctx)
	}
	job := &rootsJob{app: app, workers: f.Workers, doing: "Initializing"}
	if f.Verbose || app.view.JSON {
		job.run = func(sub *App) error { return initRoot(sub, nil) }
		return job.each(ctx, &f.selectFlags, args)
	}
	estate, selected, err := f.find(ctx, app, args)
	if estate == nil {
		return err
	}
	s := &initSummary{installed: make(map[string]bool), warned: make(map[string]bool)}
	outputs := make([]rootOutput, len(selected))
	job.run = func(sub *App) error { return s.run(sub, initRoot) }
	job.work(ctx, selected, func(i int, out rootOutput) { outputs[i] = out })
	if failed := s.show(app, selected, outputs); failed > 0 {
		return exitStatus(1)
	}
	return err
}

// initSummary collects what several runs of init report, so that it is shown only once.
type initSummary struct {
	mu        sync.Mutex
	installed map[string]bool // installed providers and modules, with their versions
	warnings  tfdiags.Diagnostics
	warned    map[string]bool // texts of warnings that were already reported
}

// run runs init in one root module. If init fails, its warnings become part of the output of
// the root module.
func (s *initSummary) run(sub *App, initRoot func(*App, func(what string)) error) error {
	kept := &keptWarnings{Printer: sub.Printer}
	sub.Printer = kept
	err := initRoot(sub, s.add)
	if err == nil {
		s.warn(append(kept.list, sub.Warnings.Take()...))
	}
	return err
}

func (s *initSummary) add(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installed[what] = true
}

// warn keeps the warnings that no other root module has reported.
func (s *initSummary) warn(list tfdiags.Diagnostics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range list {
		text := fmt.Sprint(d.Summary, "\n", d.Detail, d.Subject)
		if !s.warned[text] {
			s.warned[text] = true
			s.warnings.Add(d)
		}
	}
}

// show shows the outcome and returns the number of root modules that failed.
func (s *initSummary) show(a *App, selected []*roots.Root, outputs []rootOutput) (failed int) {
	if len(s.installed) > 0 {
		a.Say("Installed:")
		for _, what := range slices.Sorted(maps.Keys(s.installed)) {
			a.Say("- %s", what)
		}
		a.Say("")
	}
	for i, r := range selected {
		switch {
		case outputs[i].skipped:
			failed++
			a.Say("%s: not started, because the run was interrupted", r.Name)
		case !outputs[i].failed():
			a.Say("%s: initialized", r.Name)
		}
	}
	for i, r := range selected {
		if outputs[i].failed() {
			failed++
			outputs[i].show(a.Terminal, r.Name)
		}
	}
	a.Printer.Diagnostics(s.warnings)
	count := ui.Count(len(selected), "root module")
	switch {
	case failed > 0:
		a.Say("\n%d of %s failed.", failed, count)
	case len(selected) == 1:
		a.Success("\n" + count + " is initialized.")
	default:
		a.Success("\n" + count + " are initialized.")
	}
	if failed == 0 && !a.Automated {
		a.Say("\nRun \"tofu roots plan\" to see what would change.")
	}
	return failed
}

// keptWarnings is a printer that also stores all diagnostics.
type keptWarnings struct {
	ui.Printer
	list tfdiags.Diagnostics
}

// Diagnostics implements ui.Printer.
func (p *keptWarnings) Diagnostics(list tfdiags.Diagnostics) {
	p.list = append(p.list, list...)
	p.Printer.Diagnostics(list)
}
