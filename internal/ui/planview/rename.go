package planview

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/valuediff"
)

// A Rename is a hint about objects that seem to have been renamed: the plan deletes them and
// creates similar objects under other names.
type Rename struct {
	Module   addrs.Module // module that the moved block belongs to
	From, To string       // addresses relative to the module
	Objects  int          // number of deleted objects that look like created ones
}

// MovedBlock returns the block to add to the module.
func (r Rename) MovedBlock() string {
	return "moved {\n  from = " + r.From + "\n  to   = " + r.To + "\n}"
}

// Limits for the search for renamed objects.
const (
	// Maximum number of pairs per type to compare; if there are more, only equal objects match.
	maxPairs   = 2500
	maxNameSet = 8    // maximum number of sets of attribute names used to find equal objects
	minLikes   = 0.75 // minimum share of known arguments that must be equal
)

// renamedPair is a deletion and a creation of similar objects.
type renamedPair struct{ from, to *Change }

// renames returns hints about pairs of a deletion and a creation that seem to be a renaming, and
// nothing for destroy and refresh-only plans. Both objects have the same type and provider, and
// most known arguments of the new object equal those of the old one. An object that is equally
// similar to several others is ignored.
func renames(p *Plan) []Rename {
	type kind struct {
		provider addrs.ProviderInstance
		typ      string
	}
	type candidates struct{ gone, added []*Change }
	kinds := make(map[kind]*candidates)
	var order []kind
	for _, c := range p.Changes {
		if c.Addr.Resource.Mode != addrs.Managed || c.Deposed != addrs.NotDeposed ||
			c.Action != plans.Delete && c.Action != plans.Create {
			continue
		}
		k := kind{c.Provider, c.Addr.Resource.Type}
		if kinds[k] == nil {
			kinds[k] = &candidates{}
			order = append(order, k)
		}
		if c.Action == plans.Delete {
			kinds[k].gone = append(kinds[k].gone, c)
		} else if c.Importing == nil {
			kinds[k].added = append(kinds[k].added, c)
		}
	}
	if p.Plan.Mode != plans.Normal {
		return nil
	}
	var pairs []renamedPair
	for _, k := range order {
		list := kinds[k]
		switch n := len(list.gone) * len(list.added); {
		case n == 0:
		case n <= maxPairs:
			pairs = append(pairs, likest(list.gone, list.added)...)
		default:
			pairs = append(pairs, equals(list.gone, list.added)...)
		}
	}
	return collapse(p, pairs)
}

// knownArguments returns the known arguments of a new object by name, except null and empty ones.
func knownArguments(c *Change) map[string]cty.Value {
	out := make(map[string]cty.Value)
	after := valuediff.Unmarked(c.After)
	if after.IsNull() || !after.IsKnown() || !after.Type().IsObjectType() {
		return out
	}
	for name, v := range valuediff.Members(after) {
		if v.IsWhollyKnown() && !valuediff.Unmarked(v).IsNull() && !isEmpty(v) {
			out[name] = v
		}
	}
	return out
}

func isEmpty(v cty.Value) bool {
	v = valuediff.Unmarked(v)
	ty := v.Type()
	return (ty.IsCollectionType() || ty.IsTupleType()) && v.LengthInt() == 0 || ty == cty.String && v.AsString() == ""
}

// likest pairs deleted and created objects that are more similar to each other than to any other.
func likest(gone, added []*Change) []renamedPair {
	type score struct {
		likes   float64
		sameKey bool
	}
	type best struct {
		score
		at   int
		ties int
	}
	better := func(b *best, s score, at int) {
		switch {
		case b.ties == 0 || s.likes > b.likes || s.likes == b.likes && s.sameKey && !b.sameKey:
			*b = best{s, at, 1}
		case s == b.score:
			b.ties++
		}
	}
	ofGone, ofAdded := make([]best, len(gone)), make([]best, len(added))
	for i, c := range added {
		known := knownArguments(c)
		for j, d := range gone {
			if likes := likeness(d, known); likes >= minLikes {
				s := score{likes, c.Addr.Key == d.Addr.Key}
				better(&ofAdded[i], s, j)
				better(&ofGone[j], s, i)
			}
		}
	}
	var out []renamedPair
	for i, b := range ofAdded {
		if b.ties == 1 && ofGone[b.at].ties == 1 && ofGone[b.at].at == i {
			out = append(out, renamedPair{gone[b.at], added[i]})
		}
	}
	return out
}

// likeness returns the share of the known arguments that are equal in an old object.
func likeness(c *Change, known map[string]cty.Value) float64 {
	before := valuediff.Unmarked(c.Before)
	if len(known) == 0 || before.IsNull() {
		return 0
	}
	same := 0
	for name, v := range known {
		if before.Type().HasAttribute(name) && valuediff.SameValue(before.GetAttr(name), v) {
			same++
		}
	}
	return float64(same) / float64(len(known))
}

