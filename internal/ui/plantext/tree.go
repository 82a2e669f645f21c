package plantext

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Tree writes modules and resources as a tree, with symbols and counts. Instances of a resource
// with the same action share a line, and so do instances of a module that have the same
// changes.
func Tree(s *Screen, p *planview.Plan) {
	root := &branch{}
	modules := map[addrs.ModuleInstance]*branch{addrs.RootInstance: root}
	var hidden hiddenCounts
	for _, c := range p.Changes {
		if len(p.Options.Hide) > 0 && c.Kind() == planview.Updated {
			fields, n := c.Fields()
			hidden.differences += n
			if len(fields) == 0 && n > 0 {
				hidden.objects++
				continue
			}
		}
		branchOf(modules, c.Addr.Module).add(c)
	}
	root.finish()
	s.write("\n")
	s.branch("", root)
	s.Outside(p.Drift)
	s.end(p, hidden)
}

// branch is a module instance, or several instances with the same changes.
type branch struct {
	step     addrs.Step
	keys     []addrs.InstanceKey // instance keys if the branch represents several instances
	leaves   []*leaf
	children []*branch
	index    map[leafKey]*leaf
	counts   counts
	digest   [sha256.Size]byte // equal for branches with the same changes
}

// leaf holds the instances of a resource that have the same action.
type leaf struct {
	changes []*planview.Change
}

// branchOf returns the branch of a module instance. If necessary, it creates the branch and its
// ancestors.
func branchOf(all map[addrs.ModuleInstance]*branch, module addrs.ModuleInstance) *branch {
	if b := all[module]; b != nil {
		return b
	}
	parent, step := module.Parent()
	above := branchOf(all, parent)
	b := &branch{step: step}
	above.children = append(above.children, b)
	all[module] = b
	return b
}

// leafKey is equal for changes that belong to the same leaf.
type leafKey struct {
	resource addrs.Resource
	action   plans.Action
	kind     planview.Kind
}

func (b *branch) add(c *planview.Change) {
	key := leafKey{c.Addr.Resource, c.Action, c.Kind()}
	l := b.index[key]
	if l == nil {
		l = &leaf{}
		if b.index == nil {
			b.index = make(map[leafKey]*leaf)
		}
		b.index[key] = l
		b.leaves = append(b.leaves, l)
	}
	l.changes = append(l.changes, c)
}

// finish counts the changes in a branch and merges equal children.
func (b *branch) finish() {
	b.counts = make(counts)
	hash := sha256.New()
	for _, l := range b.leaves {
		first := l.changes[0]
		b.counts[first.Action] += len(l.changes)
		fmt.Fprintln(hash, first.Addr.Resource, first.Action, first.Kind())
		for _, c := range l.changes {
			fmt.Fprintln(hash, c.Addr.Key, c.Deposed)
		}
	}
	var folded []*branch
	type same struct {
		name   string
		digest [sha256.Size]byte
	}
	index := make(map[same]*branch)
	for _, child := range b.children {
		child.finish()
		for action, n := range child.counts {
			b.counts[action] += n
		}
		key := same{child.step.Name, child.digest}
		fmt.Fprintf(hash, "%s %s %x\n", child.step.Name, child.step.Key, child.digest)
		if first := index[key]; first != nil {
			first.keys = append(first.keys, child.step.Key)
			continue
		}
		child.keys = []addrs.InstanceKey{child.step.Key}
		index[key] = child
		folded = append(folded, child)
	}
	b.children = folded
	b.digest = [sha256.Size]byte(hash.Sum(nil))
}

// branch writes the content of a branch. Each line starts with prefix.
func (s *Screen) branch(prefix string, b *branch) {
	total := len(b.leaves) + len(b.children)
	next := func() (mark, below string) {
		total--
		if total == 0 {
			return "└─ ", "   "
		}
		return "├─ ", "│  "
	}
	for _, l := range b.leaves {
		mark, _ := next()
		c := l.changes[0]
		s.treeLine(prefix+mark, symbolOf(c), kinds[c.Kind()].color, c.Addr.Resource.String(), leafNote(l))
	}
	for _, child := range b.children {
		mark, below := next()
		name := "module." + child.step.Name
		note := child.counts.text(s)
		if len(child.keys) == 1 {
			name += child.keys[0].String()
		} else {
			keys := make([]string, len(child.keys))
			for i, key := range child.keys {
				keys[i] = key.String()
			}
			note = count(len(child.keys), "instance") + ", each " + note + ": " + fit(keys, 0, leafColumns)
		}
		s.treeLine(prefix+mark, "", "", name, note)
		s.branch(prefix+below, child)
	}
}

// treeLine writes a line. If there is too little room, the name and the note are cut, or the note
// is omitted.
func (s *Screen) treeLine(prefix, symbol string, color termtext.Color, name, note string) {
	if symbol != "" {
		symbol += " "
	}
	room := max(s.Width-termtext.Width(prefix)-termtext.Width(symbol), 8)
	name = termtext.CutMiddle(termtext.OneLine(name), room)
	room -= termtext.Width(name)
	if plain := termtext.Plain(note); termtext.Width(plain)+2 > room {
		note = termtext.Cut(termtext.OneLine(plain), max(room-2, 0))
	}
	if note != "" && room > 4 {
		note = "  " + note
	} else {
		note = ""
	}
	s.write(prefix + s.Style.As(color, symbol) + name + note + "\n")
}

// leafNote returns the note after a leaf, which names its instances.
func leafNote(l *leaf) string {
	first := l.changes[0]
	if len(l.changes) == 1 {
		note := first.Addr.Key.String() + " " + first.Invokes()
		if first.Deposed != addrs.NotDeposed {
			note += " deposed object " + string(first.Deposed)
		}
		if first.MovedFrom != nil && first.Action == plans.NoOp {
			note += " from " + first.MovedFrom.String()
		}
		return strings.TrimSpace(note)
	}
	g := &planview.Group{Change: first, Changes: l.changes}
	names, left := g.Members(maxMembers)
	text := count(len(l.changes), "instance") + ": " + fit(names, left, leafColumns)
	for _, c := range l.changes {
		if len(c.Invocations) > 0 {
			return text + "; some invoke actions"
		}
	}
	return text
}

// leafColumns is the number of columns for the names of instances in a line.
const leafColumns = 35

// fit joins as many names as fit into the given number of columns, but at least one. If any are
// missing, the text ends with "…". left is the number of instances that are not in names.
func fit(names []string, left, columns int) string {
	text := strings.Join(names, ", ")
	if left == 0 && (termtext.Width(text) <= columns || len(names) == 1) {
		return text
	}
	used := 0
	for i, name := range names {
		used += termtext.Width(name) + 2
		if used > columns-len(", …") && i > 0 {
			names = names[:i]
			break
		}
	}
	return strings.Join(names, ", ") + ", …"
}
