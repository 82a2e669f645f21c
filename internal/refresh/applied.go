package refresh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// applied holds what the last apply of an object did.
type applied struct {
	// Changes has a hash of the old and the new value of each attribute that an update has changed.
	Changes map[string]string `json:"changes,omitempty"`
	// Unsure says that the object was created, and that only reading it back has failed.
	Unsure bool `json:"unsure,omitempty"`
}

// observe notes whether an operation on an object has succeeded.
func (a *Ages) observe(e engine.ApplyDone) {
	name := object{e.Addr, e.Deposed}.String()
	a.mu.Lock()
	defer a.mu.Unlock()
	put(&a.done, name, !e.Failed)
	put(&a.reapplied, name, true)
	delete(a.applied, name)
	if e.Failed && !e.InDoubt && e.Action != plans.Delete && onlyUnread(e.Err) {
		put(&a.applied, name, &applied{Unsure: true})
	}
}

// Applied records what a plan has changed.
func (a *Ages) Applied(plan *plans.Plan) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range plan.Changes.Instances {
		name := c.Addr.String()
		if c.Deposed != addrs.NotDeposed || !a.done[name] {
			continue
		}
		if changes := changesOf(c); len(changes) > 0 {
			put(&a.applied, name, &applied{Changes: changes})
		}
	}
	a.done = nil
}

// changesOf returns a hash of the old and new values of the attributes that an update or a replacement
// changes. It leaves out what is sensitive or not known yet.
func changesOf(c *plans.InstanceChange) map[string]string {
	if c.Action != plans.Update && !c.Action.IsReplace() {
		return nil
	}
	out := map[string]string{}
	before, _ := c.Before.Unmark()
	after, _ := c.After.Unmark()
	for name := range after.Type().AttributeTypes() {
		was, is := before.GetAttr(name), after.GetAttr(name)
		if was.ContainsMarked() || is.ContainsMarked() || !is.IsWhollyKnown() || was.RawEquals(is) {
			continue
		}
		x, err := ctyjson.Marshal(was, was.Type())
		if err != nil {
			continue
		}
		y, err := ctyjson.Marshal(is, is.Type())
		if err != nil {
			continue
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s %s", c.Addr, name, len(x), x, y))
		out[name] = hex.EncodeToString(sum[:12])
	}
	return out
}

// warnOfReturns warns of changes that were applied last time and that a plan has again, with one
// warning for all instances of a resource in which the same attributes came back.
func (a *Ages) warnOfReturns(cfg *configs.Config, plan *plans.Plan, warn tfdiags.Sink) {
	if a == nil || warn == nil || plan.Mode != plans.Normal || plan.Past != nil {
		return
	}
	type group struct {
		resource addrs.ConfigResource
		names    string
	}
	found := map[group][]string{}
	var order []group
	a.mu.Lock()
	for _, c := range plan.Changes.Instances {
		last := a.applied[c.Addr.String()]
		if last == nil || c.Deposed != addrs.NotDeposed {
			continue
		}
		var names []string
		for name, sum := range changesOf(c) {
			if last.Changes[name] == sum {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		names = configured(blockOf(cfg, c.Addr.Config()), names)
		g := group{c.Addr.Config(), strings.Join(names, ", ")}
		if found[g] == nil {
			order = append(order, g)
		}
		found[g] = append(found[g], c.Addr.String())
	}
	a.mu.Unlock()
	for _, g := range order {
		what := found[g][0]
		if n := len(found[g]); n > 1 {
			what = fmt.Sprintf("%s and %d more", what, n-1)
		}
		d := tfdiags.Warningf("Applied last time, came back", "%s: the last apply made the same change of %s, and the old "+
			"value is back. Either the provider writes the value in another way, or something else sets it. To leave it as "+
			"it is, add to the lifecycle block:\n    ignore_changes = [%[2]s]", what, g.names)
		if block := blockOf(cfg, g.resource); block != nil {
			d.Subject = &block.Range
		}
		warn(d)
	}
}

func blockOf(cfg *configs.Config, addr addrs.ConfigResource) *configs.Resource {
	if m := cfg.Descendant(addr.Module); m != nil {
		return m.Module.Resources[addr.Resource]
	}
	return nil
}

// configured returns those of some attributes that a block sets, sorted. If it sets none of them, for
// example because dynamic blocks do, it returns all.
func configured(block *configs.Resource, names []string) []string {
	slices.Sort(names)
	if block == nil || block.Config == nil {
		return names
	}
	var set []string
	for _, name := range names {
		content, _, _ := block.Config.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: name}},
			Blocks: []hcl.BlockHeaderSchema{{Type: name}}})
		if content != nil && len(content.Attributes)+len(content.Blocks) > 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return names
	}
	return set
}

