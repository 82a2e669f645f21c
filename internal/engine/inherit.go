package engine

import (
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
)

// inheritDependencies keeps the order of destruction whole where a link of it has no object (any more): only the nearest
// dependencies are stored, so whatever depended on something without objects takes over what that depended on. What is coming counts as
// if it were there.
func (w *walk) inheritDependencies(plan *plans.Plan, coming []*plans.InstanceChange) {
	h := &inheritance{w: w, before: []*states.State{plan.Prior, plan.PrevRun}, present: map[addrs.ConfigResource]bool{},
		links: map[addrs.ConfigResource][]addrs.ConfigResource{}, lists: map[*addrs.ConfigResource][]addrs.ConfigResource{}}
	for r := range w.state.Resources() {
		h.present[r.Addr.Config()] = true
	}
	for _, c := range coming {
		if c.Action == plans.Create {
			h.present[c.Addr.Config()] = true
		}
	}
	for r := range w.state.Resources() {
		h.resource(r)
	}
	if w.prevRun != nil {
		for r := range w.prevRun.Resources() {
			h.resource(r)
		}
	}
}

func (h *inheritance) resource(r *states.Resource) {
	for _, inst := range r.Instances {
		inst.Current = h.object(inst.Current)
		for key, obj := range inst.Deposed {
			inst.Deposed[key] = h.object(obj)
		}
	}
}

type inheritance struct {
	w       *walk
	before  []*states.State // where the dependencies of what is gone are
	present map[addrs.ConfigResource]bool
	links   map[addrs.ConfigResource][]addrs.ConfigResource
	lists   map[*addrs.ConfigResource][]addrs.ConfigResource // by the list's first element: instances share lists
	stored  map[addrs.ConfigResource][]addrs.ConfigResource
}

func (h *inheritance) object(obj *states.Object) *states.Object {
	if obj == nil || len(obj.Dependencies) == 0 {
		return obj
	}
	list, ok := h.lists[&obj.Dependencies[0]]
	if !ok {
		list = obj.Dependencies
		for _, dep := range obj.Dependencies {
			if !h.present[dep] {
				list = unionDeps(h.link(dep), list)
			}
		}
		h.lists[&obj.Dependencies[0]] = list
	}
	if len(list) == len(obj.Dependencies) {
		return obj
	}
	return changed(obj, func(o *states.Object) { o.Dependencies = list })
}

// link gives the nearest resources with objects below one that has none.
func (h *inheritance) link(addr addrs.ConfigResource) []addrs.ConfigResource {
	if out, ok := h.links[addr]; ok {
		return out
	}
	h.links[addr] = nil // stored lists may go round in a circle
	var out []addrs.ConfigResource
	for _, dep := range h.dependencies(addr) {
		if h.present[dep] {
			out = append(out, dep)
		} else {
			out = append(out, h.link(dep)...)
		}
	}
	slices.SortFunc(out, compareStored)
	out = slices.Compact(out)
	h.links[addr] = out
	return out
}

// dependencies lists what a resource without objects depends on by the configuration, or by what was stored last.
func (h *inheritance) dependencies(addr addrs.ConfigResource) []addrs.ConfigResource {
	if r := h.w.byConfig[addr]; r != nil && r.cfg != nil {
		return r.deps
	}
	if h.stored == nil {
		h.stored = map[addrs.ConfigResource][]addrs.ConfigResource{}
		for _, state := range h.before {
			for r := range state.Resources() {
				for _, inst := range r.Instances {
					if at := r.Addr.Config(); inst.Current != nil && !h.present[at] {
						h.stored[at] = unionDeps(h.stored[at], inst.Current.Dependencies)
					}
				}
			}
		}
	}
	return h.stored[addr]
}
