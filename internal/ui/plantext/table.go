package plantext

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"tofu/internal/parallel"
	"tofu/internal/plans"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Orders are the names of the orders in which a table can be sorted.
var Orders = []string{"action", "address", "type", "file"}

// row is a line of the table.
type row struct {
	change *planview.Change
	kind   planview.Kind
	name   string
	what   string
	at     string
	hidden int
	whole  bool // whether hide rules hide all its differences
}

// Table writes one line for each change.
func Table(s *Screen, p *planview.Plan) {
	rows := make([]row, len(p.Changes))
	parallel.Each(len(rows), runtime.GOMAXPROCS(0), func(i int) { rows[i] = newRow(p.Changes[i]) })
	var hidden hiddenCounts
	shown := rows[:0]
	for _, r := range rows {
		hidden.differences += r.hidden
		if r.whole {
			hidden.objects++
		} else {
			shown = append(shown, r)
		}
	}
	sortRows(shown, s.Sort)
	s.table(shown)
	s.Outside(p.Drift)
	s.end(p, hidden)
}

func newRow(c *planview.Change) row {
	r := row{change: c, kind: c.Kind(), name: c.Name(), at: place(c.At())}
	switch r.kind {
	case planview.Updated, planview.Replaced:
		var fields []planview.Field
		fields, r.hidden = c.Fields()
		r.what = changedNames(fields)
		if reason := planview.ReplaceReason(c.InstanceChange); reason != "" {
			r.what = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(reason, "("), ")") + " " + r.what)
		}
		r.whole = r.kind == planview.Updated && len(fields) == 0 && r.hidden > 0
	case planview.Moved:
		r.what = "from " + c.MovedFrom.String()
	default:
		r.what = cmp.Or(shortReasons[c.Reason], c.Why())
		if c.Importing != nil && c.Importing.ID != "" {
			r.what = "imported from " + c.Importing.ID
		}
	}
	r.what = strings.TrimSpace(r.what + " " + c.Invokes())
	return r
}

// shortReasons maps reasons for deletions to short phrases. They omit the address, because it is on
// the same line.
var shortReasons = map[plans.Reason]string{
	plans.DeleteNoResourceConfig: "not in the configuration",
	plans.DeleteNoModule:         "no such module instance",
	plans.DeleteCountIndex:       "its index exceeds count",
	plans.DeleteEachKey:          "its key isn't in for_each",
	plans.DeleteEnabledFalse:     "enabled is false",
}

// changedNames lists the arguments that change. Those that force a replacement come first and
// end with "!".
func changedNames(fields []planview.Field) string {
	var forced, plain []string
	seen := make(map[string]bool)
	for _, f := range fields {
		name := f.Name()
		switch {
		case f.Forces && !seen[name+"!"]:
			seen[name], seen[name+"!"] = true, true
			forced = append(forced, name+"!")
		// Skip values that the provider decides.
		case !seen[name] && !f.Forces && !(f.Unknown && f.At.Filename == ""):
			seen[name] = true
			plain = append(plain, name)
		}
	}
	plain = slices.DeleteFunc(plain, func(name string) bool { return seen[name+"!"] })
	return strings.Join(append(forced, plain...), " ")
}

// sortRows sorts rows, which must be in the order of the module tree.
func sortRows(rows []row, order string) {
	slices.SortStableFunc(rows, func(a, b row) int {
		switch order {
		case "address":
			return a.change.Addr.Compare(b.change.Addr)
		case "type":
			return strings.Compare(a.change.Addr.Resource.Type, b.change.Addr.Resource.Type)
		case "file":
			x, y := a.change.At(), b.change.At()
			return cmp.Or(strings.Compare(x.Filename, y.Filename), cmp.Compare(x.Start.Line, y.Start.Line))
		}
		return cmp.Compare(a.kind, b.kind)
	})
}

// layout holds the width of each column, or 0 for columns that are omitted. If below is set,
// the changed arguments are on a separate line.
type layout struct {
	name, what, at int
	below          bool
}

// The minimum screen widths at which a table has further columns. On a narrower screen, changed
// arguments are below the name, unless the column fits completely.
const (
	withWhat  = 60
	withPlace = 100
)

