package ui

import (
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
)

// verbs say what is done to an object.
var verbs = map[plans.Action]struct{ start, still, done, failed string }{
	plans.Create: {"Creating...", "Still creating...", "Creation complete", "Creation errored"},
	plans.Update: {"Modifying...", "Still modifying...", "Modifications complete", "Modifications errored"},
	plans.Delete: {"Destroying...", "Still destroying...", "Destruction complete", "Destruction errored"},
	plans.Read:   {"Reading...", "Still reading...", "Read complete", "Read errored"},
	plans.Open:   {"Opening...", "Still opening...", "Open complete", "Open errored"},
}

// stillEvery is how often one is told that something still goes on.
const stillEvery = 10 * time.Second

// progress tells regularly of steps that take long. Each that is under way has a timer.
type progress struct {
	tell func(engine.ApplyStart, time.Duration)

	mu      sync.Mutex
	running map[stepID]*time.Timer
}

type stepID struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
}

func newProgress(tell func(engine.ApplyStart, time.Duration)) *progress {
	return &progress{tell: tell, running: make(map[stepID]*time.Timer)}
}

func (p *progress) start(e engine.ApplyStart) {
	begin := time.Now()
	id := stepID{e.Addr, e.Deposed}
	p.mu.Lock()
	defer p.mu.Unlock()
	var timer *time.Timer
	timer = time.AfterFunc(stillEvery, func() {
		p.mu.Lock()
		current := p.running[id] == timer
		if current {
			timer.Reset(stillEvery)
		}
		p.mu.Unlock()
		if current {
			p.tell(e, time.Since(begin).Round(stillEvery))
		}
	})
	p.running[id] = timer
}

func (p *progress) stop(o engine.Object) {
	id := stepID{o.Addr, o.Deposed}
	p.mu.Lock()
	defer p.mu.Unlock()
	if timer := p.running[id]; timer != nil {
		timer.Stop()
		delete(p.running, id)
	}
}

// seconds is an elapsed time as people write it.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// shortID shortens an identifier that would fill the screen.
func shortID(id string) string {
	const limit = 80
	runes := []rune(id)
	if len(runes) <= limit {
		return id
	}
	half := limit/2 - 1
	return string(runes[:half-1]) + "..." + string(runes[len(runes)-half:])
}

// identified is an object's identifier in brackets, after a space; "" where there is none.
func identified(o engine.Object) string {
	if o.IDValue == "" {
		return ""
	}
	return " [" + o.IDKey + "=" + printable(shortID(o.IDValue)) + "]"
}

// objectName names an object for people.
func objectName(o engine.Object) string {
	if o.Deposed == addrs.NotDeposed {
		return o.Addr.String()
	}
	return o.Addr.String() + " (deposed object " + string(o.Deposed) + ")"
}
