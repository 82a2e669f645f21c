package engine

import (
	"bytes"
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/engine/reads"
	"tofu/internal/jsonscan"
	"tofu/internal/lang/marks"
	"tofu/internal/pace"
	"tofu/internal/plans"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// upgrade returns a stored object converted to the current schema. It calls the provider even if
// the schema version is current, because only the provider knows how its objects are stored.
// Objects of the built-in provider need no call if their schema version is current.
func (t *instance) upgrade(ctx context.Context, obj *states.Object) (*objectState, error) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	if l, ok := w.op.refreshed[obj]; ok {
		return &l, nil
	}
	schema := r.Schema
	if obj.SchemaVersion > schema.Version && !w.op.moves.Retyped(addr) {
		return nil, tfdiags.Errorf("Resource instance managed by newer provider version",
			"%s was stored by a newer version of the provider %s than the one selected. Upgrade the provider.",
			addr, prov.addr.Config.Provider.Type)
	}
	ty := schema.Block.ImpliedType()
	same := obj.SchemaVersion == schema.Version && obj.Flatmap == nil && !w.op.moves.Retyped(addr)
	if same && prov.addr.Config.Provider.IsBuiltin() {
		v, err := obj.Decode(ty)
		if err == nil {
			return &objectState{value: markStored(schema.Block, v, nil), obj: obj}, nil
		}
	}
	v, out, err := t.upgradeValue(ctx, obj, same)
	if err != nil {
		return nil, err
	}
	encoded, sensitive, err := states.EncodeValue(states.MarkSensitive(v, obj.SensitivePaths), ty)
	if err != nil {
		return nil, providerBug("Invalid resource state", prov.addr.Config.Provider,
			"returned a state for %s that can't be stored: %s.", addr, err)
	}
	v = markStored(schema.Block, v, obj.SensitivePaths)
	if out == obj && same && sameJSON(encoded, obj.Attrs) {
		return t.withIdentity(ctx, &objectState{value: v, obj: obj})
	}
	out = changed(out, func(o *states.Object) {
		o.Attrs, o.SensitivePaths, o.Flatmap, o.SchemaVersion = encoded, sensitive, nil, schema.Version
	})
	return t.withIdentity(ctx, &objectState{value: v, obj: out})
}

// sameJSON reports whether two JSON documents are equal. a must be compact, and b valid. In a file of
// several lines, b is indented.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	i := 0
	for j := 0; j < len(b); {
		end := j + 1
		switch b[j] {
		case ' ', '\t', '\r', '\n':
			j++
			continue
		case '"':
			end = jsonscan.StringEnd(b, j)
		}
		if !bytes.HasPrefix(a[i:], b[j:end]) {
			return false
		}
		i, j = i+end-j, end
	}
	return i == len(a)
}

// upgradeValue asks the provider to convert an object to the current schema, or to the resource
// type to which a moved block moves it. same reports that the object already has the current schema
// version.
func (t *instance) upgradeValue(ctx context.Context, obj *states.Object, same bool) (cty.Value, *states.Object, error) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	ty := r.Schema.Block.ImpliedType()
	if from := w.op.moves.Source(addr); from != nil {
		resp := callProvider(w.calls, prov, "MoveResourceState", addr, func() providers.MoveResponse {
			return prov.MoveResourceState(ctx, providers.MoveRequest{
				SourceProvider: from.Provider.Provider.String(), SourceType: from.Addr.Resource.Type,
				SourceSchemaVersion: obj.SchemaVersion, SourceJSON: obj.Attrs, SourcePrivate: obj.Private,
				SourceIdentity: obj.Identity, SourceIdentityVersion: obj.IdentityVersion,
				TargetType: r.Addr.Resource.Type,
			})
		})
		if err := t.report(resp.Diagnostics); err != nil {
			return cty.NilVal, nil, err
		}
		out := changed(obj, func(o *states.Object) {
			o.Private, o.SensitivePaths, o.Identity, o.IdentityVersion = resp.Private, nil, nil, 0
		})
		if resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
			out.Identity, out.IdentityVersion = encodeIdentity(resp.Identity), r.Schema.IdentityVersion
		}
		return resp.State, out, t.checkType("Invalid moved resource state", resp.State, ty)
	}
	raw := obj.Attrs
	if same {
		raw, _ = states.StripUnknownAttrs(raw, ty)
	}
	const upgrade = "UpgradeResourceState"
	req := providers.UpgradeRequest{Type: r.Addr.Resource.Type, Version: obj.SchemaVersion, JSON: raw, Flatmap: obj.Flatmap}
	resp := recall(t, upgrade, req, func() providers.UpgradeResponse {
		return callProvider(w.calls, prov, upgrade, addr, func() providers.UpgradeResponse {
			return prov.UpgradeResourceState(ctx, req)
		})
	})
	if err := t.report(resp.Diagnostics); err != nil {
		return cty.NilVal, nil, err
	}
	return resp.Value, obj, t.checkType("Invalid resource state upgrade", resp.Value, ty)
}

