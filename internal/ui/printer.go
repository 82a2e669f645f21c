package ui

import (
	"errors"
	"io"
	"time"

	"tofu/internal/engine"
	"tofu/internal/tfdiags"
)

// A Printer shows what a command does. Its methods may be called from many goroutines at once; each call's output stays together.
type Printer interface {
	// Diagnostics shows problems.
	Diagnostics(tfdiags.Diagnostics)
	// Event shows what happens during an operation, and goes on telling what takes long. It is an engine.Env's Observe.
	Event(engine.Event)
	// Plan shows what is planned.
	Plan(*PlanView)
	// State shows a state. The JSON form has objects as their schemas say, so there it can fail.
	State(*StateView) error
	// Message shows anything else.
	Message(Message)
}

// Options say how to print.
type Options struct {
	Out, Err io.Writer // Err takes errors for people; the JSON form has everything on Out
	// Width and ErrWidth are how many columns there are; 0: no terminal, which wraps at 78.
	Width, ErrWidth   int
	Colour, ErrColour bool
	// Version is the program's version.
	Version string
	// Sources gives the text of a configuration file, nil when it can't; nil for no excerpts.
	Sources func(filename string) []byte

	CompactWarnings  bool // warnings in a line or two each, as long as there are no errors
	SeparateWarnings bool // do not put similar warnings together
	GroupErrors      bool // put similar errors together too
	Concise          bool // nothing about what merely goes on
	ShowSensitive    bool // show people what is sensitive: only where they asked for it

	Now func() time.Time // nil: time.Now
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

// defaultWidth is how wide lines are where nobody says how wide they may be.
const defaultWidth = 78

func columns(width int) int {
	if width <= 0 {
		return defaultWidth
	}
	return width
}

// Tee gives a Printer that prints with all of those given.
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
