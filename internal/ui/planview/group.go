package planview

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tofu/internal/addrs"
	"tofu/internal/parallel"
	"tofu/internal/plans"
)

// A Kind says what happens to an object. Kinds are ordered by danger: the most dangerous has
// the lowest value, and comes first in reviews.
type Kind uint8

// The kinds of changes.
const (
	Destroyed Kind = iota
	Replaced
	Forgotten
	Updated
	Created
	Imported // imported without another change
	Read
	Moved // moved without another change
)

// Kind returns the kind of a change.
func (c *Change) Kind() Kind {
	switch {
	case c.Action == plans.Delete:
		return Destroyed
	case c.Action.IsReplace():
		return Replaced
	case c.Action == plans.Forget:
		return Forgotten
	case c.Action == plans.Update:
		return Updated
	case c.Action == plans.Create:
		return Created
	case c.Action == plans.Read:
		return Read
	case c.Importing != nil:
		return Imported
	}
	return Moved
}

// A Group is a change, or several equal changes of instances of one resource.
type Group struct {
	*Change // first change of the group
	Kind    Kind
	Changes []*Change
	// Fields are the differences of all changes in the group. If they differ only by the key of the
	// instance, an expression such as ${each.key} replaces the key.
	Fields []Field
	Hidden int // number of differences in the first change that hide rules omit
}

// Expressions that replace an instance key in values, written as in a configuration.
const (
	countText = "${count.index}"
	eachText  = "${each.key}"
)

// Groups returns the changes as groups. Changes of instances of a resource are in one group if they
// are equal, if they differ only by the instance key, or if they differ only in old values of
// attributes that become unknown. Groups are sorted by kind and then in the order of the module
// tree. Groups of deleted, forgotten, imported and moved objects have no fields, so the values of
// such objects may differ within a group.
func (p *Plan) Groups() []*Group { return Groups(p.Changes) }

// Groups returns some of the changes of a plan as groups, see Plan.Groups. Of changes made outside of
// OpenTofu, only the differences that matter to the plan count.
func Groups(changes []*Change) []*Group {
	equal := make(map[string]*Group)
	var all []*folded
	for some := range slices.Chunk(changes, 512) {
		made := make([]*folded, len(some))
		parallel.Each(len(some), runtime.GOMAXPROCS(0), func(i int) { made[i] = fold(some[i]) })
		for _, f := range made {
			if first := equal[f.equal]; first != nil {
				first.add(f.Change, f.Fields)
				continue
			}
			equal[f.equal] = f.Group
			all = append(all, f)
		}
	}
	alike := make(map[string]*Group)
	byShape := make(patterns)
	var out []*Group
	for _, f := range all {
		first := alike[f.alike]
		switch {
		case len(f.Changes) > 1: // equal changes: their fields don't contain the keys
		case byShape.join(f):
			continue
		case first != nil:
			if len(first.Changes) == 1 {
				first.Fields = withoutKey(first.Fields, first.Addr.Key)
			}
			first.add(f.Change, withoutKey(f.Fields, f.Addr.Key))
			continue
		default:
			alike[f.alike] = f.Group
		}
		out = append(out, f.Group)
	}
	for _, list := range byShape {
		for _, p := range list {
			p.finish()
		}
	}
	slices.SortStableFunc(out, func(a, b *Group) int { return int(a.Kind) - int(b.Kind) })
	return out
}

// folded is a group with a single change. Two changes belong to the same group if they have the
// same hash of either kind.
type folded struct {
	*Group
	equal string // hash that ignores the instance key in the address
	// Hash that also ignores the key in values, where ${each.key} replaces it.
	alike string
}

func fold(c *Change) *folded {
	g := &Group{Change: c, Kind: c.Kind(), Changes: []*Change{c}}
	switch {
	case g.Kind == Destroyed:
	case c.Drift:
		g.Fields = c.RelevantFields()
	case g.Kind == Updated || g.Kind == Replaced || g.Kind == Created || g.Kind == Read:
		g.Fields, g.Hidden = c.Fields()
	}
	f := &folded{Group: g, equal: g.hash(g.Fields)}
	f.alike = f.equal
	same := func(a, b Field) bool { return a.Before == b.Before && a.After == b.After }
	if replaced := withoutKey(g.Fields, c.Addr.Key); !slices.EqualFunc(g.Fields, replaced, same) {
		f.alike = g.hash(replaced)
	}
	return f
}

