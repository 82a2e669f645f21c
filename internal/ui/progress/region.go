package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/ui/termtext"
)

// interval is the time between two drawings.
const interval = 100 * time.Millisecond

// Sizes for terminals that don't report a size, and limits for those that report impossible
// ones.
const (
	defaultColumns, defaultRows = 80, 24
	maxColumns, maxRows         = 1000, 500
)

// A Region is a group of lines at the bottom of a terminal.
type Region struct {
	out  io.Writer
	size func() (columns, rows int)
	draw func(columns, rows int) []string

	mu      sync.Mutex
	shown   []string // the lines on the terminal
	columns int      // width of the terminal when the lines were drawn
	midLine bool     // whether the last output ended within a line
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

// NewRegion returns a region that shows the lines that draw returns, until the region is
// closed. The lines may have colors, but no control characters, and at most the given number of
// columns. size returns the current size of the terminal.
func NewRegion(out io.Writer, size func() (columns, rows int), draw func(columns, rows int) []string) *Region {
	r := &Region{out: out, size: size, draw: draw, stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.refresh()
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

// Writer returns a writer to the same terminal. Its output appears above the region.
func (r *Region) Writer(to io.Writer) io.Writer { return &aboveRegion{r, to} }

type aboveRegion struct {
	region *Region
	to     io.Writer
}

// Write implements io.Writer.
func (w *aboveRegion) Write(p []byte) (int, error) {
	r := w.region
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	if len(p) > 0 {
		r.midLine = p[len(p)-1] != '\n'
	}
	n, err := w.to.Write(p)
	if err != nil {
		return n, fmt.Errorf("writing to the terminal: %w", err)
	}
	return n, nil
}

// Close erases the region for good.
func (r *Region) Close() {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.erase()
	r.mu.Unlock()
	if !again {
		close(r.stop)
		<-r.stopped
	}
}

// Hide erases the region until the next tick at which there is something to draw.
func (r *Region) Hide() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
}

// refresh draws the region if it has changed. It ignores errors, because there is nowhere to
// report them.
func (r *Region) refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.midLine {
		return
	}
	columns, rows := r.dimensions()
	lines := r.draw(columns-1, max(rows/3, 1))
	if slices.Equal(lines, r.shown) && columns == r.columns {
		return
	}
	if len(lines) == 0 {
		r.erase()
		return
	}
	var b strings.Builder
	b.WriteString(r.toTop(columns))
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line + "\x1b[K")
	}
	// Leave the cursor in the first column, so that text that the terminal echoes, such as ^C,
	// doesn't wrap the last line.
	b.WriteString("\x1b[J\r")
	r.shown, r.columns = lines, columns
	_, _ = io.WriteString(r.out, b.String())
}

func (r *Region) erase() {
	if len(r.shown) == 0 {
		return
	}
	columns, _ := r.dimensions()
	// Clear the rows one by one. A single sequence could clear the rest of the screen. But if it
	// starts in the first row, tmux moves the cleared text to its history.
	rows := height(r.shown, columns)
	text := r.toTop(columns) + "\x1b[K" + strings.Repeat("\x1b[B\x1b[K", rows-1) + up(rows-1)
	_, _ = io.WriteString(r.out, text)
	r.shown = nil
}

// toTop returns the sequence that moves the cursor from the start of the region's last line to
// the start of its first line.
func (r *Region) toTop(columns int) string {
	return "\r" + up(height(r.shown[:max(len(r.shown)-1, 0)], columns))
}

// height returns the number of rows that lines take. A terminal that has become narrower wraps
// them.
func height(lines []string, columns int) int {
	rows := 0
	for _, line := range lines {
		rows += max((termtext.Width(termtext.Plain(line))+columns-1)/columns, 1)
	}
	return rows
}

// up returns the sequence that moves the cursor up by some rows.
func up(rows int) string {
	if rows <= 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", rows)
}

// dimensions returns the size of the terminal, corrected to sensible values.
func (r *Region) dimensions() (columns, rows int) {
	columns, rows = r.size()
	if columns <= 0 {
		columns = defaultColumns
	}
	if rows <= 0 {
		rows = defaultRows
	}
	return max(min(columns, maxColumns), 2), min(rows, maxRows)
}
