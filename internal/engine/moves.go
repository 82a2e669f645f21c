package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// moveResults say what applying the configuration's move statements to a state did. The zero pointer means nothing.
type moveResults struct {
	from    map[addrs.AbsInstance]addrs.AbsInstance // by new address
	retype  map[addrs.AbsInstance]*moveSource       // objects that came from another resource type or provider
	blocked []blockedMove
}

// moveSource is where an object of another type came from.
type moveSource struct {
	addr     addrs.AbsInstance
	provider addrs.AbsProviderConfig
}

type blockedMove struct{ want, at string }

func (m *moveResults) prev(addr addrs.AbsInstance) (addrs.AbsInstance, bool) {
	if m == nil {
		return addrs.AbsInstance{}, false
	}
	from, ok := m.from[addr]
	return from, ok
}

func (m *moveResults) retyped(addr addrs.AbsInstance) bool { return m.source(addr) != nil }

func (m *moveResults) source(addr addrs.AbsInstance) *moveSource {
	if m == nil {
		return nil
	}
	return m.retype[addr]
}

// moveStatement is a moved block, or a move that the configuration implies, with absolute addresses.
type moveStatement struct {
	from, to addrs.Target
	module   addrs.Module // that declares it
	implied  bool
	rng      hcl.Range
}

// applyMoves gives the state with every object at the address where the configuration wants it. The statements are applied in an
// order in which each sees what those before it have moved; what they don't mention is touched by nothing.
func applyMoves(cfg *configs.Config, state *states.State) (*states.State, *moveResults, tfdiags.Diagnostics) {
	explicit := collectMoves(cfg)
	results := &moveResults{from: map[addrs.AbsInstance]addrs.AbsInstance{}, retype: map[addrs.AbsInstance]*moveSource{}}
	ordered, diags := orderMoves(explicit)
	if diags.HasErrors() {
		return state, results, diags
	}
	implied := impliedMoves(cfg, state, explicit)
	if len(ordered)+len(implied) == 0 {
		return state, results, diags
	}
	m := &mover{state: state.Clone(), results: results, cfg: cfg}
	for _, st := range ordered {
		m.apply(st)
	}
	for _, st := range implied {
		m.apply(st)
	}
	return m.state, results, diags.Append(results.blockedWarning())
}

func (m *moveResults) blockedWarning() tfdiags.Diagnostics {
	if len(m.blocked) == 0 {
		return nil
	}
	var b strings.Builder
	for _, x := range m.blocked {
		fmt.Fprintf(&b, "\n  - %s could not move to %s", x.at, x.want)
	}
	return tfdiags.Diagnostics{tfdiags.Warningf("Unresolved resource instance address changes",
		"These objects stay at their old addresses, because there is another object at the new one:%s\n\nThe plan treats them as they are. To resolve this, move one of each pair out of the way with \"tofu state mv\".", b.String())}
}

// collectMoves lists the move statements of all modules.
func collectMoves(cfg *configs.Config) []*moveStatement {
	var out []*moveStatement
	for _, mv := range cfg.Module.Moved {
		out = append(out, &moveStatement{from: mv.From, to: mv.To, module: cfg.Path, rng: mv.Range})
	}
	for _, name := range sortedKeys(cfg.Children) {
		out = append(out, collectMoves(cfg.Children[name])...)
	}
	return out
}

// orderMoves sorts the statements so that one that moves something to where another moves from comes first.
func orderMoves(list []*moveStatement) ([]*moveStatement, tfdiags.Diagnostics) {
	byFrom := map[string][]*moveStatement{}
	for _, st := range list {
		byFrom[st.key(st.from)] = append(byFrom[st.key(st.from)], st)
	}
	var out []*moveStatement
	state := map[*moveStatement]int{}
	var diags tfdiags.Diagnostics
	var visit func(st *moveStatement)
	visit = func(st *moveStatement) {
		switch state[st] {
		case 1:
			diags = diags.Append(tfdiags.Errorf("Cyclic dependency in move statements",
				"The moved block from %s to %s is part of a cycle: no object could ever come to rest.", st.from, st.to).At(st.rng))
			return
		case 2:
			return
		}
		state[st] = 1
		for _, next := range follows(st, list, byFrom) {
			visit(next)
		}
		state[st] = 2
		out = append(out, st)
	}
	for _, st := range list {
		visit(st)
	}
	slices.Reverse(out)
	if diags.HasErrors() {
		return nil, diags[:1]
	}
	return out, nil
}

