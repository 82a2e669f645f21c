package graph

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine/phase"
	"tofu/internal/engine/reads"
	"tofu/internal/lang"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
)

// EvalUnit is an expression or body in one module of the tree, which is evaluated as a whole.
type EvalUnit struct {
	Module *reads.Module
	Refs   *lang.Refs
}

// addRefErrors records the errors of the references in a unit.
func (c *connector) addRefErrors(n *reads.Node, u EvalUnit, err error) {
	switch {
	case err == nil:
	case c.b.op.Phase == phase.Validate:
		c.b.g.RefErrors[u] = c.b.g.RefErrors[u].AppendError(err)
	default:
		n.Problems = n.Problems.AppendError(err)
	}
}

// connectRefs makes n wait for the objects that the references name. It records an error for each
// reference to an object that does not exist.
func (c *connector) connectRefs(ctx context.Context, n *reads.Node, m *reads.Module, refs *lang.Refs, scope reads.BlockScope) {
	c.connectUnit(ctx, n, m, refs, scope, nil)
}

// connectUnit is like connectRefs, but doesn't record the errors of a reference if kept returns
// true for them. kept may be nil. Like OpenTofu, connectUnit reports errors of one kind only:
// errors about provider functions hide errors about objects, which hide errors about named values
// (see IsValueRef).
func (c *connector) connectUnit(
	ctx context.Context, n *reads.Node, m *reads.Module, refs *lang.Refs, scope reads.BlockScope,
	kept func(*addrs.Reference, tfdiags.Diagnostics) bool,
) {
	var objects, values, functions tfdiags.Diagnostics
	for _, ref := range refs.Objects {
		var err error
		if scope.Except != nil && ref.Whole() == scope.Except {
			if of := m.Named(ref.Subject); of.Resource != nil {
				err = of.Resource.CheckAccess(of.Key, ref.Remaining, scope)
			}
		} else {
			c.b.refRanges.startRef(&ref.Range)
			err = c.connectRef(n, m, ref, scope)
		}
		problems := tfdiags.FromError(err)
		for i := range problems {
			if problems[i].Subject == nil { // errors about a schema already have the range of the wrong step
				problems[i].Subject = &ref.Range
			}
		}
		switch {
		case len(problems) == 0, kept != nil && kept(ref, problems):
		case IsValueRef(ref.Subject):
			values = values.Append(problems...)
		default:
			objects = objects.Append(problems...)
		}
	}
	c.b.refRanges.startRef(nil)
	for _, f := range refs.Functions {
		functions = functions.AppendError(c.connectFunction(ctx, n, m, f))
	}
	wrong := slices.Clip(refs.Problems)
	switch {
	case len(functions) > 0 && n.Kind != reads.KindProvider && n.Kind != reads.KindModule:
		c.unknownFunctions = c.unknownFunctions.Append(functions...)
	case len(functions) > 0:
		wrong = functions
	case len(objects) > 0:
		wrong = wrong.Append(objects...)
	default:
		wrong = wrong.Append(values...)
	}
	c.addRefErrors(n, EvalUnit{m, refs}, wrong.Err())
}

// IsValueRef reports whether a reference is to a named value rather than to an object that is
// declared by a block.
func IsValueRef(subject addrs.Referenceable) bool {
	switch subject.(type) {
	case addrs.InputVariable, addrs.LocalValue, addrs.PathAttr, addrs.TerraformAttr, addrs.CountAttr, addrs.ForEachAttr:
		return true
	}
	return false
}

// connectRef makes n wait for the object that a reference in the module m names.
func (c *connector) connectRef(n *reads.Node, m *reads.Module, ref *addrs.Reference, scope reads.BlockScope) error {
	switch of := m.Named(ref.Subject); {
	case of.Call != nil:
		c.connectCallRef(n, of, ref)
		return nil
	case of.Value != nil:
		c.b.after(n, of.Value.Node)
		return nil
	case of.Resource != nil && of.Resource.Config != nil:
		return c.connectResourceRef(n, of, ref, scope)
	}
	return m.Undeclared(ref, scope)
}

