package builtin

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
)

// TestStore checks how changes to the block store are planned and applied. A want with an empty type is
// the prior value.
func TestStore(t *testing.T) {
	type args = map[string]cty.Value
	s, yes := cty.StringVal, cty.True
	null := cty.NullVal(cty.DynamicPseudoType)
	p := New(Options{Store: true, NewID: func() (string, error) { return "id", nil }})
	block := dataBlock(t, p)
	inner := &block.BlockTypes[storeBlock].Block
	object := func(store args) cty.Value {
		vals := block.EmptyValue().AsValueMap()
		if store != nil {
			v, err := inner.CoerceValue(cty.ObjectVal(store))
			if err != nil {
				t.Fatal(err)
			}
			vals[storeBlock] = v
		}
		return cty.ObjectVal(vals)
	}
	stored := args{"output": s("a")}
	for _, test := range []struct {
		name          string
		prior, config args
		changed       bool // whether the plan has an unknown output
		replaced      int  // number of paths that require a replacement
		out, secret   cty.Value
	}{
		{"create", nil, args{"input": s("a")}, true, 0, s("a"), null},
		{"create sensitive", nil, args{"input": s("a"), "sensitive": yes}, true, 0, null, s("a")},
		{"create replaced", nil, args{"input": s("a"), "replace": yes}, true, 0, s("a"), null},
		{"create without input", nil, args{"version": s("1")}, false, 0, null, null},
		{"same", stored, args{"input": s("a")}, false, 0, s("a"), null},
		{"other", stored, args{"input": s("b")}, true, 0, s("b"), null},
		{"other type", stored, args{"input": cty.NumberIntVal(1)}, true, 0, cty.NumberIntVal(1), null},
		{"other replaces", stored, args{"input": s("b"), "replace": yes}, true, 1, s("b"), null},
		{"now sensitive", stored, args{"input": s("a"), "sensitive": yes}, true, 0, null, s("a")},
		{"now sensitive, replaces", stored, args{"input": s("a"), "sensitive": yes, "replace": yes}, true, 2, null, s("a")},
		{"version added", stored, args{"input": s("b"), "version": s("1")}, true, 0, s("b"), null},
		{"same version", args{"output": s("a"), "version": s("1")}, args{"input": s("b"), "version": s("1")}, false, 0,
			s("a"), null},
		{"other version", args{"output": s("a"), "version": s("1")}, args{"input": s("b"), "version": s("2")}, true, 0,
			s("b"), null},
		{"removed input", stored, args{}, false, 0, null, null},
	} {
		t.Run(test.name, func(t *testing.T) {
			prior, config := cty.NullVal(block.ImpliedType()), object(test.config)
			if test.prior != nil {
				prior = object(test.prior)
			}
			plan := p.PlanResourceChange(t.Context(), providers.PlanRequest{Type: dataType, Prior: prior,
				Proposed: objchange.Proposed(block, prior, config), Config: config})
			if errs := objchange.AssertPlanValid(block, prior, config, plan.Planned); len(errs) > 0 {
				t.Errorf("invalid plan: %v", errs)
			}
			planned := plan.Planned.GetAttr(storeBlock)
			if got := !planned.IsWhollyKnown(); got != test.changed || len(plan.RequiresReplace) != test.replaced {
				t.Errorf("planned %#v, replaced by %v", planned, plan.RequiresReplace)
			}
			applied := p.ApplyResourceChange(t.Context(), providers.ApplyRequest{Type: dataType, Prior: prior,
				Planned: plan.Planned, Config: config})
			if errs := objchange.AssertCompatible(block, plan.Planned, applied.New); len(errs) > 0 {
				t.Errorf("inconsistent: %v", errs)
			}
			store := applied.New.GetAttr(storeBlock)
			if got := store.GetAttr("output"); !got.RawEquals(test.out) {
				t.Errorf("output %#v", got)
			}
			if got := store.GetAttr("sensitive_output"); !got.RawEquals(test.secret) {
				t.Errorf("sensitive_output %#v", got)
			}
			if !store.GetAttr("input").IsNull() {
				t.Error("the input is stored")
			}
		})
	}
	config := object(args{"input": s("a"), "output": s("b")})
	if diags := p.ValidateResource(t.Context(), dataType, config); !diags.HasErrors() {
		t.Error("output can be set")
	}
	for _, text := range []string{`{"id":"i","store":null}`, `{"id":"i","store":[]}`, `{"id":"i"}`} {
		resp := p.UpgradeResourceState(t.Context(), providers.UpgradeRequest{Type: dataType, JSON: []byte(text)})
		if resp.Diagnostics.HasErrors() || !resp.Value.GetAttr(storeBlock).IsNull() {
			t.Errorf("%s: %#v, %v", text, resp.Value, resp.Diagnostics.Err())
		}
	}
}