// follows lists the statements that have to come after st: they move on what st moves, or what lies in a module that it moves.
func follows(st *moveStatement, list []*moveStatement, byFrom map[string][]*moveStatement) []*moveStatement {
	if !st.to.IsModule() {
		out := slices.Clone(byFrom[st.key(st.to)])
		if st.to.HasKey {
			whole := st.to
			whole.HasKey, whole.Key = false, addrs.NoKey
			out = append(out, byFrom[st.key(whole)]...)
		}
		for _, other := range list {
			if other != st && other.from.IsModule() && within(st.absTo(), other.absFrom()) {
				out = append(out, other)
			}
		}
		return out
	}
	var out []*moveStatement
	for _, other := range list {
		if other != st && within(other.absFrom(), st.absTo()) {
			out = append(out, other)
		}
	}
	return out
}

// within tells whether an address lies in (or is) a module address, both without looking at the calling modules' keys.
func within(addr, module addrs.Target) bool {
	return module.IsModule() && module.Module.Module().Contains(addr.Module.Module()) && module.Module != ""
}

func (st *moveStatement) absFrom() addrs.Target { return st.abs(st.from) }
func (st *moveStatement) absTo() addrs.Target   { return st.abs(st.to) }

// abs puts the declaring module in front of an address.
func (st *moveStatement) abs(t addrs.Target) addrs.Target {
	if !st.module.IsRoot() {
		m := st.module.UnkeyedInstance()
		if t.Module != "" {
			m = addrs.ModuleInstance(string(m) + "." + string(t.Module))
		}
		t.Module = m
	}
	return t
}

func (st *moveStatement) key(t addrs.Target) string {
	return string(st.module) + "|" + st.abs(t).String()
}

// impliedMoves are the moves that adding or removing count (or enabled) implies, where no statement says otherwise.
func impliedMoves(cfg *configs.Config, state *states.State, explicit []*moveStatement) []*moveStatement {
	mentioned := map[string]bool{}
	for _, st := range explicit {
		for _, t := range []addrs.Target{st.absFrom(), st.absTo()} {
			mentioned[t.String()] = true
			t.HasKey, t.Key = false, addrs.NoKey
			mentioned[t.String()] = true
		}
	}
	var out []*moveStatement
	out = append(out, impliedModuleMoves(cfg, state, mentioned)...)
	for r := range state.Resources() {
		c := descendant(cfg, r.Addr.Module.Module())
		if c == nil {
			continue
		}
		rc := c.Module.Resources[r.Addr.Resource]
		if rc == nil {
			continue
		}
		from, to, ok := impliedKeys(rc.Count != nil, rc.ForEach != nil, func(k addrs.InstanceKey) bool { return r.Instances[k] != nil })
		target := addrs.Target{Module: r.Addr.Module, Resource: r.Addr.Resource, HasKey: true}
		if !ok || mentioned[absKey(target, from)] || mentioned[absKey(target, to)] || mentionedWhole(mentioned, target) {
			continue
		}
		st := &moveStatement{from: target, to: target, implied: true, rng: rc.Range}
		st.from.Key, st.to.Key = from, to
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *moveStatement) int { return strings.Compare(a.from.String(), b.from.String()) })
	return out
}

func mentionedWhole(mentioned map[string]bool, t addrs.Target) bool {
	t.HasKey, t.Key = false, addrs.NoKey
	return mentioned[t.String()]
}

func absKey(t addrs.Target, key addrs.InstanceKey) string {
	t.Key = key
	return t.String()
}

// impliedKeys gives the keys between which an object moves when repetition by count comes or goes.
func impliedKeys(count, forEach bool, has func(addrs.InstanceKey) bool) (from, to addrs.InstanceKey, ok bool) {
	zero := addrs.IntKey(0)
	switch {
	case count && has(addrs.NoKey):
		return addrs.NoKey, zero, true
	case !count && !forEach && has(zero):
		return zero, addrs.NoKey, true
	}
	return from, to, false
}