var readBack = regexp.MustCompile(`(?i)^(?:error:? |failed |unable |could ?n[o']t |can(?:no|')t )*(?:to )?` +
	`(?:read|refresh|retriev|describ|find)(?:e|ing)?\b`)

// onlyUnread reports whether all errors say that an object could not be read.
func onlyUnread(err error) bool {
	n := 0
	for _, d := range tfdiags.FromError(err) {
		if d.Severity != tfdiags.Error {
			continue
		}
		if n++; !readBack.MatchString(d.Summary) && !readBack.MatchString(strings.TrimSpace(d.Detail)) {
			return false
		}
	}
	return n > 0
}

// unsure returns the tainted objects of a state whose creation failed only when they were read back.
func (a *Ages) unsure(st *states.State) []addrs.AbsInstance {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []addrs.AbsInstance
	for name, last := range a.applied {
		if !last.Unsure {
			continue
		}
		addr, err := addrs.ParseInstanceText(name)
		if obj := st.Current(addr); err == nil && obj != nil && obj.Status == states.Tainted {
			out = append(out, addr)
		}
	}
	slices.SortFunc(out, addrs.AbsInstance.Compare)
	return out
}

// settle returns the state with the status of some objects changed: their creation failed only when
// they were read back, and a plan of these objects alone finds that they are as the configuration
// wants them.
func (r *Run) settle(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *engine.Env, opts *engine.PlanOptions,
) *states.State {
	unsure := r.Ages.unsure(prior)
	if len(unsure) == 0 || opts.SkipRefresh || opts.Mode != plans.Normal || opts.Past != nil {
		return prior
	}
	quiet, own := *env, *opts
	quiet.Observe, quiet.Warn = nil, tfdiags.Drop
	own.Excludes, own.NotSaved = nil, true
	own.Targets = nil
	for _, addr := range unsure {
		own.Targets = append(own.Targets, addrs.Target{Module: addr.Module, Resource: addr.Resource, Key: addr.Key, HasKey: true})
	}
	if r.Answers == nil {
		r.Answers = &engine.Answers{} // so that they are not read again
	}
	only := &Run{Options: Options{Only: own.Targets}, Now: r.Now, Answers: r.Answers}
	plan, err := only.Plan(ctx, cfg, withReady(prior, unsure), &quiet, &own)
	if err != nil {
		return prior
	}
	r.settled = make(map[object]bool, len(unsure))
	for _, addr := range unsure {
		r.settled[object{addr: addr}] = true
	}
	complete := slices.DeleteFunc(unsure, func(addr addrs.AbsInstance) bool {
		c := plan.Changes.Instance(addr, addrs.NotDeposed)
		return c != nil && c.Action != plans.NoOp || plan.Prior.Current(addr) == nil
	})
	for _, addr := range complete {
		if env.Warn != nil {
			env.Warn(tfdiags.Warningf("Creation was complete", "The creation of %s failed only when the object was read back. "+
				"It is as the configuration wants it, so it is not replaced.", addr))
		}
	}
	return withReady(prior, complete)
}

// withReady returns a state in which some objects are not tainted.
func withReady(st *states.State, of []addrs.AbsInstance) *states.State {
	if len(of) == 0 {
		return st
	}
	out := st.Clone()
	for _, addr := range of {
		inst, r := st.Instance(addr), st.Resource(addr.Abs())
		ready := *inst.Current
		ready.Status = states.Ready
		out.SetCurrent(addr, &ready, addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey})
	}
	return out
}
