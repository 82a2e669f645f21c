package engine

import "context"

// halt is a switch that stops a walk from starting new work. Running work continues. The switch is
// off before the walk. After the walk, it is on only if the walk was halted.
type halt struct {
	cancel context.CancelFunc
	done   <-chan struct{} // closed when the switch is set
}

// enable returns a context that ends when the switch is set. Canceling ctx also sets the switch.
// disable must be called when the walk is over. It releases the resources of begin. If the walk was
// not halted, the switch stays off from then on.
func (h *halt) enable(ctx context.Context) (begin context.Context, disable func()) {
	begin, h.cancel = context.WithCancel(ctx)
	h.done = begin.Done()
	return begin, func() {
		if !h.isSet() {
			h.done = nil
		}
		h.cancel()
	}
}

// set halts the walk.
func (h *halt) set() { h.cancel() }

// isSet reports whether nothing new may start.
func (h *halt) isSet() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// context returns a context for work that must end when nothing new may start.
func (h *halt) context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := h.done // a copy, because the walk may end before the goroutine starts
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