func impliedModuleMoves(cfg *configs.Config, state *states.State, mentioned map[string]bool) []*moveStatement {
	present := map[addrs.ModuleInstance]bool{}
	for r := range state.Resources() {
		for m := r.Addr.Module; m != "" && !present[m]; m, _ = m.Parent() {
			present[m] = true
		}
	}
	var out []*moveStatement
	for m := range present {
		parent, step := m.Parent()
		c := descendant(cfg, m.Module())
		if c == nil || c.Call == nil {
			continue
		}
		count, forEach := c.Call.Count != nil, c.Call.ForEach != nil
		from, to, ok := impliedKeys(count, forEach, func(k addrs.InstanceKey) bool { return present[parent.Child(step.Name, k)] })
		if !ok || from != step.Key {
			continue
		}
		st := &moveStatement{from: addrs.Target{Module: m}, to: addrs.Target{Module: parent.Child(step.Name, to)}, implied: true, rng: c.Call.Range}
		if mentioned[st.from.String()] || mentioned[st.to.String()] || mentioned[string(parent.Child(step.Name, addrs.NoKey))] {
			continue
		}
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *moveStatement) int { return strings.Compare(a.from.String(), b.from.String()) })
	return out
}

func descendant(cfg *configs.Config, path addrs.Module) *configs.Config {
	for _, name := range path.Names() {
		if cfg = cfg.Children[name]; cfg == nil {
			return nil
		}
	}
	return cfg
}

// mover applies statements to a state.
type mover struct {
	state   *states.State
	results *moveResults
	cfg     *configs.Config
}

func (m *mover) apply(st *moveStatement) {
	for _, r := range m.state.Sorted() {
		if st.from.IsModule() {
			m.moveModule(st, r)
		} else {
			m.moveResource(st, r)
		}
	}
}

// anchored gives the instance of the declaring module that an address lies in, and the rest; ok is false when it lies elsewhere.
func (st *moveStatement) anchored(at addrs.ModuleInstance) (base addrs.ModuleInstance, ok bool) {
	if st.implied || st.module.IsRoot() {
		return "", true
	}
	steps := at.Steps()
	names := st.module.Names()
	if len(steps) < len(names) {
		return "", false
	}
	for i, name := range names {
		if steps[i].Name != name {
			return "", false
		}
		base = base.Child(name, steps[i].Key)
	}
	return base, true
}

func joinModules(base, rel addrs.ModuleInstance) addrs.ModuleInstance {
	switch {
	case base == "":
		return rel
	case rel == "":
		return base
	}
	return base + "." + rel
}

func (m *mover) moveModule(st *moveStatement, r *states.Resource) {
	base, ok := st.anchored(r.Addr.Module)
	if !ok {
		return
	}
	from, to := joinModules(base, st.from.Module), joinModules(base, st.to.Module)
	rest, ok := underModule(from, r.Addr.Module)
	if !ok {
		return
	}
	if from != "" && keyless(from) && rest.key != addrs.NoKey {
		// "from" without a key names all instances of the call.
		parent, step := to.Parent()
		if step.Key != addrs.NoKey {
			return
		}
		to = parent.Child(step.Name, rest.key)
	}
	target := addrs.AbsResource{Module: joinModules(to, rest.below), Resource: r.Addr.Resource}
	for _, key := range r.SortedKeys() {
		m.move(r, r.Addr.Instance(key), target.Instance(key))
	}
}

type moduleRest struct {
	key   addrs.InstanceKey // of the named module's own step, where the name has none
	below addrs.ModuleInstance
}

func keyless(m addrs.ModuleInstance) bool {
	_, step := m.Parent()
	return step.Key == addrs.NoKey
}

// underModule tells whether at is the module or lies below it; a last step without key covers every key.
func underModule(module, at addrs.ModuleInstance) (moduleRest, bool) {
	want, got := module.Steps(), at.Steps()
	if len(got) < len(want) {
		return moduleRest{}, false
	}
	out := moduleRest{}
	for i, step := range want {
		last := i == len(want)-1
		if step.Name != got[i].Name || step.Key != got[i].Key && (!last || step.Key != addrs.NoKey) {
			return moduleRest{}, false
		}
		if last {
			out.key = got[i].Key
		}
	}
	for _, step := range got[len(want):] {
		out.below = out.below.Child(step.Name, step.Key)
	}
	return out, true
}

func (m *mover) moveResource(st *moveStatement, r *states.Resource) {
	if r.Addr.Resource != st.from.Resource {
		return
	}
	base, ok := st.anchored(r.Addr.Module)
	if !ok || r.Addr.Module != joinModules(base, st.from.Module) {
		return
	}
	target := addrs.AbsResource{Module: joinModules(base, st.to.Module), Resource: st.to.Resource}
	for _, key := range r.SortedKeys() {
		switch {
		case st.from.HasKey && st.from.Key == key:
			m.move(r, r.Addr.Instance(key), target.Instance(st.to.Key))
		case !st.from.HasKey && !st.to.HasKey:
			m.move(r, r.Addr.Instance(key), target.Instance(key))
		case !st.from.HasKey && key == addrs.NoKey:
			m.move(r, r.Addr.Instance(key), target.Instance(st.to.Key))
		}
	}
}

