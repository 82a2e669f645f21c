package plantext

import (
	"strconv"
	"strings"

	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Roots writes a table of root modules, the most dangerous changes first. Root modules without changes
// are only counted.
func Roots(s *Screen, roots []planview.Root) {
	rows := make([]planview.Root, 0, len(roots))
	names := len("root module")
	for _, r := range planview.ByDanger(roots) {
		if !r.Unchanged {
			rows = append(rows, r)
			names = max(names, termtext.Width(termtext.OneLine(r.Name)))
		}
	}
	if len(rows) > 0 {
		s.roots(rows, names)
	}
	if n := len(roots) - len(rows); n > 0 {
		s.write("\nNo changes: " + count(n, "root module") + ".\n")
	}
}

// minName is the number of columns that names of root modules have at least. If the titles of the other
// columns leave less, signs replace them.
const minName = 24

// roots writes the rows of a table of root modules. names is the width of the widest name.
func (s *Screen) roots(rows []planview.Root, names int) {
	columns, sum := planview.Columns(rows)
	gap, widths, others := "  ", make([]int, len(columns)), 0
	title := func(c planview.Column) string { return c.Title }
	layout := func() {
		others = 0
		for i, c := range columns {
			widths[i] = max(termtext.Width(title(c)), len(strconv.Itoa(c.Of(sum))))
			others += len(gap) + widths[i]
		}
	}
	layout()
	if s.Terminal && s.Width-others < min(names, minName) {
		title, gap = func(c planview.Column) string { return c.Sign }, " "
		layout()
	}
	if s.Terminal {
		names = min(names, max(s.Width-others, 10))
	}
	head := termtext.Pad(termtext.Cut("root module", names), names)
	for i, c := range columns {
		head += gap + right(title(c), widths[i])
	}
	s.write("\n" + s.Style.As(termtext.Bold, strings.TrimRight(head, " ")) + "\n")
	for _, r := range rows {
		line := termtext.Pad(termtext.CutMiddle(termtext.OneLine(r.Name), names), names)
		for i, c := range columns {
			cell := strings.Repeat(" ", widths[i])
			if n := c.Of(r.Counts); n != 0 {
				cell = right(strconv.Itoa(n), widths[i])
				if c.Kind == planview.Moved { // the number of something that isn't a change
					cell = s.Style.As(termtext.Yellow, cell)
				} else {
					cell = s.Style.As(kinds[c.Kind].color, cell)
				}
			}
			line += gap + cell
		}
		s.write(strings.TrimRight(line, " ") + "\n")
		if r.Note != "" {
			s.wrapped(2, "("+termtext.Printable(r.Note)+")")
		}
	}
}

// right aligns text at the right of a number of columns.
func right(text string, columns int) string {
	return strings.Repeat(" ", max(columns-termtext.Width(text), 0)) + text
}

// Losses writes only what is destroyed, replaced or forgotten, as Brief does, and what is beside the
// changes of a plan.
func Losses(s *Screen, p *planview.Plan) {
	b := newBrief(s, p)
	var lost []*planview.Group
	for _, g := range p.Groups() {
		if g.Kind <= planview.Forgotten {
			lost = append(lost, g)
		}
	}
	b.sections(lost)
	s.Outside(b.unexplained())
	s.Problems(planview.FailedTitle(p.Failed), p.Failed)
	s.Problems(planview.WarningsTitle(p.Warnings), p.Warnings)
}
