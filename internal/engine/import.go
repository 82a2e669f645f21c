package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/genconfig"
	"tofu/internal/lang"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// resolveImports evaluates all import blocks and command-line imports that target a resource. Two
// import blocks for one address are an error.
func (v resourceVisit) resolveImports(ctx context.Context) error {
	w, r := v.w, v.r
	imports := w.graph.Imports[r]
	if len(imports) == 0 {
		return nil
	}
	res := w.result(r)
	res.importsOnce.Do(func() {
		var errs tfdiags.Diagnostics
		res.imports = map[addrs.AbsInstance]*importRequest{}
		for _, t := range imports {
			errs = errs.AppendError(importVisit{v}.resolveImport(ctx, res.imports, t))
		}
		if w.graph.Generates(r) {
			res.importKeys = map[addrs.ModuleInstance][]addrs.InstanceKey{}
			for addr := range res.imports {
				res.importKeys[addr.Module] = append(res.importKeys[addr.Module], addr.Key)
			}
		}
		res.importsErr = errs.Err()
	})
	return res.importsErr
}

// checkImports reports import targets that are not instances of the resource.
func (v resourceVisit) checkImports() error {
	w, r := v.w, v.r
	var errs tfdiags.Diagnostics
	requests := w.result(r).imports
	for _, addr := range slices.SortedFunc(maps.Keys(requests), addrs.AbsInstance.Compare) {
		if in := w.modules.at(r.Module, addr.Module); in != nil {
			if _, ok := in.resources[r.Slot].has(addr.Key); ok {
				continue
			}
		}
		errs = errs.Append(tfdiags.Errorf("Import block target does not exist",
			"The configuration of %s has no instance %s, so nothing can be imported to it (%s).", r.Addr, addr,
			importPlace(requests[addr].target)))
	}
	return errs.Err()
}

// importPlace returns text that names an import block in messages that don't have the block's
// source range.
func importPlace(t *reads.Import) string {
	if t.Config == nil {
		return "requested on the command line"
	}
	return "import block at " + tfdiags.Place(t.Config.Range)
}

// explainImport names the import block in the details of diagnostics. It does not set their range,
// because the block is usually not the cause.
func explainImport(t *reads.Import, diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	return diags.Map(func(d *tfdiags.Diagnostic) {
		d.Detail = strings.TrimSpace(fmt.Sprintf("%s\n\nThis error occurred during an import (%s).", d.Detail,
			importPlace(t)))
	})
}

// importVisit evaluates the imports to a resource.
type importVisit struct{ resourceVisit }

// resolveImport adds the import requests of one import block to out.
func (v importVisit) resolveImport(
	ctx context.Context, out map[addrs.AbsInstance]*importRequest, t *reads.Import,
) error {
	w := v.w
	if t.Config == nil {
		out[t.Command.Addr] = &importRequest{id: t.Command.ID, target: t}
		return nil
	}
	for _, e := range t.Exprs() {
		if err := w.eval.refErrors(t.Module, &e.Refs); err != nil {
			return err
		}
	}
	var errs tfdiags.Diagnostics
	for _, in := range w.modules.of(t.Module) {
		errs = errs.AppendError(v.resolveImportIn(ctx, out, t, in))
	}
	return errs.Err()
}

// resolveImportIn is resolveImport for one instance of the module of the block.
func (v importVisit) resolveImportIn(
	ctx context.Context, out map[addrs.AbsInstance]*importRequest, t *reads.Import, in *moduleInstance,
) error {
	w := v.w
	c := w.eval.newContext(ctx, in, repetition{})
	if t.ForEach == nil {
		return v.addImportRequest(out, t, c)
	}
	elements, err := c.forEach(t.ForEach, lang.ForEachOrList)
	switch {
	case errors.Is(err, lang.ErrUnknownKeys) && w.op.Phase.InputsUnknown():
		return v.addImportRequest(out, t,
			w.eval.newContext(ctx, in, unknownRepetition(reads.Repetition{ForEach: t.ForEach})))
	case errors.Is(err, lang.ErrUnknownKeys):
		return c.unknownArgument(plans.DeferredConfig, invalidForEach, "The \"for_each\" value is known only after "+
			"apply. Import targets must be known during the plan.",
			t.ForEach, cty.DynamicVal, "for_each of an import block")
	case err != nil:
		return err
	}
	var errs tfdiags.Diagnostics
	w.result(v.r).importElements = len(elements)
	for _, elem := range elements {
		each := w.eval.newContext(ctx, in, repetition{eachKey: elem.Key, eachValue: elem.Value})
		errs = errs.AppendError(v.addImportRequest(out, t, each))
	}
	return errs.Err()
}

