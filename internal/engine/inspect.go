package engine

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/providers"
)

// Inspection looks at values of the root module once an operation has them: the assertions of a test do.
type Inspection struct {
	// Refs are what Do reads. They are evaluated although nothing in the configuration may need them; what they name must exist.
	Refs lang.Refs
	// Do is called once, unless it is nil, also when parts of the operation failed: what was not evaluated is unknown then.
	// Provider functions work only when nothing failed.
	Do func(*lang.Scope)
}

// Mocks stand in for providers: tests have them. What the configuration says by itself is validated by the providers all the same.
type Mocks interface {
	// Configuration reports whether the whole provider configuration is mocked; if so it is never configured.
	Configuration(addrs.AbsProviderConfig) bool
	// Instance returns the mock that serves one resource instance, or nil if the provider itself does.
	Instance(addrs.AbsInstance, addrs.AbsProviderConfig) providers.Interface
}

func (w *walk) inspect() {
	w.inspected = true
	if w.op.inspection.Do != nil && len(w.modules.of(w.graph.Root)) > 0 {
		w.op.inspection.Do(w.eval.newContext(w.modules.of(w.graph.Root)[0], repetition{}).scope())
	}
}

// inspectLate is for an inspection that could not run in its place, because of failures or because the operation was limited to a
// part. Resources that took no part have the values of the state; so have those that were applied and failed.
func (w *walk) inspectLate() {
	if w.op.inspection == nil || w.inspected || w.op.Phase.Destroys() || len(w.modules.of(w.graph.Root)) == 0 {
		return
	}
	for _, ref := range w.op.inspection.Refs.Objects {
		r := w.graph.Root.ResourceOf(ref.Subject)
		if r == nil || r.Schema == nil {
			continue
		}
		// A value that can't be had stays unknown.
		switch x := w.modules.of(w.graph.Root)[0].resources[r.Slot]; {
		case x == nil:
			_ = w.eval.values(r).fromState()
		case x.value == cty.NilVal && w.op.Phase.Applies():
			_ = w.visitor(r).complete()
		}
	}
	w.inspect()
}