// newLayout returns the layout for a screen width. Without a terminal, nothing is shortened, and
// there is no column for the position in the configuration.
func newLayout(rows []row, width int, terminal bool) layout {
	l := layout{name: len(header.name), what: len(header.what)}
	anyWhat := false
	for _, r := range rows {
		l.name = max(l.name, termtext.Width(r.name))
		l.what = max(l.what, termtext.Width(r.what))
		anyWhat = anyWhat || r.what != ""
		l.at = max(l.at, len(r.at))
	}
	if !terminal {
		if !anyWhat {
			l.what = 0
		}
		l.at = 0
		return l
	}
	room := width - len("-/+ ")
	if width < withPlace || l.at == 0 {
		l.at = 0
	} else {
		l.at = min(l.at, 30)
		room -= l.at + 2
	}
	if !anyWhat || width < withWhat && l.name+2+l.what > room {
		l.what, l.below = 0, anyWhat
		l.name = min(l.name, room)
		return l
	}
	l.what = max(min(l.what, room-l.name-2), min(l.what, room/3))
	l.name = min(l.name, room-l.what-2)
	return l
}

var header = row{name: "resource", what: "what changes", at: "place"}

func (s *Screen) table(rows []row) {
	if len(rows) == 0 {
		return
	}
	l := newLayout(rows, s.Width, s.Terminal)
	s.write("\n" + s.Style.As(termtext.Bold, s.cells(l, "   ", "", header.name, header.what, header.at)))
	same := ambiguous(rows, l.name)
	for _, r := range rows {
		symbol, color := symbolOf(r.change), kinds[r.kind].color
		symbol = strings.Repeat(" ", 3-termtext.Width(symbol)) + symbol
		name := termtext.OneLine(r.name)
		if !same[termtext.CutMiddle(name, l.name)] {
			s.write(s.cells(l, symbol, color, name, termtext.OneLine(r.what), r.at))
			s.below(l, r)
			continue
		}
		for i, line := range termtext.WrapWords(name, s.Width-len("-/+ ")) {
			if i > 0 {
				symbol = "   "
			}
			s.write(s.Style.As(color, symbol) + " " + line + "\n")
		}
		if l.what > 0 && r.what != "" || l.at > 0 && r.at != "" {
			s.write(s.cells(l, "   ", "", "", termtext.OneLine(r.what), r.at))
		}
		s.below(l, r)
	}
}

// below writes the changed arguments on a separate line, if they have no column.
func (s *Screen) below(l layout, r row) {
	if l.below && r.what != "" {
		s.wrapped(len("-/+ ")+2, r.what)
	}
}

// ambiguous returns the shortened names that several different names have in common.
func ambiguous(rows []row, columns int) map[string]bool {
	whole := make(map[string]string, len(rows))
	out := make(map[string]bool)
	for _, r := range rows {
		name := termtext.OneLine(r.name)
		short := termtext.CutMiddle(name, columns)
		if other, found := whole[short]; found && other != name {
			out[short] = true
		}
		whole[short] = name
	}
	return out
}

// cells returns a line of a table.
func (s *Screen) cells(l layout, symbol string, color termtext.Color, name, what, at string) string {
	var b strings.Builder
	b.WriteString(termtext.Pad(termtext.CutMiddle(name, l.name), l.name))
	if l.what > 0 {
		b.WriteString("  " + termtext.Pad(termtext.Cut(what, l.what), l.what))
	}
	if l.at > 0 {
		b.WriteString("  " + termtext.CutMiddle(at, l.at))
	}
	return s.Style.As(color, symbol) + " " + strings.TrimRight(b.String(), " ") + "\n"
}

// symbolOf returns the symbol of a change. Objects that are only moved or imported have arrows.
func symbolOf(c *planview.Change) string {
	switch c.Kind() {
	case planview.Moved:
		return "→"
	case planview.Imported:
		return "←"
	}
	return planview.Symbol(c.Action)
}

// counts maps actions to numbers of objects.
type counts map[plans.Action]int

// byDanger lists the actions, the most dangerous first.
var byDanger = []plans.Action{
	plans.Delete, plans.DeleteThenCreate, plans.CreateThenDelete, plans.ForgetThenCreate, plans.Forget, plans.Update,
	plans.Create, plans.Read,
}

// text lists the counts, the most dangerous actions first: "-1 -/+2 ~3 +4".
func (c counts) text(s *Screen) string {
	var parts []string
	for _, a := range byDanger {
		if c[a] > 0 {
			parts = append(parts, s.Style.As(actionColors[a], planview.Symbol(a))+fmt.Sprint(c[a]))
		}
	}
	return strings.Join(parts, " ")
}

var actionColors = map[plans.Action]termtext.Color{
	plans.Create: termtext.Green, plans.Update: termtext.Yellow, plans.Delete: termtext.Red,
	plans.DeleteThenCreate: termtext.Red, plans.CreateThenDelete: termtext.Red, plans.Read: termtext.Cyan,
	plans.Forget: termtext.Yellow, plans.ForgetThenCreate: termtext.Yellow,
}
