package ui

import (
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/ui/termtext"
)

// verbs holds the progress messages for each action.
var verbs = map[plans.Action]struct{ start, still, done, failed string }{
	plans.Create: {"Creating...", "Still creating...", "Creation complete", "Creation errored"},
	plans.Update: {"Modifying...", "Still modifying...", "Modifications complete", "Modifications errored"},
	plans.Delete: {"Destroying...", "Still destroying...", "Destruction complete", "Destruction errored"},
	plans.Read:   {"Reading...", "Still reading...", "Read complete", "Read errored"},
	plans.Invoke: {"Invoking...", "Still invoking...", "Invocation complete", "Invocation errored"},
}

// stillInterval is the time between two messages about a long-running step.
const stillInterval = 10 * time.Second

// heartbeats repeats messages about long-running steps. Each running step has a timer.
type heartbeats struct {
	report func(engine.ApplyStart, time.Duration)

	mu      sync.Mutex
	running map[stepID]*time.Timer
}

type stepID struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
	from    string // see engine.Object
}

func newHeartbeats(report func(engine.ApplyStart, time.Duration)) *heartbeats {
	return &heartbeats{report: report, running: make(map[stepID]*time.Timer)}
}

func (p *heartbeats) start(e engine.ApplyStart) {
	begin := time.Now()
	id := stepID{e.Addr, e.Deposed, e.From}
	p.mu.Lock()
	defer p.mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(stillInterval, func() {
		p.mu.Lock()
		current := p.running[id] == timer
		if current {
			timer.Reset(stillInterval)
		}
		p.mu.Unlock()
		if current {
			p.report(e, time.Since(begin).Round(stillInterval))
		}
	})
	p.running[id] = timer
}

func (p *heartbeats) stop(o engine.Object) {
	id := stepID{o.Addr, o.Deposed, o.From}
	p.mu.Lock()
	defer p.mu.Unlock()
	if timer := p.running[id]; timer != nil {
		timer.Stop()
		delete(p.running, id)
	}
}

// seconds formats an elapsed time for humans.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// shortID returns the identifier, without its middle if it is longer than 80 characters.
func shortID(id string) string {
	const limit = 80
	runes := []rune(id)
	if len(runes) <= limit {
		return id
	}
	half := limit/2 - 1
	return string(runes[:half-1]) + "..." + string(runes[len(runes)-half:])
}

// identified returns an object's identifier in brackets after a space, or "" if none exists.
func identified(o engine.Object) string {
	if o.IDValue == "" {
		return ""
	}
	return " [" + o.IDKey + "=" + termtext.Printable(shortID(o.IDValue)) + "]"
}

// objectName returns the address of an object, and its deposed key or what triggers it, if it has one.
func objectName(o engine.Object) string {
	if o.From != "" {
		return o.Addr.String() + " (" + o.From + ")"
	}
	if o.Deposed == addrs.NotDeposed {
		return o.Addr.String()
	}
	return o.Addr.String() + " (deposed object " + string(o.Deposed) + ")"
}
