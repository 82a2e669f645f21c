package planview

import (
	"maps"
	"slices"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// Unfinished holds the changes of a plan that an apply has not made.
type Unfinished struct {
	plan       *Plan
	Failed     []*plans.InstanceChange
	NotStarted []*plans.InstanceChange

	at    map[addrs.ConfigResource][]*plans.InstanceChange // failed ones come first
	users map[addrs.ConfigResource][]*plans.InstanceChange // removed objects, by what they depend on
}

// Unfinished returns the changes for which the functions say that they failed or did not start.
func (p *Plan) Unfinished(failed, notStarted func(*plans.InstanceChange) bool) *Unfinished {
	u := &Unfinished{plan: p, at: make(map[addrs.ConfigResource][]*plans.InstanceChange),
		users: make(map[addrs.ConfigResource][]*plans.InstanceChange)}
	for _, c := range p.Source.Plan.Changes.Instances {
		switch {
		case failed(c):
			u.Failed = append(u.Failed, c)
		case notStarted(c):
			u.NotStarted = append(u.NotStarted, c)
		}
	}
	for _, c := range slices.Concat(u.Failed, u.NotStarted) {
		u.at[c.Addr.Config()] = append(u.at[c.Addr.Config()], c)
		obj := p.Source.Plan.Prior.Current(c.Addr)
		if obj == nil || c.Action == plans.Update {
			continue
		}
		for dep := range obj.Dependencies.All() {
			u.users[dep] = append(u.users[dep], c)
		}
	}
	return u
}

// WaitsFor returns an unfinished change that c waits for, or nil if none is known.
func (u *Unfinished) WaitsFor(c *plans.InstanceChange) *plans.InstanceChange {
	of := c.Addr.Config()
	for _, other := range u.at[of] {
		if c.Deposed != addrs.NotDeposed && other.Addr == c.Addr && other.Deposed == addrs.NotDeposed {
			return other // a deposed object is deleted after the one that replaces it
		}
	}
	if c.Action == plans.Delete {
		return nearest(c, u.users[of])
	}
	var found []*plans.InstanceChange
	for _, addr := range u.plan.Origins(c) {
		found = append(found, u.at[addr]...)
	}
	return nearest(c, found)
}

// Origins returns the changed resources to which the block of a change refers, directly or through
// named values, but at most eight of them. Calls must not be concurrent.
func (p *Plan) Origins(c *plans.InstanceChange) []addrs.ConfigResource {
	view := p.View(c)
	if view.Block == nil || view.Schema == nil {
		return nil
	}
	o := p.origins
	o.mu.Lock()
	defer o.mu.Unlock()
	refs := slices.Clone(view.Block.DependsOn)
	for _, argument := range slices.Collect(maps.Values(o.arguments(view.Block, view.Schema))) {
		refs = append(refs, argument.exprs...)
	}
	from := &resources{seen: make(map[addrs.ConfigResource]bool)}
	o.follow(p.Config.Descendant(c.Addr.Module.Module()), refs, from)
	return from.list
}

// nearest returns the change with the instance key of c, or else the first one, or nil.
func nearest(c *plans.InstanceChange, all []*plans.InstanceChange) *plans.InstanceChange {
	for _, other := range all {
		if other.Addr.Key == c.Addr.Key && other.Addr != c.Addr {
			return other
		}
	}
	for _, other := range all {
		if other.Addr != c.Addr {
			return other
		}
	}
	return nil
}
