package fleet

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// stillInterval is the time between two messages about how far a run is.
const stillInterval = 10 * time.Second

// pulse knows how far a run is.
type pulse struct {
	what  string
	total int

	mu      sync.Mutex
	done    int
	running []string // names of root modules, in the order in which they began
}

// start passes a line about the run to the function still at intervals, until the returned function is
// called. still may be nil.
func (p *pulse) start(still func(line string)) (end func()) {
	if still == nil {
		return func() {}
	}
	ticker, ended := time.NewTicker(stillInterval), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				still(p.line())
			case <-ended:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
	}
}

// visit records the start of the work on a root module. The returned function records its end.
func (p *pulse) visit(name string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, name)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.done++
		i := slices.Index(p.running, name)
		p.running = slices.Delete(p.running, i, i+1)
	}
}

// line says how many root modules are done, and which of the others runs longest.
func (p *pulse) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s: %d of %d done", p.what, p.done, p.total)
	switch n := len(p.running); n {
	case 0:
		return text + "."
	case 1:
		return fmt.Sprintf("%s, %s is still running.", text, p.running[0])
	default:
		return fmt.Sprintf("%s, %s and %d more are still running.", text, p.running[0], n-1)
	}
}
