package ui

import (
	"errors"
	"io"
	"time"

	"tofu/internal/engine"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/progress"
)

// Printer shows what a command does. Its methods are safe for concurrent use. The outputs of
// concurrent calls don't mix.
type Printer interface {
	// Diagnostics shows diagnostics.
	Diagnostics(tfdiags.Diagnostics)
	// Event shows an event of an operation. During a long-running step, it shows the event again at
	// intervals. Event can be used as the Observe function of engine.Env.
	Event(engine.Event)
	// Plan shows a plan.
	Plan(*PlanView)
	// State shows a state. The JSON form needs schemas to decode objects, so State can fail.
	State(*StateView) error
	// Message shows any other message.
	Message(Message)
}

// Options control the output of a Printer.
type Options struct {
	Out, Err io.Writer // Err receives errors in the human form; the JSON form uses only Out
	// Width and ErrWidth are the numbers of columns of Out and Err. They are 0 without a
	// terminal; then text is wrapped at 78 columns.
	Width, ErrWidth int
	Color, ErrColor bool
	// Terminal reports whether Out is a terminal. If it is not, plans show differences in less
	// detail, because programs may parse the output.
	Terminal bool
	View     PlanTextView // view of plans in the human form
	// Version is the program's version.
	Version string
	// Root is the name of the root module, for the lines of the JSON form and, in the human form, of a
	// printer of events. It is "" if there is only one root module.
	Root string
	// Sources returns the content of a configuration file, or nil if it isn't available. If Sources
	// is nil, diagnostics have no excerpts.
	Sources func(filename string) []byte

	// CI reports whether the output is the log of a CI system, which could run commands in the
	// human form. See termtext.InCI.
	CI bool

	CompactWarnings  bool // print a warning in one or two lines, unless there are errors
	SeparateWarnings bool // do not group similar warnings
	GroupErrors      bool // group similar errors too
	Concise          bool // no progress messages
	ShowSensitive    bool // show sensitive values in the human form

	// Live receives all events in the human form. If it is visible, there are no messages about
	// starting and running steps.
	Live *progress.Live

	Now func() time.Time // current time; time.Now if nil
}

// PlanTextView selects how plans are shown to humans.
type PlanTextView struct {
	Name string   // one of plantext.Views, or "" for the full view
	Hide []string // attributes whose differences are left out
	Sort string   // order of a table, one of plantext.Orders
	// Chosen is set if the user has chosen the view, even if it is the full one.
	Chosen bool
	// Losses limits the view to what is destroyed, replaced or forgotten and to what is beside the
	// changes: failed checks, warnings and changes made outside.
	Losses bool
}

func (o Options) withDefaults() Options {
	if o.Err == nil {
		o.Err = o.Out
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// defaultWidth is the number of columns at which text is wrapped without a terminal.
const defaultWidth = 78

func columns(width int) int {
	if width <= 0 {
		return defaultWidth
	}
	return width
}

// Tee returns a Printer that prints to all given printers.
func Tee(printers ...Printer) Printer { return tee(printers) }

type tee []Printer

func (t tee) Diagnostics(diags tfdiags.Diagnostics) {
	for _, p := range t {
		p.Diagnostics(diags)
	}
}

func (t tee) Event(e engine.Event) {
	for _, p := range t {
		p.Event(e)
	}
}

func (t tee) Plan(v *PlanView) {
	for _, p := range t {
		p.Plan(v)
	}
}

func (t tee) State(v *StateView) error {
	var errs []error
	for _, p := range t {
		errs = append(errs, p.State(v))
	}
	return errors.Join(errs...)
}

func (t tee) Message(m Message) {
	for _, p := range t {
		p.Message(m)
	}
}
