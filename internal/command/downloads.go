package command

import (
	"fmt"
	"io"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile/install"
)

// downloads shows on a terminal how far the downloads of providers are: one line at the bottom that is written again and again.
// What else is said while they run is said within around.
type downloads struct {
	out   io.Writer // nil shows nothing
	width int
	now   func() time.Time

	mu      sync.Mutex
	running map[download]install.Progress
	note    string // what stands before them
	visible bool
	last    time.Time
}

type download struct {
	provider          addrs.Provider
	version, platform string
}

// refreshed is how often the line may change.
const refreshed = 100 * time.Millisecond

// newDownloads shows nothing unless a person looks at a terminal.
func (a *App) newDownloads() *downloads {
	d := &downloads{width: a.Width, now: time.Now, running: make(map[download]install.Progress)}
	if a.OutTerminal && !a.view.JSON {
		d.out = a.Out
	}
	return d
}

// observe makes an observer of one that prints lines.
func (d *downloads) observe(tell func(install.Event)) func(install.Event) {
	return func(e install.Event) {
		p, ok := e.(install.Progress)
		if !ok {
			d.around(func() {
				d.forget(e)
				tell(e)
			})
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		key := download{p.Provider, p.Version.String(), p.Platform.String()}
		if d.running[key] = p; p.Total > 0 && p.Done >= p.Total {
			delete(d.running, key)
		}
		if now := d.now(); now.Sub(d.last) >= refreshed {
			d.last = now
			d.draw()
		}
	}
}

// forget drops what is complete, also where nobody knew how much it would be.
func (d *downloads) forget(e install.Event) {
	for key := range d.running {
		switch e := e.(type) {
		case install.Fetched:
			if key == (download{e.Provider, e.Version.String(), e.Platform.String()}) {
				delete(d.running, key)
			}
		case install.Installed:
			if key.provider == e.Provider {
				delete(d.running, key)
			}
		}
	}
}

// around takes the line away while something else is printed.
func (d *downloads) around(print func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	print()
}

// remark sets what stands before the downloads.
func (d *downloads) remark(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = text
}

// end takes the line away for good.
func (d *downloads) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	d.out = nil
}

func (d *downloads) clear() {
	if d.visible {
		fmt.Fprint(d.out, "\r\x1b[K")
		d.visible = false
	}
}

func (d *downloads) draw() {
	if d.out == nil {
		return
	}
	d.clear()
	line := d.line()
	if d.width > 1 && len(line) >= d.width { // a longer line could not be taken away again
		line = line[:d.width-1]
	}
	if line != "" {
		fmt.Fprint(d.out, line)
		d.visible = true
	}
}

func (d *downloads) line() string {
	var done, total int64
	name, known := "", true
	for key, p := range d.running {
		name = fmt.Sprintf("%s %s for %s", key.provider.ForDisplay(), key.version, key.platform)
		done, total = done+p.Done, total+p.Total
		known = known && p.Total > 0
	}
	switch len(d.running) {
	case 0:
		return d.note
	case 1:
	default:
		name = fmt.Sprintf("%d downloads", len(d.running))
	}
	if d.note != "" {
		name = d.note + "; " + name
	}
	if !known {
		return fmt.Sprintf("  %s: %s", name, megabytes(done))
	}
	return fmt.Sprintf("  %s: %s of %s (%d %%)", name, megabytes(done), megabytes(total), done*100/total)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
