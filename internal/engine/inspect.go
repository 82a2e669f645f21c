package engine

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/providers"
)

// Inspection gives a caller access to values of the root module at the end of an operation. Test
// assertions use it.
type Inspection struct {
	// Refs are the references that Do evaluates. The graph includes them even if nothing in the
	// configuration refers to the same objects, which must exist.
	Refs lang.Refs
	// Do, if not nil, is called once, even if parts of the operation failed. It is not called while
	// everything is destroyed. If something failed, values that could not be evaluated are unknown.
	// Provider functions are available only if nothing failed.
	Do func(*lang.Scope)
}

// Mocks replace providers in tests. Providers still validate their parts of the configuration.
type Mocks interface {
	// Configuration reports whether a provider configuration is mocked as a whole, so that the
	// provider is never configured.
	Configuration(addrs.AbsProviderConfig) bool
	// Instance returns the mock that manages one resource instance, or nil if the provider itself
	// manages it.
	Instance(addrs.AbsInstance, addrs.AbsProviderConfig) providers.Interface
	// Triggered returns the mock of an action that a change of the object caller triggers, or nil if its
	// provider carries it out. The object belongs to the given provider configuration.
	Triggered(action, caller addrs.AbsInstance, of addrs.AbsProviderConfig) providers.Interface
}

func (w *walk) inspect(ctx context.Context, e *evaluator) {
	w.inspected = true
	if w.op.inspection.Do != nil && len(w.modules.of(w.graph.Root)) > 0 {
		w.op.inspection.Do(e.newContext(ctx, w.modules.of(w.graph.Root)[0], repetition{}).scope())
	}
}

// inspectLate runs an inspection that could not run during the walk, because of failures or because
// the operation was partial. Resources without a value from the walk get the values of their stored
// objects.
func (w *walk) inspectLate(ctx context.Context) {
	if w.op.inspection == nil || w.inspected || w.op.Phase.Destroys() || len(w.modules.of(w.graph.Root)) == 0 {
		return
	}
	for _, ref := range w.op.inspection.Refs.Objects {
		r := w.graph.Root.ResourceOf(ref.Subject)
		if r == nil || r.Schema == nil {
			continue
		}
		// Values that are not available stay unknown.
		switch x := w.modules.of(w.graph.Root)[0].resources[r.Slot]; {
		case x == nil:
			_ = w.eval.values(r).fromState()
		case x.value == cty.NilVal && w.op.Phase.Applies():
			_ = w.eval.values(r).setWhole(w.modules.of(w.graph.Root)[0], x)
		}
	}
	w.inspect(ctx, w.eval)
}
