package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/session"
	"tofu/internal/ui/progress"
)

// downloads shows the progress of provider and module downloads in one line. The line is part
// of the live display or, without one, at the bottom of the terminal. Other output during
// downloads must be printed in a call of the around method.
type downloads struct {
	out   io.Writer // nil to show nothing
	live  *progress.Live
	width int
	now   func() time.Time
	spans *packageSpans // spans of a trace, which receive the same events

	mu      sync.Mutex
	running map[string]download // unfinished downloads by name
	note    string              // text shown before the downloads
	visible bool
	last    time.Time
}

// download is the progress of one download.
type download struct {
	done, total int64  // bytes; total is 0 if unknown
	step        string // text shown instead of the number of bytes
}

// refreshInterval is the minimum time between two updates of the line.
const refreshInterval = 100 * time.Millisecond

// newDownloads returns the progress line of a command in a session. The line is not shown if there
// is no terminal, or if the options of the command turn it off.
func newDownloads(s *session.Session, view *viewFlags) *downloads {
	d := &downloads{width: s.Width, now: time.Now, spans: newPackageSpans(s.Timings),
		running: make(map[string]download)}
	switch {
	case s.Live.Visible():
		d.live = s.Live
	case s.OutTerminal && !view.JSON && view.Progress != "plain" && view.Progress != "off":
		d.out = s.Out
	}
	return d
}

// providers returns an observer of provider installations. The observer updates the line and
// calls report, which prints lines.
func (d *downloads) providers(report func(install.Event)) func(install.Event) {
	return func(e install.Event) {
		switch e := e.(type) {
		case install.Progress:
			d.update(packageName(e.Provider, e.Version, e.Platform), download{done: e.Done, total: e.Total})
			return
		case install.Fetched:
			d.forget(packageName(e.Provider, e.Version, e.Platform))
		case install.Installed:
			d.forget(packageName(e.Provider, e.Version, depsfile.CurrentPlatform()))
		}
		d.around(func() {
			d.spans.provider(e)
			report(e)
		})
	}
}

func packageName(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) string {
	return fmt.Sprintf("%s %s for %s", p.ForDisplay(), v, platform)
}

// modules returns an observer of module installations. The observer updates the line and calls
// report, which prints lines.
func (d *downloads) modules(report func(getmodules.Event)) func(getmodules.Event) {
	return func(e getmodules.Event) {
		if p, ok := e.(getmodules.Progress); ok {
			d.module(p)
			return
		}
		d.around(func() {
			d.spans.module(e)
			report(e)
		})
	}
}

func (d *downloads) module(p getmodules.Progress) {
	if p.Over {
		d.forget(p.Source)
	} else {
		d.update(p.Source, download{p.Done, p.Total, p.Step})
	}
}

// update records the progress of a download. A complete download is no longer shown.
func (d *downloads) update(name string, now download) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.total > 0 && now.done >= now.total {
		delete(d.running, name)
	} else {
		d.running[name] = now
	}
	d.draw()
}

// forget drops a completed download, including one of unknown size.
func (d *downloads) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, name)
}

// around removes the line while the function print runs, so that the function can write other
// output.
func (d *downloads) around(print func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	print()
}

// remark sets the text that the line shows in front of the downloads.
func (d *downloads) remark(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = text
	d.draw()
}

// end removes the line.
func (d *downloads) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	d.out, d.live = nil, nil
	d.spans.end()
}

func (d *downloads) clear() {
	d.live.Note("")
	if d.visible {
		fmt.Fprint(d.out, "\r\x1b[K")
		d.visible = false
	}
}

// draw redraws the line. Without a live display, it does nothing if it drew the line less than
// refreshInterval ago.
func (d *downloads) draw() {
	if d.live != nil {
		d.live.Note(strings.TrimSpace(d.line()))
		return
	}
	now := d.now()
	if d.out == nil || now.Sub(d.last) < refreshInterval {
		return
	}
	d.last = now
	d.clear()
	line := d.line()
	if d.width > 1 && len(line) >= d.width { // a line that wraps could not be erased
		line = line[:d.width-1]
	}
	if line != "" {
		fmt.Fprint(d.out, line)
		d.visible = true
	}
}

func (d *downloads) line() string {
	var done, total int64
	name, step, known := "", "", true
	for what, p := range d.running {
		name, step = what, p.step
		done, total = done+p.done, total+p.total
		known = known && p.total > 0
	}
	switch len(d.running) {
	case 0:
		if d.note == "" {
			return ""
		}
		return "  " + d.note
	case 1:
	default:
		name, step = fmt.Sprintf("%d downloads", len(d.running)), ""
	}
	if d.note != "" {
		name = d.note + "; " + name
	}
	switch {
	case step != "":
		return fmt.Sprintf("  %s: %s", name, step)
	case !known:
		return fmt.Sprintf("  %s: %s", name, megabytes(done))
	}
	return fmt.Sprintf("  %s: %s of %s (%d %%)", name, megabytes(done), megabytes(total), done*100/total)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