func (v importVisit) addImportRequest(
	out map[addrs.AbsInstance]*importRequest, t *reads.Import, c *evalContext,
) error {
	req, at := &importRequest{target: t}, importEval{c, t}
	if err := at.importedAs(req); err != nil {
		return err
	}
	if !req.decided() || v.w.op.Phase.InputsUnknown() {
		return nil
	}
	addr, err := at.importAddress()
	if err != nil {
		return err
	}
	if out[addr] != nil {
		return tfdiags.Errorf("Duplicate import configuration for "+addr.String(),
			"%s is the target of more than one import. Only one object can be imported to an address.",
			addr).At(t.Config.Range)
	}
	out[addr] = req
	return nil
}

// importEval evaluates the arguments of an import block.
type importEval struct {
	*evalContext
	t *reads.Import
}

// importedAs evaluates the id or identity of an import block and stores it in req. An empty id
// means that nothing is imported, so an import block can be conditional. During validation, unknown
// values are accepted.
func (c importEval) importedAs(req *importRequest) error {
	t := c.t
	e, arg := t.ID, importIDArgument
	if e == nil {
		e, arg = t.Identity, importIdentityArgument
	}
	v, err := c.argument(e, arg)
	switch {
	case err != nil:
		return err
	case !v.IsWhollyKnown() && c.e.op.Phase.InputsUnknown():
		return nil
	case !v.IsWhollyKnown():
		return c.unknownArgument(plans.DeferredConfig, arg.summary, "The value is known only after apply. Import "+
			"targets must be known during the plan.", e, v, "the target of an import block")
	}
	if arg == importIDArgument {
		req.id = v.AsString()
		return nil
	}
	req.identity, err = c.importIdentity(v)
	return err
}

// decided reports whether the request has an id or identity.
func (r *importRequest) decided() bool { return r.id != "" || r.identity != cty.NilVal }

// importIdentity converts the identity of an import block to the identity schema of the resource
// type.
func (c importEval) importIdentity(v cty.Value) (cty.Value, error) {
	t := c.t
	schema := t.Resource.Schema.Identity
	if schema == nil {
		return cty.NilVal, c.argError("Import by identity not supported",
			fmt.Sprintf("Objects of type %s have no identity. Set \"id\" instead.",
				t.Resource.Addr.Resource.Type), t.Identity, cty.NilVal)
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
				return cty.NilVal,
					c.argError("Invalid import identity argument",
						fmt.Sprintf("The identity requires the attribute %q.", name), t.Identity, cty.NilVal)
			}
			value = cty.NullVal(attr.ImpliedType())
		}
		converted, err := convert.Convert(value, attr.ImpliedType())
		if err != nil {
			return cty.NilVal,
				c.argError("Invalid import identity argument", fmt.Sprintf("The attribute %q of the identity is not "+
					"valid: %s.", name, tfdiags.FormatError(err)), t.Identity, cty.NilVal)
		}
		attrs[name] = converted
		delete(given, name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		d := c.argError("Superfluous import identity argument",
			fmt.Sprintf("The identity of %s has no attribute %q. The argument is ignored.",
				t.Resource.Addr.Resource.Type, name), t.Identity, cty.NilVal)
		d.Severity = tfdiags.Warning
		c.e.out.warn(d)
	}
	return cty.ObjectVal(attrs), nil
}

// checkImportedOnce warns about imported objects that are also managed at another address. The two
// resources would undo each other's changes.
func (f finisher) checkImportedOnce() {
	w := f.w
	imported, leaves, types := map[addrs.AbsInstance]bool{}, map[addrs.AbsInstance]bool{}, map[string]bool{}
	for _, c := range w.out.changes.Instances {
		if c.Importing != nil {
			imported[c.Addr], types[c.Addr.Resource.Type] = true, true
		}
		leaves[c.Addr] = leaves[c.Addr] || c.Deposed == "" && (c.Action == plans.Delete || c.Action == plans.Forget)
	}
	if len(imported) == 0 {
		return
	}
	type object struct {
		provider addrs.ProviderInstance
		typ, id  string
	}
	owners := map[object][]addrs.AbsInstance{}
	var objects []object // sorted by address
	for _, res := range w.out.state.Sorted() {
		r := w.graph.Resource(res.Addr.Config())
		if res.Addr.Resource.Mode != addrs.Managed || !types[res.Addr.Resource.Type] || r == nil || r.Schema == nil {
			continue
		}
		for _, key := range res.SortedKeys() {
			inst := res.Instances[key]
			if id, ok := storedID(r, inst.Current); ok && !leaves[res.Addr.Instance(key)] {
				o := object{addrs.ProviderInstance{Config: res.Provider, Key: inst.ProviderKey},
					res.Addr.Resource.Type, id}
				if owners[o] == nil {
					objects = append(objects, o)
				}
				owners[o] = append(owners[o], res.Addr.Instance(key))
			}
		}
	}
	isImported := func(a addrs.AbsInstance) bool { return imported[a] }
	for _, o := range objects {
		if of := owners[o]; len(of) > 1 && slices.ContainsFunc(of, isImported) {
			w.out.warn(tfdiags.Warningf("Object imported to more than one address",
				"The object %q of type %s would be managed by %s. Only one resource should manage an object: "+
					"leave out the import, or remove the others from the state first.", o.id, o.typ, joinAddresses(of)))
		}
	}
}

