package engine

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// importRequest gives the import target for the instance, nil when there is none.
func (p *instancePlan) importRequest() (*importRequest, tfdiags.Diagnostics) {
	var found *importRequest
	var diags tfdiags.Diagnostics
	for _, t := range p.r.imports {
		resolved, more := p.w.resolveImport(t)
		diags = diags.Append(more)
		req := resolved[p.addr]
		if req == nil {
			continue
		}
		if found != nil {
			diags = diags.Append(tfdiags.Errorf("Duplicate import configuration for "+p.addr.String(),
				"%s has more than one import target. Only one object can be imported to one address.", p.addr).At(t.place()))
		}
		found = req
	}
	return found, diags
}

func (t *importTarget) place() hcl.Range {
	if t.cfg == nil {
		return t.resource.cfg.Range
	}
	return t.cfg.Range
}

// resolveImport evaluates an import block to the objects that it asks for. What is wrong with the block is told to the first who asks.
func (w *walk) resolveImport(t *importTarget) (map[addrs.AbsInstance]*importRequest, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	t.once.Do(func() {
		t.resolved = map[addrs.AbsInstance]*importRequest{}
		if t.cfg == nil {
			t.resolved[t.cli.Addr] = &importRequest{id: t.cli.ID, target: t}
			return
		}
		reps, more := w.importRepetitions(t)
		diags = diags.Append(more)
		for _, rep := range reps {
			diags = diags.Append(w.addImportRequest(t, w.context(w.root.instances[0], rep)))
		}
	})
	return t.resolved, diags
}

// importRepetitions gives what each means in every repetition of an import block.
func (w *walk) importRepetitions(t *importTarget) ([]repetition, tfdiags.Diagnostics) {
	if t.forEach == nil {
		return []repetition{{}}, nil
	}
	c := w.context(w.root.instances[0], repetition{})
	v, diags := c.eval(t.forEach, cty.DynamicPseudoType)
	if diags.HasErrors() {
		return nil, diags
	}
	keys, each, unknown, problem := forEachElements(v, true)
	if unknown && w.phase.unknownInputs {
		return []repetition{unknownRepetition(repetitionExprs{forEach: t.forEach})}, diags
	}
	if unknown {
		problem = "The \"for_each\" value is known only after apply. What is to be imported must be known while planning." + c.unknownBecause(t.forEach)
	}
	if problem != "" {
		return nil, diags.Append(c.argError("Invalid for_each argument", problem, t.forEach, v))
	}
	out := make([]repetition, len(keys))
	for i, k := range keys {
		key := cty.StringVal(k)
		if v.Type().IsListType() || v.Type().IsTupleType() {
			key = cty.NumberIntVal(int64(i))
		}
		out[i] = repetition{eachKey: key, eachValue: each[i]}
	}
	return out, diags
}

// addImportRequest evaluates one repetition. Without values yet it only looks for what is wrong for all of them.
func (w *walk) addImportRequest(t *importTarget, c *EvalContext) tfdiags.Diagnostics {
	req, diags := c.importObject(t)
	if w.phase.unknownInputs {
		return diags
	}
	addr, more := c.importAddress(t)
	diags = diags.Append(more)
	if diags.HasErrors() {
		return diags
	}
	if t.resolved[addr] != nil {
		return diags.Append(tfdiags.Errorf("Duplicate import configuration for "+addr.String(), "%s has more than one import target.", addr).At(t.cfg.Range))
	}
	t.resolved[addr] = req
	return diags
}

// importObject evaluates which object an import block takes over.
func (c *EvalContext) importObject(t *importTarget) (*importRequest, tfdiags.Diagnostics) {
	req := &importRequest{target: t}
	e, want, what := t.id, cty.String, "id"
	if e == nil {
		e, want, what = t.identity, cty.DynamicPseudoType, "identity"
	}
	v, diags := c.eval(e, want)
	if diags.HasErrors() {
		return nil, diags
	}
	problem := ""
	switch validating := c.walk.phase.unknownInputs; {
	case marks.Contains(v, marks.Sensitive), marks.Contains(v, marks.Ephemeral):
		problem = fmt.Sprintf("The import %s must not be sensitive or ephemeral: it is shown in the plan.", what)
	case !v.IsWhollyKnown() && validating:
		return nil, diags
	case !v.IsWhollyKnown():
		problem = fmt.Sprintf("The import %s is known only after apply. What is to be imported must be known while planning.%s", what, c.unknownBecause(e))
	case v.IsNull():
		problem = fmt.Sprintf("The import %s must not be null.", what)
	case what == "id" && v.AsString() == "" && !validating:
		problem = "The import id must not be empty."
	}
	if problem != "" {
		return nil, diags.Append(c.argError("Invalid import "+what+" argument", problem, e, v))
	}
	if what == "id" {
		req.id = v.AsString()
	} else {
		v, more := c.importIdentity(t, v)
		diags = diags.Append(more)
		req.identity = v
	}
	return req, diags
}