// add adds a change to the group. Its fields must equal those of the group, except for old
// values of attributes that become unknown. The group keeps such an old value only if all
// changes have it.
func (g *Group) add(c *Change, fields []Field) {
	g.Changes = append(g.Changes, c)
	for i := range g.Fields {
		if g.Fields[i].Unknown && g.Fields[i].Before != fields[i].Before {
			g.Fields[i].Before = ""
		}
	}
}

// hash returns a hash of the group's change with the given fields.
func (g *Group) hash(fields []Field) string {
	c, hash := g.Change, sha256.New()
	fmt.Fprintln(hash, c.Addr.Module.Module(), c.Addr.Resource, c.Deposed)
	fmt.Fprintln(hash, c.Action, g.Kind, c.Reason, c.Importing != nil)
	if g.Kind == Destroyed || g.Kind == Forgotten {
		fmt.Fprintln(hash, SharedReason(c.InstanceChange))
	}
	if c.MovedFrom != nil {
		fmt.Fprintln(hash, c.MovedFrom.Config())
	}
	fmt.Fprintln(hash, sharedInvocations(c.InstanceChange))
	for _, f := range fields {
		before := f.Before
		if f.Unknown { // old values may differ, such as the IDs of replaced objects
			before = fmt.Sprint(before != "")
		}
		fmt.Fprintf(hash, "%q %d %q %q %q ", f.Path, f.Action, before, f.After, f.Note)
		fmt.Fprintf(hash, "%v %v %q\n", f.Forces, f.Unknown, f.Causes)
		for _, l := range f.Lines {
			fmt.Fprintf(hash, "%d%q", l.Action, l.Text)
		}
	}
	return string(hash.Sum(nil))
}

// withoutKey replaces an instance key in fields with the expression for it. It doesn't replace keys
// without letters, which may occur in unrelated values; patterns are for those that are numbers.
func withoutKey(fields []Field, key addrs.InstanceKey) []Field {
	text, ok := key.IsString()
	if !ok || !strings.ContainsFunc(text, unicode.IsLetter) {
		return fields
	}
	out := slices.Clone(fields)
	for i := range out {
		f := &out[i]
		f.Before, f.After = replaceKey(f.Before, text), replaceKey(f.After, text)
	}
	return out
}

// replaceKey replaces key in text with the expression for it, wherever it is a separate word.
func replaceKey(text, key string) string {
	if !strings.Contains(text, key) {
		return text
	}
	var b strings.Builder
	for rest := text; ; {
		i := strings.Index(rest, key)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:len(text)-len(rest)+i])
		after, _ := utf8.DecodeRuneInString(rest[i+len(key):])
		b.WriteString(rest[:i])
		if besideWords(before, after) {
			b.WriteString(eachText)
		} else {
			b.WriteString(key)
		}
		rest = rest[i+len(key):]
	}
}

// besideWords reports whether a key between two characters is a separate word.
func besideWords(before, after rune) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return !part(before) && !part(after)
}

// Title returns the address of the object or, if the group has several, of their resource. The
// address includes the module instance if all objects are in the same one.
func (g *Group) Title() string {
	switch {
	case len(g.Changes) == 1:
		return g.Name()
	case g.OneModule():
		return g.Addr.Abs().String()
	}
	return g.Addr.Config().String()
}

// OneModule reports whether all objects are in the same module instance.
func (g *Group) OneModule() bool {
	return !slices.ContainsFunc(g.Changes, func(c *Change) bool { return c.Addr.Module != g.Addr.Module })
}

// Members returns names for the instances of a group, which contain only what distinguishes
// them. Consecutive numbers are ranges. At most limit names are returned, and left is the
// number of instances that are not named.
func (g *Group) Members(limit int) (names []string, left int) {
	within := g.OneModule()
	i := 0
	for i < len(g.Changes) && len(names) < limit {
		c := g.Changes[i]
		last := i
		if n, ok := c.Addr.Key.IsInt(); ok {
			for last+1 < len(g.Changes) && g.Changes[last+1].Addr == c.Addr.Abs().Instance(addrs.IntKey(n+last+1-i)) {
				last++
			}
		}
		text := c.member(within)
		switch {
		case last > i+1:
			text += " to " + g.Changes[last].member(true)
		default:
			last = i
		}
		names = append(names, text)
		i = last + 1
	}
	return names, len(g.Changes) - i
}

// member returns the name of a change within its group. within says that the whole group is in
// one module instance.
func (c *Change) member(within bool) string {
	switch key := c.Addr.Key.String(); {
	case within && key != "":
		return key
	case within, key != "":
		return c.Name()
	default:
		return c.Addr.Module.String()
	}
}
