package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/ui"
	"tofu/internal/warm"
)

// The times between two looks at the files, and between two updates of the first line.
const (
	watchFiles = 200 * time.Millisecond
	watchClock = time.Second
)

// watching shows the plan of files that change, in place.
type watching struct {
	app    *App
	core   *warm.Core
	module *warm.Module
	opts   warm.PlanOptions
	anew   time.Duration // the age at which objects are read again; 0 for never

	plan  *warm.Plan
	text  string // the plan as text
	took  time.Duration
	shown string
}

// watch shows plans until an interrupt.
func (f *planCommandFlags) watch(ctx context.Context, app *App) error {
	w := &watching{app: app, anew: f.Look.OlderThan}
	if err := f.watchOptions(w); err != nil {
		return err
	}
	var err error
	if w.core, _, err = warmCore(app); err != nil {
		return err
	}
	defer w.core.Close()
	if w.module, err = w.core.Open(".", warm.Options{Variables: f.Variables, Lint: f.Lint}); err != nil {
		return err
	}
	app.Interrupts.OnInterrupt(func(int) {}, func(error) {})
	fmt.Fprint(app.Out, "\x1b[?1049h\x1b[?25l") // the alternate screen, without a cursor
	err = w.loop(ctx)
	fmt.Fprint(app.Out, "\x1b[?25h\x1b[?1049l")
	fmt.Fprint(app.textOut(), w.text) // the last plan stays
	return err
}

// watchOptions returns an error unless the options go together with -watch.
func (f *planCommandFlags) watchOptions(w *watching) error {
	other := f.Look.Options
	other.OlderThan = 0
	switch {
	case !w.app.OutTerminal || w.app.Env("TERM") == "dumb":
		return badUsage("A terminal is required", "-watch shows the plan on a terminal. For programs, there is \"tofu serve\".")
	case f.Out != "" || f.GenerateConfig != "" || f.Against != "" || f.Undo != "" || f.Summary || f.JSON || f.JSONInto != "" ||
		f.DetailedExitCode || len(f.Invoke) > 0:
		return badUsage("Incompatible options", "-watch can't be used together with options that save or undo something, or "+
			"that are for programs.")
	case f.StatePaths != (session.StatePaths{}) || other.Limited():
		return badUsage("Incompatible options", "Of the options that say what is read, only -refresh=false and "+
			"-refresh-older-than can be used together with -watch.")
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	w.opts = warm.PlanOptions{Mode: opts.Mode, Targets: opts.Targets, Exclude: opts.Excludes, Replace: opts.ForceReplace}
	if opts.SkipRefresh {
		w.opts.Refresh = warm.None
	}
	return nil
}

// loop plans when files change, and shows the age of the plan.
func (w *watching) loop(ctx context.Context) error {
	planned := -1
	for {
		if revision := w.core.Revision(); revision != planned || w.old() {
			w.shown = ""
			if err := w.again(ctx); err != nil {
				return nil // an interrupt ends the command
			}
			planned = w.plan.Revision
		}
		w.draw()
		for range watchClock / watchFiles {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchFiles):
			}
			if w.core.Revision() != planned {
				break
			}
		}
	}
}

// old reports whether objects must be read again.
func (w *watching) old() bool {
	return w.anew > 0 && w.opts.Refresh != warm.None && w.plan != nil && time.Since(w.plan.Read) > w.anew
}

// again plans again.
func (w *watching) again(ctx context.Context) error {
	opts := w.opts
	if w.old() {
		opts.Refresh = warm.All
	}
	start := time.Now()
	plan, err := w.module.Plan(ctx, opts)
	if err != nil {
		return err
	}
	w.plan, w.took = plan, time.Since(start)
	var text bytes.Buffer
	view := w.app.viewOptions(&text)
	view.Err, view.Sources, view.Terminal = &text, plan.Source, true
	if !view.View.Chosen {
		view.View.Name = "brief"
	}
	printer := ui.NewHuman(view)
	if plan.View != nil {
		printer.Plan(plan.View)
	}
	printer.Diagnostics(plan.Diagnostics)
	w.text = strings.TrimLeft(text.String(), "\n")
	return nil
}

// draw shows the plan if that would look different from what is shown.
func (w *watching) draw() {
	state := "nothing is read again"
	if w.opts.Refresh != warm.None && w.opts.Mode != plans.RefreshOnly {
		state = "objects read " + time.Since(w.plan.Read).Truncate(time.Second).String() + " ago"
	}
	_, rows := w.app.Size()
	lines := strings.Split(strings.TrimRight(w.text, "\n"), "\n")
	if room := max(cmp.Or(rows, 24)-3, 5); len(lines) > room {
		lines = append(lines[:room-1:room-1], fmt.Sprintf("… and %s", ui.Count(len(lines)-room+1, "more line")))
	}
	var b strings.Builder
	on, off := w.app.Bold()
	fmt.Fprintf(&b, "\x1b[H%sWatching%s: planned in %s, %s. Ctrl-C ends.\x1b[K\n\x1b[K\n", on, off,
		w.took.Round(time.Millisecond), state)
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J")
	if text := b.String(); text != w.shown {
		w.shown = text
		_, _ = io.WriteString(w.app.Out, text)
	}
}
