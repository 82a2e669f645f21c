package refresh

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// reads follows what happens to the objects that a plan reads. If an object can't be read, and what it
// depends on was deleted outside, then the error is a consequence: the next round takes the object
// as deleted, too. For example, a bucket that was deleted by hand takes its settings along.
type reads struct {
	useStored bool // whether the plan uses the stored values of other objects that can't be read

	mu     sync.Mutex
	gone   map[object]bool // in the current round
	failed map[object]error
	taken  map[object]addrs.AbsInstance // objects to take as deleted, with the object that took them along
}

func newReads(useStored bool) *reads {
	return &reads{useStored: useStored, taken: map[object]addrs.AbsInstance{}}
}

// begin begins a round.
func (r *reads) begin() { r.gone, r.failed = map[object]bool{}, map[object]error{} }

func (r *reads) done(c engine.RefreshCandidate, gone bool, err error) engine.AfterError {
	o := object{c.Addr, c.Deposed}
	if err == nil && !gone {
		return engine.ReportError
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone {
		r.gone[o] = true
		return engine.ReportError
	}
	r.failed[o] = err
	switch _, taken := r.taken[o]; {
	case taken:
		return engine.TakeAsGone
	case r.useStored:
		return engine.UseStored
	}
	return engine.ReportError
}

func (r *reads) unread(o object) bool {
	_, taken := r.taken[o]
	return r.failed[o] != nil && !taken
}

// follow takes as deleted what failed because of a deleted object. It reports whether there is
// anything new. plan may be nil.
func (r *reads) follow(plan *plans.Plan, prior *states.State) bool {
	if len(r.failed) == 0 {
		return false
	}
	if plan != nil && plan.PrevRun != nil {
		prior = plan.PrevRun
	}
	instances := map[addrs.ConfigResource][]addrs.AbsInstance{}
	for o := range stored(prior) {
		if o.deposed == addrs.NotDeposed {
			instances[o.addr.Config()] = append(instances[o.addr.Config()], o.addr)
		}
	}
	found := false
	for more := true; more; found = found || more {
		more = false
		for o := range r.failed {
			if _, taken := r.taken[o]; taken || o.deposed != addrs.NotDeposed {
				continue
			}
			if by, ok := r.lostParent(o.addr, prior, instances); ok {
				r.taken[o], more = by, true
			}
		}
	}
	return found
}

// lostParent returns an object on which an object depends and which is gone.
func (r *reads) lostParent(
	addr addrs.AbsInstance, prior *states.State, instances map[addrs.ConfigResource][]addrs.AbsInstance,
) (addrs.AbsInstance, bool) {
	obj := prior.Current(addr)
	if obj == nil {
		return addrs.AbsInstance{}, false
	}
	lost := func(of addrs.AbsInstance) bool {
		_, taken := r.taken[object{addr: of}]
		return taken || r.gone[object{addr: of}]
	}
	single := map[addrs.ConfigResource]bool{}
	for _, of := range obj.DependencyInstances {
		single[of.Config()] = true
		if lost(of) {
			return of, true
		}
	}
	for dep := range obj.Dependencies.All() {
		of := instances[dep]
		if dep.Module == addr.Module.Module() {
			of = slices.DeleteFunc(slices.Clone(of), func(a addrs.AbsInstance) bool { return a.Module != addr.Module })
		}
		// Which of several instances the object needs is not known, so all must be gone.
		if !single[dep] && len(of) > 0 && !slices.ContainsFunc(of, func(a addrs.AbsInstance) bool { return !lost(a) }) {
			return slices.MinFunc(of, addrs.AbsInstance.Compare), true
		}
	}
	return addrs.AbsInstance{}, false
}

// sorted returns the objects that could not be read in the last round.
func (r *reads) sorted() []object {
	out := make([]object, 0, len(r.failed))
	for o := range r.failed {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b object) int {
		return cmp.Or(a.addr.Compare(b.addr), strings.Compare(string(a.deposed), string(b.deposed)))
	})
	return out
}

// report warns of the objects that could not be read, and returns those whose stored values are used.
func (r *reads) report(warn tfdiags.Sink) (unread []string) {
	for _, o := range r.sorted() {
		var why []string
		for _, d := range tfdiags.FromError(r.failed[o]) {
			why = append(why, d.Summary+": "+d.Detail)
		}
		d := tfdiags.Warningf("Object not refreshed", "%s could not be read, so the plan uses its stored values. %s", o, strings.Join(why, " "))
		if by, taken := r.taken[o]; taken {
			d = tfdiags.Warningf("Object taken as deleted", "%s could not be read, and %s, on which it depends, was deleted "+
				"outside. So the plan takes it as deleted, too. The error was: %s", o, by, strings.Join(why, " "))
		} else {
			unread = append(unread, o.String())
		}
		if warn != nil {
			warn(d)
		}
	}
	return unread
}

// advise adds to the error of a destruction what helps if objects can't be read.
func (r *reads) advise(mode plans.Mode, err error) error {
	list := r.sorted()
	if mode != plans.Destroy || err == nil || len(list) == 0 || r.useStored {
		return err
	}
	return tfdiags.Join(err, tfdiags.Errorf("The destruction could not read all objects",
		"Before objects are destroyed, they are read. If %s can't be read because what it needs is gone, plan with "+
			"-refresh-errors=continue to destroy it as it is stored, or remove it from the state: tofu state rm '%s'",
		list[0], list[0].addr))
}
