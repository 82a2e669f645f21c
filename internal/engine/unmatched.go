package engine

import (
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// unmatched finds addresses in options that name nothing: neither a block or an instance in the
// configuration nor an object in the state. An address that may name something that is not known
// yet is not reported.
type unmatched struct {
	w         *walk
	all       []addrs.AbsInstance // in the state
	stored    map[addrs.AbsInstance]bool
	resources map[addrs.ConfigResource][]addrs.AbsInstance
	modules   map[addrs.ModuleInstance]bool // those that contain stored objects
	exact     bool                          // a step without a key names only the instance without a key
	names     []string                      // what to suggest, set when it is first needed
}

// checkAddresses warns about targets, exclusions and addresses of -replace that match nothing.
func (f finisher) checkAddresses(o *PlanOptions) {
	if o.preDestroy || len(o.Imports) > 0 || o.RestOf != nil ||
		len(o.Targets)+len(o.Excludes)+len(o.ForceReplace) == 0 {
		return
	}
	var replaced []addrs.Target
	if !o.AnyReplace {
		for _, addr := range o.ForceReplace {
			replaced = append(replaced, addrs.Target{Module: addr.Module, Resource: addr.Resource, Key: addr.Key,
				HasKey: addr.Key != addrs.NoKey})
		}
	}
	u := newUnmatched(f.w)
	for _, list := range []struct {
		targets []addrs.Target
		exact   bool
		effect  string
	}{
		{o.Targets, false, "These targets select nothing:"},
		{o.Excludes, false, "These exclusions leave nothing out:"},
		{replaced, true, "These addresses can't be replaced:"},
	} {
		u.exact = list.exact
		if d, found := u.check(list.targets, list.effect); found {
			f.w.out.warn(d)
		}
	}
}

func newUnmatched(w *walk) *unmatched {
	u := &unmatched{w: w, stored: map[addrs.AbsInstance]bool{}, modules: map[addrs.ModuleInstance]bool{},
		resources: map[addrs.ConfigResource][]addrs.AbsInstance{}}
	add := func(addr addrs.AbsInstance) {
		if u.stored[addr] {
			return
		}
		u.stored[addr], u.all = true, append(u.all, addr)
		u.resources[addr.Config()] = append(u.resources[addr.Config()], addr)
		for m := addr.Module; !u.modules[m]; m, _ = m.Parent() {
			u.modules[m] = true
		}
	}
	for _, addr := range w.out.prevRun.Select(nil) {
		add(addr)
	}
	if w.op.moves != nil { // targets must name both addresses of a move
		for _, from := range w.op.moves.From {
			add(from)
		}
	}
	return u
}

// check returns a warning that lists the addresses that match nothing.
func (u *unmatched) check(list []addrs.Target, effect string) (d tfdiags.Diagnostic, found bool) {
	var lines []string
	more := 0
	for _, t := range list {
		switch why := u.why(t); {
		case why == "":
		case len(lines) == maxLeftOut:
			more++
		default:
			lines = append(lines, fmt.Sprintf("\n  - %s: %s", t, why))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("\n  - and %d more", more))
	}
	return tfdiags.Warningf("Addresses that match nothing", "%s%s", effect, strings.Join(lines, "")), len(lines) > 0
}

// why says why an address matches nothing. It returns "" if the address matches something.
func (u *unmatched) why(t addrs.Target) string {
	path := t.Module.Module()
	m := u.w.graph.Modules[path]
	declared := m != nil && m.Config != nil
	repeats := false
	if declared && !t.IsModule() {
		r := m.Resources[t.Resource]
		declared = r != nil && r.Config != nil
		repeats = declared && r.Exprs.Repetition.Repeats()
	}
	keyless := !t.HasKey && path.String() == t.Module.String()
	switch {
	case u.inState(t):
		return ""
	case !declared:
		return "neither the configuration nor the state has it." + u.suggestion(t)
	case keyless && (!u.exact || repeats): // checkForceReplace warns about the second case
		return ""
	case u.w.op.Mode == plans.Destroy:
		return "the state has no such object." + u.suggestion(t)
	}
	return u.undeclared(u.w.modules.of(u.w.graph.Root)[0], t.Module.Steps(), t)
}

// inState reports whether the address is that of an object in the state, or contains one.
func (u *unmatched) inState(t addrs.Target) bool {
	if t.IsModule() && u.modules[t.Module] {
		return true
	}
	among := u.all
	if !t.IsModule() {
		if u.stored[t.Resource.InInstance(t.Module).Instance(t.Key)] {
			return true
		}
		among = u.resources[t.Resource.In(t.Module.Module())]
	}
	return slices.ContainsFunc(among, func(addr addrs.AbsInstance) bool {
		return t.ContainsInstance(addr) && (!u.exact || addr.Module == t.Module)
	})
}

// undeclared says which instances there are instead, if the address names instances that the
// configuration doesn't declare. steps lead from a module instance to the address.
func (u *unmatched) undeclared(in *moduleInstance, steps []addrs.Step, t addrs.Target) string {
	if len(steps) == 0 {
		if t.IsModule() {
			return ""
		}
		var x *expandedKeys
		if t.Resource.Mode == addrs.Action {
			x = u.w.actions.expanded(in.module.Actions[t.Resource], in)
		} else if found := in.resources[in.module.Resources[t.Resource].Slot]; found != nil {
			x = &found.expandedKeys
		}
		if x == nil {
			return ""
		}
		return x.lacks(t.Key, t.HasKey, t.Resource.InInstance(in.addr))
	}
	step := steps[0]
	calls := in.calls[in.module.Calls[step.Name].CallSlot]
	if calls == nil {
		return ""
	}
	why := calls.lacks(step.Key, u.exact || step.Key != addrs.NoKey, in.addr.Child(step.Name, addrs.NoKey))
	if why != "" || calls.mode == repeatUnknown {
		return why
	}
	for i, key := range calls.keys {
		if step.Key != addrs.NoKey && step.Key != key {
			continue
		}
		if why = u.undeclared(calls.of[i], steps[1:], t); why == "" {
			break
		}
	}
	return why
}

// lacks says which keys there are, if the given key is asked for and does not exist. of is what has the
// keys.
func (x *expandedKeys) lacks(key addrs.InstanceKey, asked bool, of fmt.Stringer) string {
	switch _, found := x.find(key); {
	case found || !asked || x.mode == repeatUnknown:
		return ""
	case x.mode == repeatCount || x.mode == repeatForEach:
		return x.describeKeys(of) + x.nearest(key)
	case len(x.keys) == 0:
		return fmt.Sprintf("%s is disabled.", of)
	}
	return fmt.Sprintf("%s has no count or for_each.", of)
}

// nearest returns a sentence that names the key that was probably meant, or "".
func (x *expandedKeys) nearest(key addrs.InstanceKey) string {
	names := make([]string, len(x.keys))
	for i, k := range x.keys {
		names[i] = k.String()
	}
	if len(names) <= maxDescribed { // all are named
		return ""
	}
	return suggest.DidYouMean(key.String(), names)
}

// suggestion returns a sentence that names the address that was probably meant, or "".
func (u *unmatched) suggestion(t addrs.Target) string {
	if u.names == nil {
		for _, addr := range u.all {
			u.names = append(u.names, addr.String(), addr.Abs().String())
		}
		for _, r := range u.w.graph.Resources {
			u.names = append(u.names, r.Addr.String())
		}
		for path := range u.w.graph.Modules {
			u.names = append(u.names, path.String())
		}
		slices.Sort(u.names)
	}
	if text := suggest.DidYouMean(t.String(), u.names); text != "" {
		return text
	}
	keyless := t.Module.Module().String()
	if !t.IsModule() {
		keyless = t.Resource.In(t.Module.Module()).String()
	}
	if slices.Contains(u.names, keyless) {
		return "" // the keys are wrong, and the reason lists those that exist
	}
	return suggest.DidYouMean(keyless, u.names)
}