// connectResourceRef makes n wait for the resource or instance that a reference reads.
func (c *connector) connectResourceRef(
	n *reads.Node, of reads.Named, ref *addrs.Reference, scope reads.BlockScope,
) error {
	r := of.Resource
	if check := n.Check(); r.Nested() && (check == nil || check.Config != r.Config.Check) {
		return tfdiags.Errorf("Reference to scoped resource",
			"%s is nested in check %q and can be referred to only from there.", r.Addr.Resource, r.Config.Check.Name)
	}
	c.b.after(n, r.Node)
	return r.CheckAccess(of.Key, ref.Remaining, scope)
}

// wholeCall is a reference to a module call that names none of its outputs.
type wholeCall struct {
	from *reads.Node
	call *reads.Module
	rng  *hcl.Range
}

// connectCallRef makes n wait for the module call or output that a reference reads.
func (c *connector) connectCallRef(n *reads.Node, of reads.Named, ref *addrs.Reference) {
	c.b.after(n, of.Call.Expand)
	if c.b.addSiblingRead(n, of.Call) {
		return
	}
	if keyed := of.Key != addrs.NoKey; of.Value == nil || keyed != of.Call.Repetition.Repeats() {
		// The reference is to the whole call, is a key that looks like an output, or is an error
		// that evaluation reports.
		c.b.wholeCalls = append(c.b.wholeCalls, wholeCall{n, of.Call, &ref.Range})
		return
	}
	c.b.after(n, of.Value.Node)
}

// connectDependsOn makes n wait for the objects in depends_on. It skips references for which except
// returns true. For a module call, n waits for everything in the module. Only the first undeclared
// object is reported.
func (c *connector) connectDependsOn(n *reads.Node, m *reads.Module, refs *lang.Refs, except func(*addrs.Reference) bool) {
	if refs == nil {
		return
	}
	problems := slices.Clip(refs.Problems)
	for _, ref := range refs.Objects {
		if except != nil && except(ref) {
			continue
		}
		if len(ref.Remaining) > 0 {
			problems = problems.Append(tfdiags.Errorf(
				"Invalid depends_on reference",
				"References in depends_on must be to whole objects, not to their attributes. Write %s instead.",
				ref.Subject,
			).At(ref.Remaining.SourceRange()))
			continue
		}
		c.b.refRanges.startRef(&ref.Range)
		if of := m.Named(ref.Subject); of.Call != nil && of.Output == "" {
			c.b.after(n, of.Call.End)
			continue
		}
		err := c.connectRef(n, m, ref, reads.BlockScope{})
		if len(problems) > 0 {
			continue
		}
		for _, d := range tfdiags.FromError(err) {
			problems = problems.Append(d.At(ref.Range))
		}
	}
	c.b.refRanges.startRef(nil)
	c.addRefErrors(n, EvalUnit{m, refs}, problems.Err())
}

// connectFunction makes n wait for the provider of a function that it calls.
func (c *connector) connectFunction(ctx context.Context, n *reads.Node, m *reads.Module, f lang.FunctionRef) error {
	if m.Config.Module.RequiredProviders[f.Func.Name] == nil {
		hint := suggest.DidYouMean(f.Func.Name, slices.Sorted(maps.Keys(m.Config.Module.RequiredProviders)))
		return tfdiags.Errorf(
			"Unknown function provider",
			"There is no provider %q in the required_providers of %s.%s",
			f.Func.Name,
			reads.ModuleName(m.Path),
			hint,
		).At(f.Range)
	}
	local := addrs.LocalProviderConfig{LocalName: f.Func.Name, Alias: f.Func.Alias}
	use, ok := m.Config.ProviderForLocal(local)
	if !ok {
		return nil // reported when the function is called
	}
	found := c.b.providers.find(use)
	c.b.g.Functions[FunctionUse{m, f.Func}] = found
	p := found.Provider
	if p.Schema == nil {
		var err error
		p.Schema, err = c.b.providers.schema(ctx, p.Addr.Provider)
		if err != nil {
			return err
		}
		p.FunctionsOnly = p.Config == nil // p.Schema was nil, so no resource uses p
		analyzeProvider(p)
		c.connectRefs(ctx, p.Node, p.Module, &p.Body.Refs, inEach(p.Instances != nil))
	}
	c.b.after(n, p.Node)
	c.b.after(p.Close, n)
	p.Called = true
	if r := n.Resource; r != nil && !slices.Contains(c.b.functionsOf[r], p) {
		c.b.functionsOf[r] = append(c.b.functionsOf[r], p)
	}
	return nil
}
