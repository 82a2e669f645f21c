package engine

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
	"tofu/internal/engine/graph"
	"tofu/internal/lang/marks"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// upgrade returns a stored object in the current schema. It calls the provider even if the schema
// version is current, because only the provider knows the form of its objects. Objects of the
// built-in provider need no call.
func (t *instance) upgrade(obj *states.Object) (*objectState, tfdiags.Diagnostics) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	schema := r.Schema
	if obj.SchemaVersion > schema.Version && !w.op.moves.Retyped(addr) {
		return nil, tfdiags.Errorf("Resource instance managed by newer provider version",
			"%s was stored by a newer version of the provider %s than the one selected. Upgrade the provider.",
			addr, prov.addr.Config.Provider.Type).List()
	}
	ty := schema.Block.ImpliedType()
	same := obj.SchemaVersion == schema.Version && obj.Flatmap == nil && !w.op.moves.Retyped(addr)
	if same && prov.addr.Config.Provider.IsBuiltin() {
		v, err := obj.Decode(ty)
		if err == nil {
			return &objectState{value: markStored(schema.Block, v, nil), obj: obj}, nil
		}
	}
	v, out, diags := t.upgradeValue(obj, same)
	if diags.HasErrors() {
		return nil, diags
	}
	encoded, sensitive, err := states.EncodeValue(states.MarkSensitive(v, obj.SensitivePaths), ty)
	if err != nil {
		return nil, diags.Append(providerBug("Invalid resource state", prov.addr.Config.Provider,
			"returned a state for %s that can't be stored: %s.", addr, err))
	}
	v = markStored(schema.Block, v, obj.SensitivePaths)
	if out == obj && same && sameJSON(encoded, obj.Attrs) {
		return t.withIdentity(&objectState{value: v, obj: obj}, diags)
	}
	out = changed(out, func(o *states.Object) {
		o.Attrs, o.SensitivePaths, o.Flatmap, o.SchemaVersion = encoded, sensitive, nil, schema.Version
	})
	return t.withIdentity(&objectState{value: v, obj: out}, diags)
}

// sameJSON reports whether two JSON documents are equal. Equal bytes are the common case.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var compact bytes.Buffer
	return json.Compact(&compact, b) == nil && bytes.Equal(a, compact.Bytes())
}

// upgradeValue has the provider upgrade an object to the current schema.
func (t *instance) upgradeValue(obj *states.Object, same bool) (cty.Value, *states.Object, tfdiags.Diagnostics) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	ty := r.Schema.Block.ImpliedType()
	if from := w.op.moves.Source(addr); from != nil {
		resp := callProvider(w.calls, prov, "MoveResourceState", addr, func() providers.MoveResponse {
			return prov.MoveResourceState(w.ctx, providers.MoveRequest{
				SourceProvider: from.Provider.Provider.String(), SourceType: from.Addr.Resource.Type,
				SourceSchemaVersion: obj.SchemaVersion,
				SourceJSON:          obj.Attrs, SourcePrivate: obj.Private, SourceIdentity: obj.Identity,
				SourceIdentityVersion: obj.IdentityVersion,
				TargetType:            r.Addr.Resource.Type,
			})
		})
		if resp.Diagnostics.HasErrors() {
			return cty.NilVal, nil, t.explain(resp.Diagnostics)
		}
		out := changed(obj, func(o *states.Object) {
			o.Private, o.SensitivePaths, o.Identity, o.IdentityVersion = resp.Private, nil, nil, 0
		})
		if resp.Identity != cty.NilVal && !resp.Identity.IsNull() {
			out.Identity, out.IdentityVersion = encodeIdentity(resp.Identity), r.Schema.IdentityVersion
		}
		return resp.State, out,
			t.explain(resp.Diagnostics).Append(t.checkType("Invalid moved resource state", resp.State, ty)...)
	}
	raw := obj.Attrs
	if same {
		raw, _ = states.StripUnknownAttrs(raw, ty)
	}
	resp := callProvider(w.calls, prov, "UpgradeResourceState", addr, func() providers.UpgradeResponse {
		return prov.UpgradeResourceState(w.ctx, providers.UpgradeRequest{Type: r.Addr.Resource.Type,
			Version: obj.SchemaVersion, JSON: raw, Flatmap: obj.Flatmap})
	})
	if resp.Diagnostics.HasErrors() {
		return cty.NilVal, nil, t.explain(resp.Diagnostics)
	}
	return resp.Value, obj,
		t.explain(resp.Diagnostics).Append(t.checkType("Invalid resource state upgrade", resp.Value, ty)...)
}