// equals pairs objects whose known arguments are all equal, if they have the same instance key or
// are the only candidates. It takes time linear in the number of objects.
func equals(gone, added []*Change) []renamedPair {
	type side struct{ gone, added []*Change }
	index := make(map[string]*side)
	at := func(key string) *side {
		if index[key] == nil {
			index[key] = &side{}
		}
		return index[key]
	}
	var sets [][]string
	seen := make(map[string]bool)
	var order []string
	for _, c := range added {
		names := slices.Sorted(maps.Keys(knownArguments(c)))
		set := strings.Join(names, ",")
		if !seen[set] {
			if len(names) == 0 || len(sets) == maxNameSet {
				continue
			}
			seen[set] = true
			sets = append(sets, names)
		}
		key := argumentsKey(c.After, names)
		order = append(order, key)
		at(key).added = append(at(key).added, c)
	}
	for _, d := range gone {
		for _, names := range sets {
			if s := index[argumentsKey(d.Before, names)]; s != nil {
				s.gone = append(s.gone, d)
			}
		}
	}
	var out []renamedPair
	used := make(map[*Change]bool)
	for _, key := range order {
		s := index[key]
		if s.gone == nil || s.added == nil {
			continue
		}
		byKey := make(map[addrs.InstanceKey]*Change)
		for _, d := range s.gone {
			byKey[d.Addr.Key] = d
		}
		for _, c := range s.added {
			d := byKey[c.Addr.Key]
			if d == nil && len(s.gone) == 1 && len(s.added) == 1 {
				d = s.gone[0]
			}
			if d != nil && !used[d] {
				used[d] = true
				out = append(out, renamedPair{d, c})
			}
		}
		s.added = nil
	}
	return out
}

func argumentsKey(v cty.Value, names []string) string {
	v = valuediff.Unmarked(v)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + "=")
		if !v.IsNull() && v.Type().HasAttribute(name) {
			b.WriteString(valuediff.Key(v.GetAttr(name)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// collapse returns moved blocks for pairs. A single block moves a whole resource or module if
// all its objects keep their keys or names.
func collapse(p *Plan, pairs []renamedPair) []Rename {
	type move struct{ from, to addrs.AbsResource }
	deleted := make(map[addrs.AbsResource]int)
	for _, c := range p.Changes {
		if c.Action == plans.Delete {
			deleted[c.Addr.Abs()]++
		}
	}
	var order []move
	byMove := make(map[move][]renamedPair)
	for _, pair := range pairs {
		m := move{pair.from.Addr.Abs(), pair.to.Addr.Abs()}
		if byMove[m] == nil {
			order = append(order, m)
		}
		byMove[m] = append(byMove[m], pair)
	}
	var out []Rename
	index := make(map[Rename]int)
	add := func(from, to addrs.ModuleInstance, fromText, toText string, objects int) {
		r := Rename{From: fromText, To: toText}
		if from == to {
			r.Module = from.Module()
		} else {
			r.From, r.To = joinAddress(from, fromText), joinAddress(to, toText)
		}
		if i, known := index[r]; known { // another module instance has the same block
			out[i].Objects += objects
			return
		}
		index[r] = len(out)
		r.Objects = objects
		out = append(out, r)
	}
	for _, m := range order {
		list := byMove[m]
		whole := m.from != m.to && len(list) == deleted[m.from] &&
			!slices.ContainsFunc(list, func(pair renamedPair) bool { return pair.from.Addr.Key != pair.to.Addr.Key })
		if whole {
			add(m.from.Module, m.to.Module, m.from.Resource.String(), m.to.Resource.String(), len(list))
			continue
		}
		for _, pair := range list {
			add(m.from.Module, m.to.Module, m.from.Resource.String()+pair.from.Addr.Key.String(),
				m.to.Resource.String()+pair.to.Addr.Key.String(), 1)
		}
	}
	return modules(p, out)
}

// modules looks for moves of all resources from one module to another, and replaces them with one
// move of the module.
func modules(p *Plan, list []Rename) []Rename {
	type move struct{ from, to addrs.ModuleInstance }
	deleted := make(map[addrs.ModuleInstance]int)
	for _, c := range p.Changes {
		if c.Action == plans.Delete {
			deleted[c.Addr.Module]++
		}
	}
	moved := make(map[move]int)
	split := func(r Rename) (move, bool) {
		from, err := addrs.ParseInstanceText(r.From)
		to, err2 := addrs.ParseInstanceText(r.To)
		if err != nil || err2 != nil || r.Module != "" || from.Resource != to.Resource || from.Key != to.Key ||
			from.Module.IsRoot() || to.Module.IsRoot() {
			return move{}, false
		}
		return move{from.Module, to.Module}, true
	}
	for _, r := range list {
		if m, ok := split(r); ok {
			moved[m] += r.Objects
		}
	}
	var out []Rename
	written := make(map[move]bool)
	for _, r := range list {
		m, ok := split(r)
		if !ok || moved[m] != deleted[m.from] {
			out = append(out, r)
			continue
		}
		if !written[m] {
			written[m] = true
			out = append(out, Rename{From: m.from.String(), To: m.to.String(), Objects: moved[m]})
		}
	}
	slices.SortStableFunc(out, func(a, b Rename) int { return cmp.Compare(b.Objects, a.Objects) })
	return out
}

func joinAddress(module addrs.ModuleInstance, rest string) string {
	if module.IsRoot() {
		return rest
	}
	return module.String() + "." + rest
}
