package review

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// Root is the plan of one root module in a text about many.
type Root struct {
	planview.Root // its note says why the plan will be applied later
	// Render returns the plan as the function Render does. It is nil if there is nothing to show.
	Render func(limit int) (Rendered, error)
}

// part is the text of one root module with changes.
type part struct {
	*Root
	text  string // with as many characters as the whole limit allows
	least int    // number of characters that must not be taken by other root modules
	line  string // names the dangerous changes, if there is no room for the text
	room  int    // number of characters that the text or, unless whole is set, the line may have
	whole bool
}

// WriteEstate writes the plans of many root modules as Markdown of at most limit characters: head,
// a table of all root modules, and then their plans, the most dangerous first. Each root module
// gets enough room for a line with its dangerous changes before any gets room for more, and then for
// its plan with the addresses of these changes before any gets room for the rest.
func WriteEstate(out io.Writer, head string, roots []*Root, limit int) error {
	roots = slices.Clone(roots)
	slices.SortStableFunc(roots, func(a, b *Root) int { return planview.CompareDanger(a.Counts, b.Counts) })
	var rows []planview.Root
	var shown, unchanged, omitted []*Root
	lines := ""
	for _, r := range roots {
		if r.Unchanged {
			unchanged = append(unchanged, r)
		} else {
			rows = append(rows, r.Root)
		}
		if r.Render != nil {
			shown = append(shown, r)
		}
	}
	text := head + rootTable(rows, limit/4) + names("No changes", unchanged, limit/20)
	left := limit - length(text) - limit/20 // the last part is for the names of omitted root modules
	parts, err := render(shown, left)
	if err != nil {
		return err
	}
	spare := 0 // room that parts before the next one didn't use
	if share(parts, left) {
		spare = limit / 20
	}
	for _, p := range parts {
		room := p.room + spare
		switch {
		case p.room == 0:
			omitted = append(omitted, p.Root)
			continue
		case !p.whole:
			lines += p.line
			continue
		}
		if length(p.text) > room {
			frame := length(p.heading())
			cut, err := p.Render(room - frame)
			if err != nil {
				return err
			}
			p.text = p.heading() + cut.Text
		}
		text += p.text
		spare = room - length(p.text)
	}
	title := "The length of this text is limited. `tofu show -root=NAME FILE` shows the plans of"
	if lines != "" {
		text += "\n" + title + ":\n\n" + lines
		limit -= 20 * length(title)
		title = "Others"
	}
	text += names(title, omitted, limit/20)
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("writing the text: %w", err)
	}
	return nil
}

// render returns the parts about root modules with changes.
func render(roots []*Root, limit int) ([]*part, error) {
	out := make([]*part, len(roots))
	for i, r := range roots {
		made, err := r.Render(limit)
		if err != nil {
			return nil, err
		}
		p := &part{Root: r, text: r.heading() + made.Text}
		p.least = min(length(r.heading())+made.Least, length(p.text))
		if made.Lost != "" {
			p.line = "- " + Code(termtext.Printable(r.Name)) + ": " + made.Lost + "\n"
		}
		out[i] = p
	}
	return out, nil
}

// share distributes the room: first what the line of each part needs, the most dangerous first, then
// what its text needs at least, and then, tier by tier, equal shares of the rest to all parts that can
// use them. A part without room is omitted. share reports whether all have room for their texts.
func share(parts []*part, left int) (all bool) {
	all = true
	for _, p := range parts {
		if need := length(p.line); need <= left {
			p.room = need
			left -= need
		}
	}
	for i, p := range parts {
		free := left + p.room
		if need := min(p.least, max(free/(len(parts)-i), LeastLimit)); need <= free {
			p.room, p.whole = max(need, p.room), true
			left = free - p.room
		} else {
			all = false
		}
	}
	for tier := range 3 {
		var wanting []*part
		for _, p := range parts {
			if p.whole && p.Counts.Danger() == tier {
				wanting = append(wanting, p)
			}
		}
		// Parts that need the fewest more characters come first: what they don't use is for the others.
		more := func(p *part) int { return length(p.text) - p.room }
		slices.SortStableFunc(wanting, func(a, b *part) int { return more(a) - more(b) })
		for i, p := range wanting {
			add := min(more(p), left/(len(wanting)-i))
			p.room += add
			left -= add
		}
	}
	return all
}

// heading returns what is above the plan of a root module.
func (r *Root) heading() string {
	text := "\n## " + Code(termtext.Printable(r.Name)) + "\n\n"
	if r.Note != "" {
		text += "This will be applied later: " + Escape(termtext.Printable(r.Note)) + ".\n\n"
	}
	return text
}

// rootTable returns the table of root modules with changes. If it would be longer than limit, its
// last row has the sums of the others.
func rootTable(roots []planview.Root, limit int) string {
	if len(roots) == 0 {
		return ""
	}
	columns, sum := planview.Columns(roots)
	row := func(name string, c planview.Counts) string {
		text := "| " + name + " |"
		for _, column := range columns {
			if n := column.Of(c); n != 0 {
				text += fmt.Sprintf(" %d |", n)
			} else {
				text += "  |"
			}
		}
		return text + "\n"
	}
	head, rule := "\n| Root module |", "|---|"
	for _, column := range columns {
		head += " " + column.Sign + " " + column.Title + " |"
		rule += "---:|"
	}
	var b strings.Builder
	b.WriteString(head + "\n" + rule + "\n")
	limit -= length(head+rule) + len(row("and 100000 more", sum))
	for i, r := range roots {
		text := row(Code(termtext.Printable(r.Name)), r.Counts)
		limit -= length(text)
		if limit < 0 && i < len(roots)-1 {
			var rest planview.Counts
			for _, r := range roots[i:] {
				rest = rest.Plus(r.Counts)
			}
			b.WriteString(row(fmt.Sprintf("and %d more", len(roots)-i), rest))
			break
		}
		b.WriteString(text)
	}
	return b.String()
}

// names returns a paragraph with a title and the names of root modules, of at most limit characters.
func names(title string, roots []*Root, limit int) string {
	if len(roots) == 0 {
		return ""
	}
	text := "\n" + title + ":"
	limit -= length(text) + len(", and 100000 more root modules.\n")
	for i, r := range roots {
		name := " " + Code(termtext.Printable(r.Name))
		if i > 0 {
			name = "," + name
		}
		limit -= length(name)
		if limit < 0 {
			return fmt.Sprintf("%s%s %s.\n", text, map[bool]string{true: " and"}[i > 0], ui.Count(len(roots)-i, "more root module"))
		}
		text += name
	}
	return text + ".\n"
}