// importIdentity converts a given identity to the type's identity schema.
func (c *EvalContext) importIdentity(t *importTarget, v cty.Value) (cty.Value, tfdiags.Diagnostics) {
	schema := t.resource.schema.Identity
	if schema == nil {
		return cty.NilVal, tfdiags.Diagnostics{c.argError("Import by identity not supported",
			fmt.Sprintf("Objects of type %s have no identity: import by id instead.", t.resource.addr.Resource.Type), t.identity, cty.NilVal)}
	}
	given := map[string]cty.Value{}
	if v.Type().IsObjectType() || v.Type().IsMapType() {
		given = v.AsValueMap()
	}
	attrs := map[string]cty.Value{}
	for name, attr := range schema.Attributes {
		value, ok := given[name]
		if !ok {
			if attr.Required {
				return cty.NilVal, tfdiags.Diagnostics{c.argError("Invalid import identity argument", fmt.Sprintf("The identity needs the attribute %q.", name), t.identity, cty.NilVal)}
			}
			value = cty.NullVal(attr.ImpliedType())
		}
		converted, err := convert.Convert(value, attr.ImpliedType())
		if err != nil {
			return cty.NilVal, tfdiags.Diagnostics{c.argError("Invalid import identity argument", fmt.Sprintf("%s: %s.", name, tfdiags.FormatError(err)), t.identity, cty.NilVal)}
		}
		attrs[name] = converted
		delete(given, name)
	}
	for _, name := range sortedKeys(given) {
		return cty.NilVal, tfdiags.Diagnostics{c.argError("Invalid import identity argument", fmt.Sprintf("The identity has no attribute %q.", name), t.identity, cty.NilVal)}
	}
	return cty.ObjectVal(attrs), nil
}

// importAddress evaluates the address that an import block names: its keys may be expressions.
func (c *EvalContext) importAddress(t *importTarget) (addrs.AbsInstance, tfdiags.Diagnostics) {
	tr, diags := c.addressTraversal(t.cfg.To, t.to)
	if diags.HasErrors() {
		return addrs.AbsInstance{}, diags
	}
	target, more := addrs.ParseTarget(tr)
	if more.HasErrors() || target.IsModule() {
		return addrs.AbsInstance{}, diags.Append(more)
	}
	return addrs.AbsInstance{Module: target.Module, Resource: target.Resource, Key: target.Key}, diags
}

// addressTraversal turns an address with index expressions into a traversal with constant keys.
func (c *EvalContext) addressTraversal(expr hcl.Expression, whole *lang.Expr) (hcl.Traversal, tfdiags.Diagnostics) {
	if tr, hclDiags := hcl.AbsTraversalForExpr(expr); !hclDiags.HasErrors() {
		return tr, nil
	}
	var diags tfdiags.Diagnostics
	switch e := expr.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		head, more := c.addressTraversal(e.Source, whole)
		return append(head[:len(head):len(head)], e.Traversal...), more
	case *hclsyntax.IndexExpr:
		head, more := c.addressTraversal(e.Collection, whole)
		if more.HasErrors() {
			return nil, more
		}
		key, more := c.scope().EvalExpr(e.Key, cty.DynamicPseudoType)
		if more.HasErrors() {
			return nil, more
		}
		if key.IsMarked() || !key.IsKnown() || key.IsNull() {
			return nil, diags.Append(tfdiags.Errorf("Invalid import address expression", "An instance key must be known, not null and not sensitive while planning.").At(e.Key.Range()))
		}
		return append(head[:len(head):len(head)], hcl.TraverseIndex{Key: key, SrcRange: e.SrcRange}), nil
	}
	return nil, diags.Append(tfdiags.Errorf("Invalid import address expression", "An import address is a resource address whose instance keys may be expressions.").At(expr.Range()))
}

// importObject takes over an object: it is found by the provider and read.
func (p *instancePlan) importObject(req *importRequest) (*live, tfdiags.Diagnostics) {
	w, r := p.w, p.r
	what := Object{Addr: p.addr}
	id := req.id
	w.observe(ImportStart{what, id})
	release := w.call(p.prov, "ImportResourceState")
	resp := p.prov.ImportResourceState(w.ctx, providers.ImportRequest{Type: r.addr.Resource.Type, ID: req.id, Identity: req.identity})
	release()
	diags := p.explain(resp.Diagnostics)
	if diags.HasErrors() {
		return nil, diags
	}
	fail := func(summary, format string, args ...any) (*live, tfdiags.Diagnostics) {
		return nil, diags.Append(tfdiags.Errorf(summary, format, args...).At(req.target.place()))
	}
	switch {
	case resp.Deferred != "":
		return nil, diags.Append(deferred(p.prov, p.addr, resp.Deferred))
	case len(resp.Imported) == 0:
		return fail("Import returned no resources", "The provider found nothing to import to %s for the ID %q.", p.addr, id)
	case len(resp.Imported) > 1:
		return fail("Multiple import states not supported", "The provider returned %d objects for the ID %q; exactly one is supported.", len(resp.Imported), id)
	}
	got := resp.Imported[0]
	if got.State == cty.NilVal || got.State.IsNull() {
		return fail("Import returned null resource", "The provider returned nothing for %s with the ID %q.", p.addr, id)
	}
	if got.Type != r.addr.Resource.Type {
		return fail("Import returned wrong resource type", "The provider returned an object of type %s for %s.", got.Type, p.addr)
	}
	obj, err := w.encodeObject(r, markStored(r.schema.Block, got.State, nil), states.Object{Private: got.Private, IdentityVersion: r.schema.IdentityVersion, Identity: encodeIdentity(got.Identity)})
	if err != nil {
		return nil, diags.Append(err)
	}
	l, more := w.read(r, p.prov, p.addr, &live{value: markStored(r.schema.Block, got.State, nil), identity: got.Identity, obj: obj}, p.c)
	diags = diags.Append(p.explain(more))
	if more.HasErrors() {
		return nil, diags
	}
	if !l.exists() {
		return fail("Cannot import non-existent remote object",
			"While attempting to import an existing object to %q, the provider detected that no object exists with the given id. Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint, or use \"tofu apply\" to create a new remote object for this resource.", p.addr)
	}
	l.obj = r.withFlags(l.obj)
	w.setState(p.addr, addrs.NotDeposed, l.obj, p.prov.addr)
	w.observe(ImportDone{what, id})
	return l, diags
}