// explain adds the address of the instance, and the range of its block if there is one, to
// diagnostics of a provider.
func (t *instance) explain(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
	r, addr := t.r, t.addr
	if r.Config == nil {
		return diags.WithAddress(addr.String())
	}
	return diags.InConfigBody(r.Config.Config, addr.String())
}

func (t *instance) checkType(summary string, v cty.Value, ty cty.Type) tfdiags.Diagnostics {
	prov, addr := t.prov, t.addr
	var diags tfdiags.Diagnostics
	if v == cty.NilVal {
		return diags.Append(providerBug(summary, prov.addr.Config.Provider, "returned no value for %s.", addr))
	}
	for _, err := range v.Type().TestConformance(ty) {
		diags = diags.Append(providerBug(summary, prov.addr.Config.Provider,
			"returned a value for %s that does not conform to its schema: %s.", addr, tfdiags.FormatError(err)))
	}
	return diags
}

// withIdentity decodes the object's identity and upgrades it if its version is old.
func (t *instance) withIdentity(l *objectState, diags tfdiags.Diagnostics) (*objectState, tfdiags.Diagnostics) {
	r, prov, addr, w := t.r, t.prov, t.addr, t.w
	l.identity = cty.NilVal
	if r.Schema.Identity == nil || len(l.obj.Identity) == 0 {
		return l, diags
	}
	ty := r.Schema.Identity.ImpliedType()
	switch {
	case l.obj.IdentityVersion > r.Schema.IdentityVersion:
		return nil, diags.Append(tfdiags.Errorf("Resource instance managed by newer provider version",
			"The identity of %s was stored by a newer version of the provider %s than the one selected. "+
				"Upgrade the provider.", addr, prov.addr.Config.Provider.Type))
	case l.obj.IdentityVersion < r.Schema.IdentityVersion:
		resp := callProvider(w.calls, prov, "UpgradeResourceIdentity", addr, func() providers.UpgradeResponse {
			return prov.UpgradeResourceIdentity(w.ctx, providers.UpgradeRequest{Type: r.Addr.Resource.Type,
				Version: l.obj.IdentityVersion, JSON: l.obj.Identity})
		})
		diags = diags.Append(t.explain(resp.Diagnostics)...)
		if resp.Diagnostics.HasErrors() {
			return nil, diags
		}
		l.identity = resp.Value
		l.obj = changed(l.obj, func(o *states.Object) {
			o.Identity, o.IdentityVersion = encodeIdentity(resp.Value), r.Schema.IdentityVersion
		})
	default:
		v, err := states.Unmarshal(l.obj.Identity, ty)
		if err != nil {
			return nil, diags.Append(tfdiags.Errorf("Invalid resource identity",
				"The stored identity of %s can't be read: %s.", addr, err))
		}
		l.identity = v
	}
	return l, diags
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

// markStored marks as sensitive the stored sensitive paths and those that the schema declares
// sensitive.
func markStored(schema *configschema.Block, v cty.Value, stored []cty.Path) cty.Value {
	v = states.MarkSensitive(v, stored)
	if schema.ContainsSensitive() {
		v = schema.MarkSensitive(v, marks.Sensitive)
	}
	return v
}

// unmark returns v without its marks. Most values have none.
func unmark(v cty.Value) cty.Value {
	if marks.Any(v) {
		v, _ = v.UnmarkDeep()
	}
	return v
}

// refresh has the provider read the current object. A result without an object means that it is
// gone.
func (t *instance) refresh(deposed addrs.DeposedKey, l *objectState) (*objectState, tfdiags.Diagnostics) {
	w, what := t.w, Object{Addr: t.addr, Deposed: deposed}
	what.IDKey, what.IDValue = identify(l.value)
	w.out.observe(RefreshStart{what})
	out, diags := t.read(l)
	if !diags.HasErrors() {
		if !out.exists() {
			what.IDKey, what.IDValue = "", "" // they identified a missing object
		}
		w.out.observe(RefreshDone{what})
	}
	return out, diags
}

func (t *instance) read(l *objectState) (*objectState, tfdiags.Diagnostics) {
	r, prov, addr, c, w := t.r, t.prov, t.addr, t.c, t.w
	meta, diags := w.eval.providerMeta(r, c)
	if diags.HasErrors() {
		return nil, diags
	}
	prior := unmark(l.value)
	resp := callProvider(w.calls, prov, "ReadResource", addr, func() providers.ReadResponse {
		return prov.ReadResource(w.ctx, providers.ReadRequest{Type: r.Addr.Resource.Type, Prior: prior,
			Private: l.obj.Private, Meta: meta, Identity: l.identity})
	})
	diags = diags.Append(resp.Diagnostics...)
	if resp.Diagnostics.HasErrors() {
		return nil, diags
	}
	if resp.Deferred != "" {
		return nil, diags.Append(deferred(prov, addr, resp.Deferred))
	}
	ty := r.Schema.Block.ImpliedType()
	if diags = diags.Append(t.checkType("Provider produced invalid object", resp.State, ty)...); diags.HasErrors() {
		return nil, diags
	}
	if resp.State.IsNull() {
		gone := &objectState{value: cty.NullVal(ty)}
		if l.obj.Status == states.Ready {
			gone.identity = l.identity // the provider may recognise the object by it
		}
		return gone, diags
	}
	state := objchange.NormalizeFromLegacy(r.Schema.Block, resp.State)
	if !state.IsWhollyKnown() {
		return nil, diags.Append(providerBug("Provider produced invalid object", prov.addr.Config.Provider,
			"returned unknown values for %s when it was read.", addr))
	}
	out := &objectState{value: l.value, identity: resp.Identity, obj: l.obj}
	identity := encodeIdentity(resp.Identity)
	if identity == nil {
		out.identity, identity = l.identity, l.obj.Identity
	}
	if state.RawEquals(prior) && bytes.Equal(resp.Private, l.obj.Private) &&
		sameJSON(identity, l.obj.Identity) && len(identity) == len(l.obj.Identity) {
		return out, diags
	}
	out.value = markStored(r.Schema.Block, state, l.obj.SensitivePaths)
	encoded, sensitive, err := states.EncodeValue(out.value, ty)
	if err != nil {
		return nil, diags.AppendError(err)
	}
	out.obj = changed(l.obj, func(o *states.Object) {
		o.Attrs, o.SensitivePaths, o.Private = encoded, sensitive, resp.Private
		if identity != nil {
			o.Identity, o.IdentityVersion = identity, r.Schema.IdentityVersion
		}
	})
	return out, diags
}

func deferred(prov *providerInstance, addr addrs.AbsInstance, reason string) tfdiags.Diagnostic {
	return tfdiags.Errorf("Provider deferred its answer",
		"The provider %s can't work on %s yet (%s), and deferred actions are not supported. Apply what it "+
			"depends on first, for example with -target, or exclude it with -exclude=%s.",
		prov.addr.Config.Provider.ForDisplay(), addr, reason, addr)
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

// encodeObject returns a new object for a value. Fields that a value doesn't have are copied from
// like.
func encodeObject(r *graph.Resource, v cty.Value, like states.Object) (*states.Object, error) {
	encoded, sensitive, err := states.EncodeValue(v, r.Schema.Block.ImpliedType())
	if err != nil {
		return nil, err
	}
	like.Attrs, like.SensitivePaths, like.Flatmap = encoded, sensitive, nil
	like.SchemaVersion = r.Schema.Version
	return &like, nil
}