// explain adds the address of the instance to a provider's diagnostics. If the instance has a
// block, it also adds the block's source range.
func (t *instance) explain(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	r, addr := t.r, t.addr
	if r.Config == nil {
		return diags.WithAddress(addr.String())
	}
	return diags.InConfigBody(r.Config.Config, addr.String())
}

// explained adds the same information as explain to the diagnostics in err.
func (t *instance) explained(err error) error { return tfdiags.MapError(err, t.explain) }

// warn reports a provider's warnings.
func (t *instance) warn(warnings ...tfdiags.Diagnostic) { t.w.out.warn(t.explain(warnings)...) }

// report reports the warnings in a provider's diagnostics and returns the errors.
func (t *instance) report(answer tfdiags.Diagnostics) error {
	return t.explained(answer.Report(t.warn))
}

func (t *instance) checkType(summary string, v cty.Value, ty cty.Type) error {
	prov, addr := t.prov, t.addr
	if v == cty.NilVal {
		return providerBug(summary, prov.addr.Config.Provider, "returned no value for %s.", addr)
	}
	var errs tfdiags.Diagnostics
	for _, err := range v.Type().TestConformance(ty) {
		errs = errs.Append(providerBug(summary, prov.addr.Config.Provider,
			"returned a value for %s that does not conform to its schema: %s.", addr, tfdiags.FormatError(err)))
	}
	return errs.Err()
}

// withIdentity decodes the object's identity and upgrades it if its version is old.
func (t *instance) withIdentity(ctx context.Context, l *objectState) (*objectState, error) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	l.identity = cty.NilVal
	if r.Schema.Identity == nil || len(l.obj.Identity) == 0 {
		return l, nil
	}
	ty := r.Schema.Identity.ImpliedType()
	switch {
	case l.obj.IdentityVersion > r.Schema.IdentityVersion:
		return nil, tfdiags.Errorf("Resource instance managed by newer provider version",
			"The identity of %s was stored by a newer version of the provider %s than the one selected. "+
				"Upgrade the provider.", addr, prov.addr.Config.Provider.Type)
	case l.obj.IdentityVersion < r.Schema.IdentityVersion:
		resp := callProvider(w.calls, prov, "UpgradeResourceIdentity", addr, func() providers.UpgradeResponse {
			return prov.UpgradeResourceIdentity(ctx, providers.UpgradeRequest{Type: r.Addr.Resource.Type,
				Version: l.obj.IdentityVersion, JSON: l.obj.Identity})
		})
		if err := t.report(resp.Diagnostics); err != nil {
			return nil, err
		}
		l.identity = resp.Value
		l.obj = changed(l.obj, func(o *states.Object) {
			o.Identity, o.IdentityVersion = encodeIdentity(resp.Value), r.Schema.IdentityVersion
		})
	default:
		v, err := states.Unmarshal(l.obj.Identity, ty)
		if err != nil {
			return nil, tfdiags.Errorf("Invalid resource identity",
				"The stored identity of %s can't be read: %s.", addr, err)
		}
		l.identity = v
	}
	return l, nil
}

func encodeIdentity(v cty.Value) []byte {
	if v == cty.NilVal || v.IsNull() {
		return nil
	}
	out, err := states.Marshal(cty.UnknownAsNull(v), v.Type())
	if err != nil {
		panic(fmt.Sprintf("unreachable: an identity of its own type: %s", err))
	}
	return out
}

// markStored marks values as sensitive: those at the stored paths and those that the schema
// declares sensitive.
func markStored(schema *configschema.Block, v cty.Value, stored []cty.Path) cty.Value {
	v = states.MarkSensitive(v, stored)
	if schema.ContainsSensitive() {
		v = schema.MarkSensitive(v, marks.Sensitive)
	}
	return v
}

// unmark returns v without its marks.
func unmark(v cty.Value) cty.Value {
	if marks.Any(v) {
		v, _ = v.UnmarkDeep()
	}
	return v
}

// refresh asks the provider to read an object. If the object no longer exists, the value of the
// result is null. Errors have the address and source range of the instance.
func (t *instance) refresh(ctx context.Context, deposed addrs.DeposedKey, l *objectState) (*objectState, error) {
	meta, err := t.w.eval.providerMeta(ctx, t.r, t.c)
	if err != nil {
		return nil, t.explained(err)
	}
	var out *objectState
	err = t.w.callReader(ctx, t.prov, pace.Read, func(ctx context.Context) (err error) {
		out, err = t.refreshWithSlot(ctx, deposed, l, meta)
		return err
	})
	done := t.w.op.readDone
	if done == nil || err != nil && (reported(err) == nil || t.w.eval.deferredBy(err) != nil) {
		return out, err
	}
	c := RefreshCandidate{t.addr, deposed, t.prov.addr.Config.Provider}
	switch then := done(c, err == nil && !out.exists(), err); {
	case err != nil && then == UseStored:
		return l, nil
	case err != nil && then == TakeAsGone:
		return &objectState{value: cty.NullVal(t.r.Schema.Block.ImpliedType())}, nil
	}
	return out, err
}

