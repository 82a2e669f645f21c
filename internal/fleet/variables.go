package fleet

import (
	"context"
	"io"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// setVariables sets the variables that roots.tofu.hcl assigns to a root module, before it is
// planned. If the values use outputs of a root module that is planned in the same run, these are
// the planned outputs. Otherwise, and for destruction, they are the outputs in its state.
func (p *planning) setVariables(ctx context.Context, s *session.Session, r *roots.Root, in *inputs) (err error) {
	s.Preset.Variables, err = r.Inputs(func(of *roots.Root) (map[string]cty.Value, error) {
		if p.opts.Mode == plans.Destroy {
			stored, err := p.stored.Do(of, func() (*outputs, error) { return p.run.storedOutputs(ctx, of) })
			if err != nil || stored == nil {
				return nil, err
			}
			in.guard(of.Name, r.ReadByVariables(of), stored)
			return stored.values, nil
		}
		if planned := p.planned(of); planned != nil {
			in.add(of.Name, r.ReadByVariables(of), planned)
			return planned.values, nil
		}
		stored, err := p.stored.Do(of, func() (*outputs, error) { return p.run.storedOutputs(ctx, of) })
		if err == nil && stored == nil {
			err = neverApplied(r, of)
		}
		if err != nil {
			return nil, err
		}
		in.add(of.Name, r.ReadByVariables(of), stored)
		return stored.values, nil
	})
	return err
}

// neverApplied returns the error for a root module that reads outputs of another root module, which
// has no state.
func neverApplied(r, of *roots.Root) error {
	return tfdiags.Errorf("Outputs of a root module that was never applied",
		"%s needs outputs of %s, which has no state and is not selected. Select it too, for example with "+
			"-with=dependencies, or apply it first.", r.Name, of.Name)
}

// setVariables sets the variables of a root module before its plan is applied. Their values use the
// outputs that the states have at that time.
func (a *applying) setVariables(ctx context.Context, s *session.Session, r *roots.Root) (err error) {
	s.Preset.Variables, err = r.Inputs(func(of *roots.Root) (map[string]cty.Value, error) {
		a.mu.Lock()
		outputs, ok := a.outputs[of.Name]
		a.mu.Unlock()
		if ok && a.from.Mode != plans.Destroy { // a destroyed root module no longer has outputs
			return outputs, nil
		}
		stored, err := a.run.storedOutputs(ctx, of)
		if err != nil || stored == nil {
			return nil, err
		}
		return stored.values, nil
	})
	return err
}

// storedOutputs reads the outputs in the state of a root module. It returns nil if there is no
// state.
func (run *Run) storedOutputs(ctx context.Context, r *roots.Root) (*outputs, error) {
	s := run.open(r, io.Discard, run.Session.Timings)
	defer s.Close()
	open, err := s.OpenState(ctx, session.StateRequest{Vars: run.Options.Variables})
	if err != nil {
		return nil, err
	}
	defer open.Close()
	if open.State().Empty() {
		return nil, nil
	}
	return &outputs{values: open.State().OutputValues(), enforced: s.Encryption.Evaluated.Enforced()}, nil
}
