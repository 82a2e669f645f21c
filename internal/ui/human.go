package ui

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/plantext"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// NewHuman returns a Printer that prints text for humans.
func NewHuman(o Options) Printer {
	o = o.withDefaults()
	src := newSources(o.Sources)
	h := &human{
		Options: o, style: termtext.Style{On: o.Color},
		warnings: &diagWriter{src, termtext.Style{On: o.Color}, columns(o.Width)},
		errors:   &diagWriter{src, termtext.Style{On: o.ErrColor}, columns(o.ErrWidth)},
	}
	h.heartbeats = newHeartbeats(h.still)
	return h
}

type human struct {
	Options
	style            termtext.Style
	warnings, errors *diagWriter
	heartbeats       *heartbeats
	mu               sync.Mutex
}

// write writes text; concurrent calls don't mix. It ignores errors, because there is nowhere
// else to report them.
func (h *human) write(w io.Writer, text string) {
	if h.CI {
		text = termtext.WithoutCommands(text)
	}
	if h.Root != "" { // each line says from which root module it is
		lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
		text = h.prefix() + strings.Join(lines, h.prefix()) + "\n"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, _ = io.WriteString(w, text)
}

// prefix returns the beginning of the lines about one of many root modules.
func (h *human) prefix() string { return termtext.OneLine(h.Root) + ": " }

// liveColumns returns the number of columns for a line above the live display, or 0 without a display.
func (h *human) liveColumns() int {
	n := h.Live.Columns()
	if h.Root != "" && n > 0 {
		n = max(n-termtext.Width(h.prefix()), 1)
	}
	return n
}

// stream calls f with a writer to the output. It is for output that is too long to be kept in
// memory.
func (h *human) stream(f func(out *bufio.Writer)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	to := h.Out
	if h.CI {
		log := &termtext.LogWriter{W: h.Out}
		defer log.Close()
		to = log
	}
	out := bufio.NewWriterSize(to, 64<<10)
	f(out)
	_ = out.Flush()
}

func (h *human) line(text string) {
	h.write(h.Out, h.style.As(termtext.Bold, termtext.OneLine(text))+"\n")
}

// Diagnostics implements Printer.
func (h *human) Diagnostics(diags tfdiags.Diagnostics) {
	groups := grouped(sorted(diags), func(s tfdiags.Severity) bool {
		return s == tfdiags.Warning && !h.SeparateWarnings || s == tfdiags.Error && h.GroupErrors
	})
	if h.CompactWarnings && len(diags) > 0 && !diags.HasErrors() {
		h.write(h.Out, h.warnings.compact(groups))
		return
	}
	for _, g := range groups {
		if g.first.Severity == tfdiags.Warning {
			h.write(h.Out, h.warnings.one(g.first, g.similar()))
		} else {
			h.write(h.Err, h.errors.one(g.first, g.similar()))
		}
	}
}

// Event implements Printer.
func (h *human) Event(e engine.Event) {
	if h.Root == "" {
		h.Live.Event(e)
	}
	if h.Live.Visible() {
		h.finished(e)
		return
	}
	switch e := e.(type) {
	case engine.ApplyStart:
		if !h.Concise {
			h.heartbeats.start(e)
			h.line(objectName(e.Object) + ": " + verbs[e.Action].start + identified(e.Object))
		}
	case engine.ApplyDone:
		h.heartbeats.stop(e.Object)
		switch {
		case e.Failed:
			h.failed(e.Object, verbs[e.Action].failed+" after "+seconds(e.Elapsed), e.Err)
		case !h.Concise:
			h.line(doneText(e))
		}
	case engine.ProvisionOutput:
		h.provisionOutput(e)
	case engine.RefreshDone:
		if e.Failed {
			h.failed(e.Object, refreshFailed, e.Err)
		}
	case engine.ImportDone:
		if e.Failed {
			h.failed(e.Object, "Import errored", e.Err)
		}
	case engine.EphemeralDone:
		if e.Failed {
			h.failed(e.Object, ephemeralVerbs[e.Verb].failed, e.Err)
		} else if !h.Concise {
			h.line(e.Addr.String() + ": " + ephemeralVerbs[e.Verb].done)
		}
	default:
		if text := eventText(e); text != "" && !h.Concise {
			h.line(text)
		}
	}
}

// IsFailure reports whether an event says that an operation has failed.
func IsFailure(e engine.Event) bool {
	switch e := e.(type) {
	case engine.ApplyDone:
		return e.Failed
	case engine.RefreshDone:
		return e.Failed
	case engine.ImportDone:
		return e.Failed
	case engine.EphemeralDone:
		return e.Failed
	case engine.Failure:
		return true
	}
	return false
}

const refreshFailed = "Refresh errored"

// failed prints one line about an operation that failed. The complete error follows at the end of the
// command.
func (h *human) failed(o engine.Object, outcome string, err error) {
	text := objectName(o) + ": " + outcome
	if why := reasonOf(err); why != "" {
		text += ": " + why
	}
	h.write(h.Out, h.style.As(termtext.Red, termtext.OneLine(text))+"\n")
}

// reasonOf returns the first line of the first error, or "" without an error.
func reasonOf(err error) string {
	for _, d := range tfdiags.FromError(err) {
		if d.Severity == tfdiags.Error {
			return firstLine(d)
		}
	}
	return ""
}

func firstLine(d tfdiags.Diagnostic) string {
	text, _, _ := strings.Cut(strings.TrimSpace(d.Summary), "\n")
	return text
}

// finished prints lines above a live display: completed changes and the output of provisioners.
// The display itself shows what is running.
func (h *human) finished(e engine.Event) {
	switch e := e.(type) {
	case engine.ApplyDone:
		change := e.Action != plans.Read
		name, outcome, id := doneParts(e)
		if short := shortVerbs[e.Action]; h.liveColumns() < shortOutcomes && change {
			outcome = fmt.Sprintf(": %s in %s", short, seconds(e.Elapsed))
		}
		switch {
		case e.Failed:
			outcome = fmt.Sprintf(": %s after %s", verbs[e.Action].failed, seconds(e.Elapsed))
			if h.liveColumns() < shortOutcomes {
				outcome = fmt.Sprintf(": failed after %s", seconds(e.Elapsed))
			}
			h.write(h.Out, h.style.As(termtext.Red, h.fitting(objectName(e.Object), outcome, ""))+"\n")
		case change:
			h.line(h.fitting(name, outcome, id))
		}
	case engine.Failure:
		for _, d := range tfdiags.FromError(e.Err) {
			if d.Severity == tfdiags.Error {
				h.failure(d)
			}
		}
	case engine.ProvisionOutput:
		h.provisionOutput(e)
	case engine.ActionProgress:
		h.line(eventText(e))
	}
}

// failure prints the reason for a failure. The complete error follows at the end of the
// operation.
func (h *human) failure(d tfdiags.Diagnostic) {
	text := firstLine(d)
	var where []string
	if d.Address != "" {
		where = append(where, "with "+d.Address)
	}
	if d.Subject != nil {
		where = append(where, fmt.Sprintf("on %s line %d", d.Subject.Filename, d.Subject.Start.Line))
	}
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	const title, indent = "Error: ", "  "
	lines := termtext.WrapWords(title+termtext.OneLine(text), max(h.liveColumns()-len(indent), 1))
	lines[0] = strings.TrimPrefix(lines[0], title)
	h.write(h.Out, h.style.As(termtext.Red, title)+strings.Join(lines, "\n"+indent)+"\n")
}

// fitting returns a line about an object that fits the width of the terminal. If necessary, the
// name is shortened to make room for the outcome, and the text in more is cut or omitted.
func (h *human) fitting(name, outcome, more string) string {
	columns := h.liveColumns()
	if columns <= 0 {
		return name + outcome + more
	}
	name = termtext.CutAddress(name, max(columns-termtext.Width(outcome), columns/3))
	if left := columns - termtext.Width(name+outcome); termtext.Width(more) > left && left < minMore {
		more = ""
	}
	return termtext.Cut(name+outcome+more, columns)
}

// shortOutcomes is the terminal width, in columns, below which outcomes have short names to
// leave room for an address.
const shortOutcomes = 60

// shortVerbs are the short names of outcomes.
var shortVerbs = map[plans.Action]string{plans.Create: "created", plans.Update: "modified", plans.Delete: "destroyed",
	plans.Invoke: "invoked"}

// minMore is the minimum number of columns for the beginning of an ID. A shorter beginning would be
// useless.
const minMore = 12

// doneText returns the message about a finished step.
func doneText(e engine.ApplyDone) string {
	name, outcome, id := doneParts(e)
	return name + outcome + id
}

// doneParts returns the parts of the message about a finished step. id is empty if it isn't known.
func doneParts(e engine.ApplyDone) (name, outcome, id string) {
	if e.Action == plans.Delete {
		e.IDKey, e.IDValue, e.Deposed = "", "", ""
	}
	return objectName(e.Object), fmt.Sprintf(": %s after %s", verbs[e.Action].done, seconds(e.Elapsed)),
		identified(e.Object)
}

// eventText describes an event in one line. It returns "" for events that are not shown.
func eventText(e engine.Event) string {
	switch e := e.(type) {
	case engine.RefreshStart:
		return objectName(e.Object) + ": Refreshing state..." + identified(e.Object)
	case engine.ImportStart:
		text := e.Addr.String() + ": Preparing import..."
		if e.ID != "" { // the import is not by identity
			text += " [id=" + termtext.Printable(shortID(e.ID)) + "]"
		}
		return text
	case engine.ActionProgress:
		return objectName(e.Object) + ": " + termtext.OneLine(termtext.Printable(e.Text))
	case engine.ProvisionStart:
		return fmt.Sprintf("%s: Provisioning with '%s'...", e.Addr, e.Type)
	case engine.EphemeralStart:
		return fmt.Sprintf("%s: %s", e.Addr, ephemeralVerbs[e.Verb].start)
	}
	return ""
}

// provisionOutput prints the output of a provisioner line by line.
func (h *human) provisionOutput(e engine.ProvisionOutput) {
	var b strings.Builder
	prefix := h.style.As(termtext.Bold, fmt.Sprintf("%s (%s):", e.Addr, e.Type))
	for text := range strings.SplitSeq(strings.TrimRight(e.Line, "\r\n"), "\n") {
		text = strings.TrimSuffix(text, "\r")
		if text != "" {
			b.WriteString(prefix + " " + termtext.Printable(text) + "\n")
		}
	}
	h.write(h.Out, b.String())
}

func (h *human) still(e engine.ApplyStart, elapsed time.Duration) {
	took := seconds(elapsed) + " elapsed]"
	if id := identified(e.Object); id != "" {
		took = strings.TrimSuffix(id, "]") + ", " + took
	} else {
		took = " [" + took
	}
	h.line(objectName(e.Object) + ": " + verbs[e.Action].still + took)
}

// Plan implements Printer.
func (h *human) Plan(v *PlanView) {
	if v.Saved {
		return
	}
	h.stream(func(out *bufio.Writer) {
		p := &planText{PlanView: v, style: h.style, width: columns(h.Width), out: out,
			differ: &valuediff.Differ{ShowSensitive: h.ShowSensitive, Review: h.Terminal}}
		if h.View.Losses {
			plantext.Losses(p.screen(""), planview.New(v.Source(), planview.Options{ShowSensitive: h.ShowSensitive}))
			return
		}
		p.full = h.View.Name == "" || !p.hasView(h.View.Name)
		if !p.full && !h.Terminal {
			p.style.On = false // programs know only the full view
		}
		if p.full {
			p.render()
			if h.Terminal {
				p.hints()
			}
		} else {
			p.view(h.View)
		}
		if l := v.Plan.Looked; l != nil {
			p.write("\n" + l.Text(v.Plan.Timestamp) + ".\n")
		}
		p.screen("").Past(v.Plan.Past)
		if v.Later {
			p.later()
		}
	})
}

// State implements Printer.
func (h *human) State(v *StateView) error {
	h.stream(func(out *bufio.Writer) { stateText(out, v, h.style, h.ShowSensitive) })
	return nil
}

// Message implements Printer.
func (h *human) Message(m Message) {
	switch m := m.(type) {
	case Text:
		h.write(h.Out, h.wrapped(termtext.PrintableText(m.Text))+"\n")
	case Note:
		if h.Terminal {
			m.Text = termtext.Join(m.Text)
		}
		h.Message(Text(m))
	case Hint:
		h.Message(Note(m))
	case Rule:
		h.write(h.Out, "\n"+h.style.As(termtext.Grey, rule(columns(h.Width)))+"\n")
	case PlanSaved:
		h.write(h.Out, m.text(columns(h.Width)))
	case Estate:
		h.write(h.Out, "\n"+h.style.As(termtext.Bold, h.wrapped(m.Text()))+"\n")
	case EstateRoot:
		h.write(h.Out, h.style.As(termtext.Bold, termtext.OneLine(m.line()))+"\n")
	case EstateTable:
		h.stream(func(out *bufio.Writer) {
			plantext.Roots(&plantext.Screen{Out: out, Style: h.style, Width: columns(h.Width), Terminal: h.Terminal}, m.Roots)
		})
	case Applied:
		h.write(h.Out, "\n"+h.style.As(termtext.Bold, h.style.As(termtext.Green, h.wrapped(m.done())))+"\n")
	case Incomplete:
		h.write(h.Out, "\n"+h.style.As(termtext.Bold, h.wrapped(m.text()))+"\n")
	case Outputs:
		if len(m.Values) > 0 {
			h.write(h.Out, "\n"+h.style.As(termtext.Bold, h.style.As(termtext.Green, "Outputs:"))+"\n\n"+
				OutputsText(m.Values, h.ShowSensitive))
		}
	case Addresses:
		if len(m.Addrs) > 0 {
			h.write(h.Out, termtext.Printable(strings.Join(m.Addrs, "\n"))+"\n")
		}
	case Workspaces:
		var b strings.Builder
		for _, name := range m.Names {
			mark := "  "
			if name == m.Current {
				mark = "* "
			}
			b.WriteString(mark + termtext.OneLine(name) + "\n")
		}
		h.write(h.Out, b.String()+"\n")
	default:
		h.queryMessage(m)
	}
}

// wrapped wraps text at the current width of the terminal. Without a terminal, it returns the text
// unchanged, because scripts rely on it.
func (h *human) wrapped(text string) string {
	if !h.Terminal {
		return text
	}
	return termtext.Wrap(text, cmp.Or(h.Live.Columns(), h.Width))
}

// valueDiff formats the difference between two values. Sensitive parts are hidden.
func valueDiff(before, after cty.Value, s termtext.Style) string {
	n := (&valuediff.Differ{}).Value(before, after)
	r := &renderer{style: s}
	r.node(n, 0)
	return r.b.String()
}
