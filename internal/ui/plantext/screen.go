package plantext

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/plans"
	"tofu/internal/suggest"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// A View renders a plan on a screen.
type View func(*Screen, *planview.Plan)

// Views maps the names of views to views.
var Views = map[string]View{"brief": Brief, "tree": Tree, "table": Table}

// A Screen is the output of a view.
type Screen struct {
	Out   *bufio.Writer // keeps the first write error
	Style termtext.Style
	Width int    // columns of a line
	Sort  string // order of a table, one of Orders; "" for the first of them
	// Terminal reports whether Out is a terminal. If not, tables are as wide as their content.
	Terminal bool
}

func (s *Screen) write(text string) { _, _ = s.Out.WriteString(text) }

// line writes an indented line, and cuts it to the width of the screen.
func (s *Screen) line(indent int, color termtext.Color, text string) {
	text = termtext.Cut(termtext.OneLine(text), max(s.Width-indent, 10))
	if color != "" {
		text = s.Style.As(color, text)
	}
	s.write(strings.Repeat(" ", indent) + text + "\n")
}

// wrapped writes indented text, on as many lines as it needs.
func (s *Screen) wrapped(indent int, text string) {
	for _, line := range termtext.WrapWords(termtext.OneLine(text), max(s.Width-indent, 10)) {
		s.line(indent, "", line)
	}
}

// list writes a head and a list of parts with commas, on as many lines as they need. Lines
// break between parts if possible.
func (s *Screen) list(indent int, head string, parts []string) {
	room := max(s.Width-indent, 10)
	line, used := head, termtext.Width(head)
	for i, part := range parts {
		part = termtext.OneLine(part)
		if i < len(parts)-1 {
			part += ","
		}
		n := termtext.Width(part)
		if used+1+n > room {
			s.wrapped(indent, line)
			line, used = part, n
			continue
		}
		line, used = line+" "+part, used+1+n
	}
	s.wrapped(indent, line)
}

// titled writes an address in bold, and a note on the same line or, if it doesn't fit, below.
func (s *Screen) titled(indent int, symbol string, color termtext.Color, title, note string) {
	room := s.Width - indent - termtext.Width(symbol) - 1
	title = termtext.CutMiddle(termtext.OneLine(title), max(room, 10))
	text := strings.Repeat(" ", indent) + s.Style.As(color, symbol) + " " + s.Style.As(termtext.Bold, title)
	room -= termtext.Width(title) + 2
	note = termtext.OneLine(note)
	below := note != "" && termtext.Width(note) > room
	if note != "" && !below {
		text += "  " + s.Style.As(termtext.Grey, note)
	}
	s.write(text + "\n")
	if below {
		indent += 4
		note = termtext.CutMiddle(note, max(s.Width-indent, 10))
		s.write(strings.Repeat(" ", indent) + s.Style.As(termtext.Grey, note) + "\n")
	}
}

// place formats a range as FILE:LINE, or returns "" if the range is empty.
func place(at hcl.Range) string {
	if at.Filename == "" {
		return ""
	}
	return at.Filename + ":" + strconv.Itoa(at.Start.Line)
}

// end writes the parts at the end that all views share.
func (s *Screen) end(p *planview.Plan, hidden hiddenCounts) {
	s.Invoked(p.Source)
	s.Deferred(p.Source)
	s.Outputs(p)
	s.Renames(p)
	if text := hidden.text(p); text != "" {
		s.write("\n")
		s.wrapped(0, text)
	}
	if len(p.Options.Hide) > 0 {
		s.notHidden(p)
	}
	s.Summary(p.Counts)
}

// notHidden warns about names in -hide that no changed object has.
func (s *Screen) notHidden(p *planview.Plan) {
	missing, names := p.NotHidden()
	for _, name := range missing {
		s.write("\n")
		s.wrapped(0, fmt.Sprintf("Warning: -hide=%s has no effect, because nothing that changes has such an "+
			"attribute.%s", name, suggest.DidYouMean(name, names)))
	}
}

// Summary writes the numbers of changes on one line, because programs search for that line. Only a
// terminal that is too narrow gets several lines.
func (s *Screen) Summary(counts planview.Counts) {
	const title = "Plan:"
	text := strings.TrimPrefix(counts.String(), title)
	if s.Terminal && termtext.Width(title+text) > s.Width {
		room, used := s.Width, len(title)
		var b strings.Builder
		for part := range strings.SplitAfterSeq(text, ",") {
			if n := termtext.Width(part); used+n > room && used > len(title) {
				b.WriteString("\n" + strings.Repeat(" ", len(title)))
				used = len(title)
			}
			b.WriteString(part)
			used += termtext.Width(part)
		}
		text = b.String()
	}
	s.write("\n" + s.Style.As(termtext.Bold, title) + text + "\n")
}

// hiddenCounts holds the numbers of objects and differences that hide rules omit.
type hiddenCounts struct{ objects, differences int }

// add counts the hidden differences of a group. It reports whether all differences of the group
// are hidden.
func (h *hiddenCounts) add(g *planview.Group) (whole bool) {
	h.differences += g.Hidden * len(g.Changes)
	whole = g.Hidden > 0 && len(g.Fields) == 0 && g.Kind == planview.Updated
	if whole {
		h.objects += len(g.Changes)
	}
	return whole
}