func joinAddresses(list []addrs.AbsInstance) string {
	texts := make([]string, len(list))
	for i, addr := range list {
		texts[i] = addr.String()
	}
	return strings.Join(texts, " and ")
}

// storedID returns a string that identifies a stored object: its identity or, if it has none, its
// id. The string is unique within the resource type. It returns false if the object has neither.
func storedID(r *reads.Resource, obj *states.Object) (string, bool) {
	switch {
	case obj == nil:
		return "", false
	case len(obj.Identity) > 0:
		return string(obj.Identity), true
	}
	v, err := obj.Decode(r.Schema.Block.ImpliedType())
	if err != nil {
		return "", false
	}
	return genconfig.ID(v)
}

// importAddress evaluates the target address of an import block, whose keys may be expressions.
func (c importEval) importAddress() (addrs.AbsInstance, error) {
	tr, _, err := configs.Address(c.t.Config.To, c.addressKey)
	if err != nil {
		return addrs.AbsInstance{}, err
	}
	target, err := addrs.ParseTarget(tr)
	if err != nil || target.IsModule() {
		return addrs.AbsInstance{}, err
	}
	module := c.in.addr
	for _, step := range target.Module.Steps() {
		module = module.Child(step.Name, step.Key)
	}
	return addrs.AbsInstance{Module: module, Resource: target.Resource, Key: target.Key}, nil
}

// addressKey evaluates the key of an instance in the target address.
func (c importEval) addressKey(expr hcl.Expression) (cty.Value, error) {
	key, err := c.scope().EvalExpr(expr, cty.DynamicPseudoType)
	const summary, detail = "Invalid import address expression",
		"An instance key must be known during the plan, and must not be null, sensitive or ephemeral."
	switch {
	case err != nil:
	case !key.IsMarked() && !key.IsKnown():
		err = c.unknownArgument(plans.DeferredConfig, summary, detail, lang.Analyze(expr, addrs.ModuleScope), key,
			"the target of an import block")
	case key.IsMarked() || key.IsNull():
		err = tfdiags.Errorf(summary, detail).At(expr.Range())
	}
	return key, err
}

// importObject asks the provider to import and read an object.
func (p *instancePlan) importObject(ctx context.Context, req *importRequest) (*objectState, error) {
	w, what := p.w, Object{Addr: p.addr}
	meta, err := w.eval.providerMeta(ctx, p.r, p.c)
	if err != nil {
		return nil, p.explained(err)
	}
	var l *objectState
	err = w.callReader(ctx, p.prov, pace.Read, func(ctx context.Context) (err error) {
		w.out.observe(ImportStart{what, req.id})
		l, err = p.importWithSlot(ctx, req, meta)
		w.out.observe(ImportDone{what, req.id, err != nil, err})
		return err
	})
	return l, tfdiags.MapError(err, func(errs tfdiags.Diagnostics) tfdiags.Diagnostics {
		return errs.Map(func(d *tfdiags.Diagnostic) {
			if d.Extra == nil {
				d.Extra = ImportFailure{p.addr}
			}
		})
	})
}

// ImportFailure is the Extra of an error because of which an object can't be imported.
type ImportFailure struct{ Addr addrs.AbsInstance }

