package command

import (
	"errors"
	"time"

	"tofu/internal/terminal"
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// progressModes are the values of -progress. The first one is the default.
var progressModes = []string{"auto", "bar", "plain", "off"}

// addProgress declares the option -progress of commands that may take a long time.
func (f *viewFlags) addProgress(fs *options) {
	f.Progress = progressModes[0]
	mode := func(text string) error {
		f.Progress = text
		return oneOf(text, progressModes)
	}
	fs.Func("progress", "How to show the progress: `auto` (a bar on a terminal, lines elsewhere), bar, plain "+
		"(lines) or off.", mode)
}

// startProgress starts the live display of progress that the options request. The returned function
// ends it. The printer must be set later, because it prints above the display.
func (a *App) startProgress(view *viewFlags) (end func(), err error) {
	end = func() {}
	terminalOut := a.OutTerminal && !view.JSON
	switch view.Progress {
	case "off":
		view.Concise = true
		return end, nil
	case "bar":
		if view.JSON {
			return end, errors.New("-progress=bar is for humans, and can't be used with -json")
		}
		if !a.OutTerminal {
			return end, errors.New("-progress=bar needs a terminal, but the output is not one")
		}
	case "":
		return end, nil
	}
	if !terminalOut || view.Concise {
		return end, nil
	}
	style := termtext.Style{On: !view.NoColor && a.colorful()}
	a.Live = progress.New(style, time.Now)
	if view.Progress == "plain" || view.Progress == "auto" && !a.liveFits() {
		return end, nil // without the display, a.Live still reports slow operations
	}
	region := progress.NewRegion(a.Out, a.Size, a.Live.Lines)
	a.Live.Attach(region)
	out, errs := a.Out, a.Err
	a.Out = region.Writer(out)
	if a.ErrTerminal {
		a.Err = region.Writer(errs)
	}
	return func() {
		a.Live.Close()
		a.Out, a.Err = out, errs
		a.setView(a.view)
	}, nil
}

// liveFits reports whether this terminal can show a live display and nothing else writes to the
// terminal.
func (a *App) liveFits() bool {
	term := a.Env("TERM")
	return !a.Automated && term != "dumb" && (term != "" || a.Env("OS") == "Windows_NT") &&
		!terminal.LogsOnTerminal(a.Env)
}
