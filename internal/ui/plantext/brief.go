package plantext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// kinds holds the heading and the color for each kind of change.
var kinds = [...]struct {
	heading string
	color   termtext.Color
}{
	planview.Destroyed: {"Destroy", termtext.Red},
	planview.Replaced:  {"Replace", termtext.Red},
	planview.Forgotten: {"Forget", termtext.Yellow},
	planview.Updated:   {"Change", termtext.Yellow},
	planview.Created:   {"Create", termtext.Green},
	planview.Imported:  {"Import", termtext.Green},
	planview.Read:      {"Read", termtext.Cyan},
	planview.Moved:     {"Move", termtext.Cyan},
}

// Brief writes what a reviewer must see. Deletions and replacements come first, with the
// attributes that force the replacements. Equal changes of several instances are shown once.
func Brief(s *Screen, p *planview.Plan) {
	b := newBrief(s, p)
	b.sections(slices.DeleteFunc(p.Groups(), b.hidden.add))
	b.outside()
	s.end(p, b.hidden)
}

func newBrief(s *Screen, p *planview.Plan) *brief {
	b := &brief{Screen: s, plan: p, drift: make(map[addrs.AbsInstance]*planview.Change)}
	for _, c := range p.Drift {
		b.drift[c.Addr] = c
	}
	return b
}

// sections writes groups that are sorted by kind.
func (b *brief) sections(groups []*planview.Group) {
	for len(groups) > 0 {
		end := slices.IndexFunc(groups, func(g *planview.Group) bool { return g.Kind != groups[0].Kind })
		if end < 0 {
			end = len(groups)
		}
		b.section(groups[:end])
		groups = groups[end:]
	}
}

// brief holds the data of one call of Brief or Losses.
type brief struct {
	*Screen
	plan   *planview.Plan
	drift  map[addrs.AbsInstance]*planview.Change // drift that no change has explained yet
	hidden hiddenCounts
}

// section writes the groups of one kind under a heading.
func (b *brief) section(groups []*planview.Group) {
	total := 0
	for _, g := range groups {
		total += len(g.Changes)
	}
	kind := kinds[groups[0].Kind]
	b.write("\n" + b.Style.As(termtext.Bold, kind.heading+" "+strconv.Itoa(total)+":") + "\n")
	for _, g := range groups {
		if g.Kind == planview.Moved {
			b.wrapped(2, moveText(g))
			continue
		}
		b.group(g, kind.color)
	}
}

// moveText describes objects that are moved without another change, in one line.
func moveText(g *planview.Group) string {
	if len(g.Changes) == 1 {
		return g.MovedFrom.String() + " -> " + g.Name()
	}
	return fmt.Sprintf("%s -> %s (%d instances)", g.MovedFrom.Config(), g.Addr.Config(), len(g.Changes))
}

func (b *brief) group(g *planview.Group, color termtext.Color) {
	b.titled(2, symbolOf(g.Change), color, g.Title(), place(g.At()))
	b.members(g, g.Kind == planview.Destroyed || g.Kind == planview.Replaced)
	for _, note := range notes(g) {
		b.wrapped(6, note)
	}
	b.explain(g)
	switch g.Kind {
	case planview.Updated, planview.Replaced:
		b.fields(6, g.Fields, true)
	case planview.Created, planview.Read:
		b.fields(6, g.Fields, false)
	}
	if g.Schema == nil {
		b.wrapped(6, planview.NoSchemaText)
	}
	if g.Hidden > 0 {
		b.line(6, termtext.Grey, "("+count(g.Hidden, "difference")+" hidden by -hide)")
	}
}

// members names the instances of a group that has several: all of those that are lost.
func (b *brief) members(g *planview.Group, lost bool) {
	if len(g.Changes) == 1 {
		return
	}
	limit := maxMembers
	if lost {
		limit = len(g.Changes)
	}
	names, left := g.Members(limit)
	if left > 0 {
		names = append(names, "and "+strconv.Itoa(left)+" more")
	}
	b.list(6, count(len(g.Changes), "instance")+":", names)
}

// maxMembers is the maximum number of instances that are named in a group, unless they are
// destroyed or replaced.
const maxMembers = 50

// notes returns the reason for a change, the former address of the object, and the ID of an
// import.
func notes(g *planview.Group) []string {
	if len(g.Changes) > 1 {
		return g.Notes()
	}
	_, list := planview.Heading(g.InstanceChange, false)
	out := make([]string, 0, len(list)+1)
	if text := planview.ReplaceReason(g.InstanceChange); text != "" {
		out = append(out, text)
	}
	for _, note := range list {
		out = append(out, strings.Join(strings.Fields(note), " "))
	}
	return out
}

// explain writes changes made outside of OpenTofu that may be the cause of the group's changes.
func (b *brief) explain(g *planview.Group) {
	outside := 0
	for _, c := range g.Changes {
		drift := b.drift[c.Addr]
		if drift == nil {
			continue
		}
		delete(b.drift, c.Addr)
		if len(g.Changes) == 1 {
			b.outsideChange(6, drift)
		}
		outside++
	}
	if outside > 0 && len(g.Changes) > 1 {
		b.wrapped(6, strconv.Itoa(outside)+" of them changed outside of OpenTofu")
	}
}

// outsideChange writes a change made outside of OpenTofu. It shows only differences that matter
// to the plan.
func (b *brief) outsideChange(indent int, c *planview.Change) {
	if c.Action == plans.Delete {
		b.wrapped(indent, "It was deleted outside of OpenTofu.")
		return
	}
	b.wrapped(indent, "Changed outside of OpenTofu:")
	fields := c.RelevantFields()
	b.fields(indent+2, fields, true)
}

// unexplained returns the changes made outside of OpenTofu that no change of the plan has explained.
func (b *brief) unexplained() []*planview.Change {
	return slices.DeleteFunc(slices.Clone(b.plan.Drift), func(c *planview.Change) bool { return b.drift[c.Addr] == nil })
}

// outside writes the remaining changes made outside of OpenTofu that may matter to the plan, and the
// number of the others.
func (b *brief) outside() {
	left := b.unexplained()
	refreshOnly := b.plan.Source.Plan.Mode == plans.RefreshOnly
	if len(left) > 0 {
		b.write("\n" + b.Style.As(termtext.Bold, fmt.Sprintf("Changed outside %d:", len(left))) + "\n")
		text := "These changes were not made by OpenTofu, and they matter for this plan."
		if refreshOnly {
			text = "These changes were not made by OpenTofu. To apply this plan records them in the state, and " +
				"changes no object."
		}
		b.wrapped(2, text)
	}
	for _, g := range planview.Groups(left) {
		b.titled(2, planview.Symbol(g.Action), termtext.Cyan, g.Title(), place(g.At()))
		b.members(g, g.Action == plans.Delete)
		switch {
		case g.Action == plans.Delete && len(g.Changes) > 1:
			b.wrapped(6, "They were deleted outside of OpenTofu.")
		case g.Action == plans.Delete:
			b.wrapped(6, "It was deleted outside of OpenTofu.")
		}
		b.fields(6, g.Fields, true)
	}
	if n := len(b.plan.RealDrift()) - len(b.plan.Drift); n > 0 {
		b.write("\n")
		b.wrapped(0, count(n, "more object")+" changed outside of OpenTofu, where nothing in this plan depends on it. "+
			"A plan with -refresh-only lists such changes.")
	}
}
