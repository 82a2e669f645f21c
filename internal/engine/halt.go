package engine

import (
	"context"

	"tofu/internal/pace"
	"tofu/internal/tfdiags"
)

// halt is a switch that stops a walk from starting new work. Changes that run continue. The switch
// is off before the walk. After the walk, it is on only if the walk was halted.
type halt struct {
	begin  context.Context // ends when the switch is set
	cancel context.CancelFunc
}

// enable returns a context that ends when the switch is set. Canceling ctx also sets the switch.
// disable must be called when the walk is over. It releases the resources of begin. If the walk was
// not halted, the switch stays off from then on.
func (h *halt) enable(ctx context.Context) (begin context.Context, disable func()) {
	begin, h.cancel = context.WithCancel(ctx)
	h.begin = begin
	return begin, func() {
		if !h.isSet() {
			h.begin = nil
		}
		h.cancel()
	}
}

// set halts the walk.
func (h *halt) set() { h.cancel() }

// isSet reports whether nothing new may start.
func (h *halt) isSet() bool { return h.begin != nil && h.begin.Err() != nil }

// context returns a context for work that must end when nothing new may start.
func (h *halt) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if h.begin == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(h.begin, cancel)
	return ctx, func() { stop(); cancel() }
}

// leftOutCall is the Extra field of errHalted and errUpstream.
type leftOutCall struct{}

// errHalted is the error of work that was left out or canceled because the walk was halted. It is
// not reported: the walk itself reports the interruption.
var errHalted = tfdiags.Diagnostic{Severity: tfdiags.Error, Summary: "Operation interrupted", Extra: leftOutCall{}}.Err()

// reported returns an error without the parts that are errHalted or errUpstream.
func reported(err error) error {
	return tfdiags.MapError(err, func(list tfdiags.Diagnostics) tfdiags.Diagnostics {
		return list.Filter(func(d tfdiags.Diagnostic) bool { return d.Extra != leftOutCall{} })
	})
}

// callReader takes a call slot and calls read, which changes nothing: its context ends when the walk
// is halted. If the walk was halted meanwhile, it returns errHalted.
func (w *walk) callReader(
	ctx context.Context, on callee, kind pace.Kind, read func(ctx context.Context) error,
) error {
	defer w.calls.acquire(on, kind)()
	if w.halt.isSet() {
		return errHalted
	}
	ctx, end := w.halt.context(ctx)
	defer end()
	err := read(ctx)
	if err != nil && ctx.Err() != nil {
		return errHalted
	}
	return err
}