func (h hiddenCounts) text(p *planview.Plan) string {
	if h.differences == 0 {
		return ""
	}
	text := count(h.differences, "difference") + " hidden by -hide=" + strings.Join(p.Options.Hide, ",")
	if h.objects > 0 {
		text += ", with all changes of " + count(h.objects, "object")
	}
	return text + "."
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Deferred lists deferred changes and what they wait for.
func (s *Screen) Deferred(source *planview.Source) {
	list := source.Deferred()
	if len(list) == 0 {
		return
	}
	const heading = "These changes can't be planned yet. They are planned when what they wait for is known:"
	s.write("\n" + termtext.Wrap(heading, s.Width-1) + "\n")
	for _, d := range list {
		name := s.Style.As(termtext.Bold, "# "+termtext.Printable(d.Addr.String()))
		s.write("\n  " + name + " is deferred, because\n")
		for line := range strings.Lines(termtext.Wrap(termtext.Printable(d.Because()), s.Width-5)) {
			s.write("    " + line)
		}
		s.write("\n")
	}
}

// Invoked writes the actions that the plan invokes instead of changing anything.
func (s *Screen) Invoked(source *planview.Source) {
	for i, inv := range source.Plan.Changes.Invoked {
		if i == 0 {
			s.write("\n" + termtext.Wrap("OpenTofu will change no objects, and invoke the following actions:", s.Width-1) + "\n\n")
		}
		s.write("  " + s.Style.As(termtext.Cyan, planview.Symbol(plans.Invoke)) + " ")
		text := termtext.OneLine(termtext.Printable(planview.InvocationText(inv)))
		s.write(strings.ReplaceAll(termtext.Wrap(text, s.Width-5), "\n", "\n     ") + "\n")
	}
}

// Past writes what a plan that goes back to an earlier time can't restore.
func (s *Screen) Past(past *plans.Past) {
	if past == nil {
		return
	}
	text := "The plan goes back to how the objects were " + past.When() + "."
	if !past.At.IsZero() {
		option := "-against"
		if past.Undo != "" {
			option = "-undo"
		}
		text += " The configuration does not go back: unless you change it too, the next plan without " + option +
			" proposes the current values again."
	}
	s.write("\n" + termtext.Wrap(text, s.Width-1) + "\n")
	if len(past.Lost) == 0 {
		return
	}
	s.write("\n" + s.Style.As(termtext.Bold, "Not everything can be undone:") + "\n")
	for _, lost := range past.Lost {
		text := termtext.Printable("- " + lost.Addr.String() + " " + lost.Text() + ".")
		for line := range strings.Lines(termtext.Wrap(text, s.Width-3)) {
			s.write("  " + line)
		}
		s.write("\n")
	}
}

// Outputs writes the root outputs that change.
func (s *Screen) Outputs(p *planview.Plan) {
	if len(p.Outputs) == 0 {
		return
	}
	s.write("\n" + s.Style.As(termtext.Bold, "Outputs "+strconv.Itoa(len(p.Outputs))+":") + "\n")
	for _, o := range p.Outputs {
		s.fields(2, o.Fields, true)
	}
}

// maxRenames is the maximum number of moved blocks that are suggested.
const maxRenames = 5

// Renames writes moved blocks for objects that seem to have been renamed.
func (s *Screen) Renames(p *planview.Plan) {
	if len(p.Renames) == 0 {
		return
	}
	objects, blocks := 0, "this block"
	for _, r := range p.Renames {
		objects += r.Objects
	}
	if len(p.Renames) > 1 {
		blocks = "these blocks"
	}
	what := "1 object that is destroyed looks like one that is created. If only its name changes, keep it with "
	if objects > 1 {
		what = strconv.Itoa(objects) + " objects that are destroyed look like others that are created. If only their names " +
			"change, keep them with "
	}
	s.write("\n")
	s.wrapped(0, "Hint: "+what+blocks+":")
	for i, r := range p.Renames {
		if i == maxRenames {
			s.write("\n")
			s.wrapped(4, "(and "+count(len(p.Renames)-i, "more block")+" like these)")
			return
		}
		s.write("\n")
		if r.Module != "" {
			s.wrapped(4, "# in "+r.Module.String())
		}
		s.write("    " + strings.ReplaceAll(r.MovedBlock(), "\n", "\n    ") + "\n")
	}
}

// Problems writes failed checks or warnings, with a title such as "Checks: 1 failed".
func (s *Screen) Problems(title string, list []planview.Problem) {
	if len(list) == 0 {
		return
	}
	s.write("\n" + s.Style.As(termtext.Bold, title) + "\n")
	for _, one := range list {
		for i, line := range strings.Split(one.String(), "\n") {
			if line = strings.TrimSpace(termtext.Printable(line)); line != "" {
				s.wrapped(2+2*min(i, 1), line)
			}
		}
	}
}

// Outside writes changes made outside of OpenTofu, a line for each group of equal ones.
func (s *Screen) Outside(changes []*planview.Change) {
	if len(changes) == 0 {
		return
	}
	s.write("\n" + s.Style.As(termtext.Bold, fmt.Sprintf("Changed outside %d:", len(changes))) + "\n")
	for _, g := range planview.Groups(changes) {
		symbol := strings.TrimSpace(planview.Symbol(g.Action))
		s.wrapped(2, symbol+" "+termtext.Printable(g.Title())+": "+termtext.Printable(g.Outside()))
	}
}
