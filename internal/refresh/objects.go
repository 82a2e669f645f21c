package refresh

import (
	"fmt"
	"iter"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// object names a stored object.
type object struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
}

// String returns the name of the object in the file of ages.
func (o object) String() string {
	if o.deposed == addrs.NotDeposed {
		return o.addr.String()
	}
	return fmt.Sprintf("%s (deposed %s)", o.addr, o.deposed)
}

// stored returns the managed objects of a state.
func stored(st *states.State) iter.Seq[object] {
	return func(yield func(object) bool) {
		for r := range st.Resources() {
			if r.Addr.Resource.Mode != addrs.Managed {
				continue
			}
			for key, inst := range r.Instances {
				addr := r.Addr.Instance(key)
				if inst.Current != nil && !yield(object{addr: addr}) {
					return
				}
				for deposed := range inst.Deposed {
					if !yield(object{addr, deposed}) {
						return
					}
				}
			}
		}
	}
}

// objects is a set of objects.
type objects struct {
	instances map[addrs.AbsInstance]bool
	resources map[addrs.AbsResource]bool // all instances
}

func newObjects() *objects {
	return &objects{map[addrs.AbsInstance]bool{}, map[addrs.AbsResource]bool{}}
}

func (s *objects) add(targets []addrs.Target) {
	for _, t := range targets {
		if of := t.Resource.InInstance(t.Module); t.HasKey {
			s.instances[of.Instance(t.Key)] = true
		} else {
			s.resources[of] = true
		}
	}
}

func (s *objects) has(o object) bool { return s.instances[o.addr] || s.resources[o.addr.Abs()] }

// candidates are the objects that a plan could read.
type candidates struct {
	mu   sync.Mutex
	read map[object]bool // whether the plan has read the object
}

func (c *candidates) add(o object, read bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[o] = read
}

// missed reports whether the plan has left out any object of a set.
func (c *candidates) missed(of *objects) bool {
	for o, read := range c.read {
		if !read && of.has(o) {
			return true
		}
	}
	return false
}

// sentEvent is an event that must not be sent again.
type sentEvent struct {
	object
	kind string
}

// observer returns the observer of a round. Reads that an earlier round has made are not reported
// again. Failures are held back, because the next round may not have them.
func (r *rounds) observer() func(engine.Event) {
	if r.env.Observe == nil {
		return nil
	}
	first, mu := r.count == 1, &sync.Mutex{}
	once := func(kind string, o engine.Object) bool {
		mu.Lock()
		defer mu.Unlock()
		key := sentEvent{object{o.Addr, o.Deposed}, kind}
		sent := r.sent[key]
		r.sent[key] = true
		return !sent
	}
	return func(e engine.Event) {
		send := true
		switch e := e.(type) {
		case engine.Failure:
			if send = !r.limited; !send {
				mu.Lock()
				r.failures = append(r.failures, e)
				mu.Unlock()
			}
		case engine.Planned:
			send = first // it only counts
		case engine.RefreshStart:
			send = once("refresh", e.Object)
		case engine.RefreshDone:
			send = once("refreshed", e.Object)
		case engine.ImportStart:
			send = once("import", e.Object)
		case engine.ImportDone:
			send = once("imported", e.Object)
		case engine.ApplyStart:
			send = e.Action != plans.Read || once("data", e.Object)
		case engine.ApplyDone:
			send = e.Action != plans.Read || once("data read", e.Object)
		}
		if send {
			r.env.Observe(e)
		}
	}
}