func (m *mover) move(r *states.Resource, from, to addrs.AbsInstance) {
	if from == to {
		return
	}
	inst := m.state.Instance(from)
	if m.state.Instance(to) != nil {
		m.results.blocked = append(m.results.blocked, blockedMove{want: to.String(), at: from.String()})
		return
	}
	provider := r.Provider
	first := from
	if prev, ok := m.results.from[from]; ok {
		first = prev
		delete(m.results.from, from)
	}
	source := m.results.retype[from]
	delete(m.results.retype, from)
	target := m.targetProvider(to, provider)
	if to.Resource.Type != from.Resource.Type || target.Provider != provider.Provider {
		if source == nil {
			source = &moveSource{addr: from, provider: provider}
		}
	}
	if source != nil && source.addr.Resource.Type != to.Resource.Type {
		m.results.retype[to] = source
	}
	m.state.Forget(from)
	if left := m.state.Resource(from.Abs()); left != nil && len(left.Instances) == 0 {
		m.state.RemoveResource(from.Abs())
	}
	m.state.EnsureResource(to.Abs(), target).Instances[to.Key] = inst
	if first != to {
		m.results.from[to] = first
	}
}

// targetProvider is the provider configuration of an object's new address: its own as long as the type stays.
func (m *mover) targetProvider(to addrs.AbsInstance, had addrs.AbsProviderConfig) addrs.AbsProviderConfig {
	c := descendant(m.cfg, to.Module.Module())
	if c == nil {
		return had
	}
	rc := c.Module.Resources[to.Resource]
	if rc == nil || rc.ProviderAddr == had.Provider {
		return had
	}
	return addrs.AbsProviderConfig{Provider: rc.ProviderAddr}
}

// validateMoves checks the statements against the configuration; its errors come before anything that went wrong because of them.
func validateMoves(cfg *configs.Config) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	froms, tos := map[string]*moveStatement{}, map[string]*moveStatement{}
	for _, st := range collectMoves(cfg) {
		from, to := st.absFrom(), st.absTo()
		if from == to {
			diags = diags.Append(tfdiags.Errorf("Redundant move statement", "This statement moves %s to itself.", from).At(st.rng))
			continue
		}
		if st.declares(cfg, from) {
			diags = diags.Append(tfdiags.Errorf("Moved object still exists",
				"This statement declares a move from %s, but that is still declared. Change the address in the configuration to %s, or remove the moved block.", from, to).At(st.rng))
		}
		if other := froms[from.String()]; other != nil {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s:%d declared already that %s moved to %s.", other.rng.Filename, other.rng.Start.Line, from, other.absTo()).At(st.rng))
		}
		if other := tos[to.String()]; other != nil {
			diags = diags.Append(tfdiags.Errorf("Ambiguous move statements",
				"A statement at %s:%d declared already that %s moved to %s.", other.rng.Filename, other.rng.Start.Line, other.absFrom(), to).At(st.rng))
		}
		froms[from.String()], tos[to.String()] = st, st
	}
	return diags
}

// declares tells whether the configuration still declares exactly what a statement moves away.
func (st *moveStatement) declares(cfg *configs.Config, t addrs.Target) bool {
	if t.IsModule() {
		c := descendant(cfg, t.Module.Module())
		if c == nil || c.Call == nil {
			return false
		}
		_, step := t.Module.Parent()
		return declaresKey(c.Call.Count != nil, c.Call.ForEach != nil, step.Key, step.Key != addrs.NoKey, false)
	}
	c := descendant(cfg, t.Module.Module())
	if c == nil {
		return false
	}
	rc := c.Module.Resources[t.Resource]
	if rc == nil {
		return false
	}
	to := st.absTo()
	return declaresKey(rc.Count != nil, rc.ForEach != nil, t.Key, t.HasKey, !to.IsModule() && to.Resource == t.Resource && to.Module == t.Module)
}

// declaresKey tells whether a block declares the instance. Which keys a repeated block has is known only later.
func declaresKey(count, forEach bool, key addrs.InstanceKey, hasKey, sameBlock bool) bool {
	if !hasKey || key == addrs.NoKey {
		return !count && !forEach || !hasKey && !sameBlock
	}
	return false
}