// refreshWithSlot asks the provider to read an object. The caller has a call slot.
func (t *instance) refreshWithSlot(
	ctx context.Context, deposed addrs.DeposedKey, l *objectState, meta cty.Value,
) (*objectState, error) {
	w, what := t.w, Object{Addr: t.addr, Deposed: deposed}
	what.IDKey, what.IDValue = identify(l.value)
	w.out.observe(RefreshStart{what})
	out, err := t.read(ctx, l, meta)
	if err != nil {
		w.out.observe(RefreshDone{what, true, err})
		return nil, t.explained(err)
	}
	if !out.exists() {
		what.IDKey, what.IDValue = "", "" // the object is gone, so it has no ID
	}
	w.out.observe(RefreshDone{Object: what})
	return out, nil
}

func (t *instance) read(ctx context.Context, l *objectState, meta cty.Value) (*objectState, error) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	prior := unmark(l.value)
	req := providers.ReadRequest{Type: r.Addr.Resource.Type, Prior: prior, Private: l.obj.Private, Meta: meta,
		Identity: l.identity}
	resp := recall(t, "ReadResource", req, func() providers.ReadResponse {
		return callWithSlot(w.calls, prov, "ReadResource", addr, func() providers.ReadResponse {
			return prov.ReadResource(ctx, req)
		})
	})
	if err := t.report(resp.Diagnostics); err != nil {
		return nil, err
	}
	if resp.Deferred != "" {
		return nil, deferred(prov, addr, plans.DeferReason(resp.Deferred))
	}
	ty := r.Schema.Block.ImpliedType()
	if err := t.checkType("Provider produced invalid object", resp.State, ty); err != nil {
		return nil, err
	}
	if resp.State.IsNull() {
		gone := &objectState{value: cty.NullVal(ty)}
		if l.obj.Status == states.Ready {
			gone.identity = l.identity // the provider may recognize the object by its identity
		}
		return gone, nil
	}
	state := objchange.NormalizeFromLegacy(r.Schema.Block, resp.State)
	if !state.IsWhollyKnown() {
		return nil, providerBug("Provider produced invalid object", prov.addr.Config.Provider,
			"returned unknown values for %s when it was read.", addr)
	}
	out := &objectState{value: l.value, identity: resp.Identity, obj: l.obj}
	identity := encodeIdentity(resp.Identity)
	if identity == nil {
		out.identity, identity = l.identity, l.obj.Identity
	}
	if state.RawEquals(prior) && bytes.Equal(resp.Private, l.obj.Private) &&
		sameJSON(identity, l.obj.Identity) && len(identity) == len(l.obj.Identity) {
		return out, nil
	}
	out.value = markStored(r.Schema.Block, state, l.obj.SensitivePaths)
	encoded, sensitive, err := states.EncodeValue(out.value, ty)
	if err != nil {
		return nil, err
	}
	out.obj = changed(l.obj, func(o *states.Object) {
		o.Attrs, o.SensitivePaths, o.Private = encoded, sensitive, resp.Private
		if identity != nil {
			o.Identity, o.IdentityVersion = identity, r.Schema.IdentityVersion
		}
	})
	return out, nil
}

// deferred returns the error for an object that the provider itself defers.
func deferred(prov *providerInstance, addr addrs.AbsInstance, why plans.DeferReason) tfdiags.Diagnostic {
	reason := ": " + why.Text()
	if why == plans.DeferredOther {
		reason = "" // the text would only repeat the message
	}
	d := tfdiags.Errorf("Provider deferred its answer",
		"The provider %s can't work on %s yet%s. Apply what it depends on first, for example with -target, or "+
			"exclude it with -exclude='%s'.", prov.addr.Config.Provider.ForDisplay(), addr, reason, addr)
	d.Extra = notYet{why: why, chain: []plans.DeferralStep{{What: "the response from the provider " +
		prov.addr.Config.Provider.ForDisplay()}}}
	return d
}

// identify returns the attribute that identifies an object to users: its id, or its name if its
// type has no id.
func identify(v cty.Value) (key, value string) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
		return "", ""
	}
	v, _ = v.Unmark()
	for _, name := range []string{"id", "name"} {
		if !v.Type().HasAttribute(name) {
			continue
		}
		attr := v.GetAttr(name)
		if attr.IsMarked() || !attr.IsKnown() || attr.IsNull() || attr.Type() != cty.String {
			break
		}
		return name, attr.AsString()
	}
	return "", ""
}

// encodeObject returns a new stored object for a value. The fields that aren't part of the value,
// such as the status, are copied from like.
func encodeObject(r *reads.Resource, v cty.Value, like states.Object) (*states.Object, error) {
	encoded, sensitive, err := states.EncodeValue(v, r.Schema.Block.ImpliedType())
	if err != nil {
		return nil, err
	}
	like.Attrs, like.SensitivePaths, like.Flatmap = encoded, sensitive, nil
	like.SchemaVersion = r.Schema.Version
	return &like, nil
}
