package ui

import (
	"errors"
	"io"
	"time"

	"tofu/internal/engine"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/progress"
)

// Printer shows what a command does. Its methods are safe for concurrent use; the output of each
// call stays together.
type Printer interface {
	// Diagnostics shows diagnostics.
	Diagnostics(tfdiags.Diagnostics)
	// Event shows an event of an operation, and repeats it at intervals during a long-running step.
	// It is an Observe function of engine.Env.
	Event(engine.Event)
	// Plan shows a plan.
	Plan(*PlanView)
	// State shows a state. The JSON form decodes objects by their schemas, so it can fail.
	State(*StateView) error
	// Message shows any other message.
	Message(Message)
}

// Options control the output of a Printer.
type Options struct {
	Out, Err io.Writer // Err receives errors in the human form; the JSON form uses Out only
	// Width and ErrWidth are the numbers of columns of Out and Err. Without a terminal they are 0,
	// and text wraps at 78 columns.
	Width, ErrWidth int
	Color, ErrColor bool
	// Terminal says that Out is a terminal. Plans on a terminal show differences in more detail,
	// which programs that parse the output would not expect.
	Terminal bool
	View     PlanTextView // of plans in the human form
	// Version is the program's version.
	Version string
	// Root is the name of the root module in the lines of the JSON form, if there are several; ""
	// otherwise.
	Root string
	// Sources returns the text of a configuration file, or nil. If Sources is nil, diagnostics have
	// no excerpts.
	Sources func(filename string) []byte

	CompactWarnings  bool // warnings take one or two lines each, unless there are errors
	SeparateWarnings bool // do not group similar warnings
	GroupErrors      bool // group similar errors too
	Concise          bool // no progress messages
	ShowSensitive    bool // show sensitive values in the human form

	// Live is told of all events in the human form. If it is visible, it replaces messages about
	// what begins and goes on.
	Live *progress.Live

	Now func() time.Time // nil means time.Now
}

// PlanTextView is how plans are shown to humans.
type PlanTextView struct {
	Name string   // one of plantext.Views, or "" for the full view
	Hide []string // attributes whose differences are left out
	Sort string   // the order of a table, one of plantext.Orders
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

// defaultWidth is the width of lines without a terminal.
const defaultWidth = 78

func columns(width int) int {
	if width <= 0 {
		return defaultWidth
	}
	return width
}

// Tee returns a Printer that prints to all of the given ones.
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
