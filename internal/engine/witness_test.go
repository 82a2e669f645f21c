package engine_test

import (
	"fmt"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// witness records the events of an apply in the same way as the journal. After every event, it
// checks that its records account for every existing object.
type witness struct {
	p     *player
	crash int // number of events after which the process is killed; 0 for never

	mu      sync.Mutex
	state   *states.State
	running map[started]plans.Action // started operations that have not ended
	names   map[started]string       // names of the objects that the operations create
	events  int
	err     error
	restore func() // restores the cloud as it was at the crash; nil if there was no crash
	then    *states.State
}

type started struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
}

func newWitness(p *player, plan *plans.Plan, crash int) *witness {
	return &witness{p: p, crash: crash, state: plan.Prior.Clone(), running: map[started]plans.Action{},
		names: map[started]string{}}
}

func (w *witness) observe(e engine.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case engine.ApplyStart:
		at := started{e.Addr, e.Deposed}
		w.running[at] = e.Action
		if v := e.Planned; e.Action == plans.Create {
			w.names[at] = v.GetAttr("name").AsString()
		}
	case engine.ApplyDone:
		delete(w.running, started{e.Addr, e.Deposed})
	case engine.ObjectStored:
		if e.New == nil && w.state.Instance(e.Addr) == nil {
			break
		}
		if e.Deposed == addrs.NotDeposed {
			w.state.SetCurrent(e.Addr, e.New, e.Provider)
		} else {
			w.state.SetDeposed(e.Addr, e.Deposed, e.New, e.Provider)
		}
	case engine.ObjectMoved:
		for key, obj := range map[addrs.DeposedKey]*states.Object{e.To: e.Object, e.From: nil} {
			if key == addrs.NotDeposed {
				w.state.SetCurrent(e.Addr, obj, e.Provider)
			} else {
				w.state.SetDeposed(e.Addr, key, obj, e.Provider)
			}
		}
	default:
		return
	}
	w.events++
	w.account()
	if w.events == w.crash {
		w.restore, w.then = w.p.s.Cloud.Remember(), w.state.Clone()
	}
}

// account checks that every existing object is in the recorded state, outside of it on purpose, or
// being created.
func (w *witness) account() {
	known := ids(w.state)
	for _, id := range w.p.s.Cloud.Objects() {
		if !known[id] && !w.p.outside[id] && !w.making(id) && w.err == nil {
			w.err = fmt.Errorf("after event %d %s exists, and nothing tells of it", w.events, id)
		}
	}
}

func (w *witness) making(id string) bool {
	for at, action := range w.running {
		if action == plans.Create && strings.HasPrefix(id, w.names[at]+"-") {
			return true
		}
	}
	return false
}

// rewind restores the cloud and the state as they were at the crash. The journal reports objects
// that were being created at that time, so the test counts these as unmanaged.
func (w *witness) rewind() {
	if w.restore == nil {
		return
	}
	w.restore()
	w.then.Prune()
	w.p.s.State = w.then
	for _, id := range w.p.unmanaged() {
		w.p.outside[id] = true
	}
}