// importWithSlot imports and reads the object for importObject. The caller has a call slot and
// sends the events.
func (p *instancePlan) importWithSlot(ctx context.Context, req *importRequest, meta cty.Value) (*objectState, error) {
	w, r, id := p.w, p.r, req.id
	resp := callWithSlot(w.calls, p.prov, "ImportResourceState", p.addr, func() providers.ImportResponse {
		return p.prov.ImportResourceState(ctx, providers.ImportRequest{Type: r.Addr.Resource.Type, ID: req.id,
			Identity: req.identity})
	})
	imported := "the given identity"
	if id != "" {
		imported = fmt.Sprintf("the ID %q", id)
	}
	none := &objectState{value: cty.NullVal(r.Schema.Block.ImpliedType())}
	if providers.SayMissing(resp.Diagnostics) && p.ignoresMissing(req, imported, resp.Diagnostics...) {
		return none, nil
	}
	err := explainImport(req.target, resp.Diagnostics).WithAddress(p.addr.String()).Report(w.out.warn)
	if err != nil {
		return nil, err
	}
	fail := func(summary, format string, args ...any) (*objectState, error) {
		return nil, tfdiags.Errorf(summary, "%s (%s).", fmt.Sprintf(format, args...), importPlace(req.target))
	}
	switch {
	case resp.Deferred != "":
		return nil, deferred(p.prov, p.addr, plans.DeferReason(resp.Deferred))
	case len(resp.Imported) == 0 && p.ignoresMissing(req, imported):
		return none, nil
	case len(resp.Imported) == 0:
		return fail("Import returned no resources", "The provider found no object with %s to import to %s",
			imported, p.addr)
	case len(resp.Imported) > 1:
		return fail("Multiple import states not supported",
			"The provider returned %d objects for %s, but only one can be imported to %s", len(resp.Imported), imported,
			p.addr)
	}
	got := resp.Imported[0]
	if got.State == cty.NilVal || got.State.IsNull() {
		if p.ignoresMissing(req, imported) {
			return none, nil
		}
		return fail("Import returned null resource", "The provider returned null for the object with %s, which was to be "+
			"imported to %s", imported, p.addr)
	}
	if got.Type != r.Addr.Resource.Type {
		return fail("Import returned wrong resource type", "The provider returned an object of type %s for %s",
			got.Type, p.addr)
	}
	obj, err := encodeObject(r, markStored(r.Schema.Block, got.State, nil), states.Object{Private: got.Private,
		IdentityVersion: r.Schema.IdentityVersion, Identity: encodeIdentity(got.Identity)})
	if err != nil {
		return nil, err
	}
	l, err := p.refreshWithSlot(ctx, addrs.NotDeposed, &objectState{value: markStored(r.Schema.Block, got.State, nil),
		identity: got.Identity, obj: obj}, meta)
	if err != nil {
		return nil, err
	}
	if !l.exists() {
		if p.ignoresMissing(req, imported) {
			return none, nil
		}
		return nil, tfdiags.Errorf("Cannot import non-existent remote object",
			"The provider found no object with %s to import to %s (%s). Check the ID or identity, and the region or "+
				"account that the provider is configured for. To create a new object instead, leave out the "+
				"import; with ignore_missing = true, the block imports the object if there is one.",
			imported, p.addr, importPlace(req.target))
	}
	l.obj = withFlags(r, l.obj)
	w.out.setObject(p.addr, addrs.NotDeposed, l.obj, p.prov.addr)
	return l, nil
}

// ignoresMissing reports whether a new object is created if no object can be imported, and notes that.
// imported describes the object that wasn't found, and errs say so if the provider answered with errors.
func (p *instancePlan) ignoresMissing(req *importRequest, imported string, errs ...tfdiags.Diagnostic) bool {
	if req.target.Config == nil || !req.target.Config.IgnoreMissing {
		return false
	}
	p.w.out.mu.Lock()
	defer p.w.out.mu.Unlock()
	note := fmt.Sprintf("%s: no object with %s (%s)", p.addr, imported, importPlace(req.target))
	for _, err := range errs {
		note += ": " + err.Error()
	}
	p.w.out.missing = append(p.w.out.missing, note)
	return true
}

// warnOfMissing warns of the objects that are created because there was none to import.
func (f finisher) warnOfMissing() {
	if list := f.w.out.missing; len(list) > 0 {
		slices.Sort(list)
		f.w.out.warn(tfdiags.Warningf("Nothing to import", "These objects are created, because providers found none to import:"+
			"\n  - %s", strings.Join(list, "\n  - ")))
	}
}

// importRequest is an evaluated request to import one object.
type importRequest struct {
	id       string
	identity cty.Value // NilVal if imported by ID
	target   *reads.Import
}

func (r *importRequest) importing() *plans.Importing {
	return &plans.Importing{ID: r.id, Identity: r.identity}
}
