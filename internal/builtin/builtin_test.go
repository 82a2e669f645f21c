package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

func newProvider() providers.Interface {
	n := 0
	return New(Options{RemoteState: otherState, NewID: func() (string, error) {
		n++
		return fmt.Sprintf("id-%d", n), nil
	}})
}

func dataBlock(t testing.TB, p providers.Interface) *configschema.Block {
	t.Helper()
	schema, diags := p.Schema(t.Context())
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return schema.Resources.Type(dataType).Block
}

func object(t testing.TB, b *configschema.Block, attrs map[string]cty.Value) cty.Value {
	t.Helper()
	v, err := b.CoerceValue(cty.ObjectVal(attrs))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestDataPlan checks how changes to terraform_data are planned. An object is written as a list of
// its attributes id, input, output and triggers_replace.
func TestDataPlan(t *testing.T) {
	s, n := cty.StringVal, cty.NumberIntVal
	null := cty.NullVal(cty.DynamicPseudoType)
	unknownID := cty.UnknownVal(cty.String).RefineNotNull()
	type obj []cty.Value
	tests := []struct {
		rule                string
		prior               obj
		input, triggers     cty.Value
		wantID, wantOutput  cty.Value
		wantReplace         bool
		wantNew, wantNewOut cty.Value
	}{
		{"create", nil, s("x"), null, unknownID, cty.UnknownVal(cty.String), false, s("id-1"), s("x")},
		{"create without input", nil, null, null, unknownID, null, false, s("id-1"), null},
		{"create with a null number", nil, cty.NullVal(cty.Number), null, unknownID, cty.NullVal(cty.Number), false,
			s("id-1"), cty.NullVal(cty.Number)},
		{"create with unknown input", nil, cty.UnknownVal(cty.Number), null, unknownID,
			cty.UnknownVal(cty.Number), false, cty.NilVal, cty.NilVal},
		{"no change", obj{s("i"), s("x"), s("x"), n(1)}, s("x"), n(1), s("i"), s("x"), false, s("i"), s("x")},
		{"another input", obj{s("i"), s("x"), s("x"), null}, s("y"), null, s("i"), cty.UnknownVal(cty.String),
			false, s("i"), s("y")},
		{"another type", obj{s("i"), s("1"), s("1"), null}, n(1), null, s("i"), cty.UnknownVal(cty.Number),
			false, s("i"), n(1)},
		{"input removed", obj{s("i"), s("x"), s("x"), null}, null, null, s("i"), cty.DynamicVal, false, s("i"), null},
		{"another trigger", obj{s("i"), s("x"), s("x"), n(1)}, s("x"), n(2), s("i"), s("x"), true, cty.NilVal,
			cty.NilVal},
		{"unknown trigger", obj{s("i"), s("x"), s("x"), n(1)}, s("x"), cty.DynamicVal, s("i"), s("x"), true,
			cty.NilVal, cty.NilVal},
		{"trigger removed", obj{s("i"), null, null, n(1)}, null, null, s("i"), null, true, cty.NilVal, cty.NilVal},
	}
	for _, tc := range tests {
		t.Run(tc.rule, func(t *testing.T) {
			p := newProvider()
			block := dataBlock(t, p)
			config := object(t, block, map[string]cty.Value{"input": tc.input, "triggers_replace": tc.triggers})
			prior := cty.NullVal(block.ImpliedType())
			if tc.prior != nil {
				prior = cty.ObjectVal(map[string]cty.Value{"id": tc.prior[0], "input": tc.prior[1],
					"output": tc.prior[2], "triggers_replace": tc.prior[3]})
			}
			if diags := p.ValidateResource(t.Context(), dataType, config); diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			plan := p.PlanResourceChange(t.Context(), providers.PlanRequest{
				Type: dataType, Prior: prior, Proposed: objchange.Proposed(block, prior, config), Config: config,
			})
			if errs := objchange.AssertPlanValid(block, prior, config, plan.Planned); len(errs) > 0 {
				t.Errorf("invalid plan: %v", errs)
			}
			if got := plan.Planned.GetAttr("id"); !got.RawEquals(tc.wantID) {
				t.Errorf("id %#v", got)
			}
			if got := plan.Planned.GetAttr("output"); !got.RawEquals(tc.wantOutput) {
				t.Errorf("output %#v, want %#v", got, tc.wantOutput)
			}
			if got := len(plan.RequiresReplace) > 0; got != tc.wantReplace {
				t.Errorf("replace %v", got)
			}
			if tc.wantNew == cty.NilVal {
				return
			}
			applied := p.ApplyResourceChange(t.Context(), providers.ApplyRequest{Type: dataType, Prior: prior,
				Planned: plan.Planned, Config: config})
			if errs := objchange.AssertCompatible(block, plan.Planned, applied.New); len(errs) > 0 ||
				!applied.New.IsWhollyKnown() {
				t.Errorf("inconsistent: %v in %#v", errs, applied.New)
			}
			if id, out := applied.New.GetAttr("id"), applied.New.GetAttr("output"); !id.RawEquals(tc.wantNew) ||
				!out.RawEquals(tc.wantNewOut) {
				t.Errorf("applied: id %#v, output %#v", id, out)
			}
		})
	}
}

func TestDataDestroyAndRead(t *testing.T) {
	p := newProvider()
	block := dataBlock(t, p)
	prior := object(t, block, map[string]cty.Value{"id": cty.StringVal("i"), "input": cty.True})
	if got := p.ReadResource(t.Context(), providers.ReadRequest{Type: dataType,
		Prior: prior}); !got.State.RawEquals(prior) {
		t.Errorf("read %#v", got.State)
	}
	none := cty.NullVal(block.ImpliedType())
	plan := p.PlanResourceChange(t.Context(), providers.PlanRequest{Type: dataType, Prior: prior,
		Proposed: none, Config: none})
	applied := p.ApplyResourceChange(t.Context(), providers.ApplyRequest{Type: dataType, Prior: prior,
		Planned: plan.Planned, Config: none})
	if !plan.Planned.IsNull() || !applied.New.IsNull() {
		t.Errorf("planned %#v, applied %#v", plan.Planned, applied.New)
	}
}

func TestDataReadOnlyAttributes(t *testing.T) {
	p := newProvider()
	config := object(t, dataBlock(t, p), map[string]cty.Value{"id": cty.StringVal("i"),
		"output": cty.UnknownVal(cty.String)})
	diags := p.ValidateResource(t.Context(), dataType, config)
	if len(diags) != 2 || diags[0].Summary != `"id" attribute is read-only` ||
		!diags[1].Path.Equals(cty.GetAttrPath("output")) {
		t.Errorf("got %+v", diags)
	}
}

func TestDataImportUpgradeMove(t *testing.T) {
	p := newProvider()
	block := dataBlock(t, p)
	imported := p.ImportResourceState(t.Context(), providers.ImportRequest{Type: dataType, ID: "abc"})
	if want := object(t, block, map[string]cty.Value{"id": cty.StringVal("abc")}); len(
		imported.Imported) != 1 || !imported.Imported[0].State.RawEquals(want) {
		t.Errorf("imported %+v", imported)
	}

	stored := object(t, block, map[string]cty.Value{"id": cty.StringVal("i"),
		"input": cty.TupleVal([]cty.Value{cty.True}), "triggers_replace": cty.NumberIntVal(2)})
	raw, err := ctyjson.Marshal(stored, block.ImpliedType())
	if err != nil {
		t.Fatal(err)
	}
	upgraded := p.UpgradeResourceState(t.Context(), providers.UpgradeRequest{Type: dataType, JSON: raw})
	if upgraded.Diagnostics.HasErrors() || !upgraded.Value.RawEquals(stored) {
		t.Errorf("upgraded %#v, %v", upgraded.Value, upgraded.Diagnostics)
	}
	old := p.UpgradeResourceState(t.Context(), providers.UpgradeRequest{Type: dataType, JSON: []byte(`{"id":"i"}`)})
	if old.Diagnostics.HasErrors() ||
		!old.Value.RawEquals(object(t, block, map[string]cty.Value{"id": cty.StringVal("i")})) {
		t.Errorf("upgraded %#v, %v", old.Value, old.Diagnostics)
	}
	for _, bad := range []string{``, `[]`, `{"id":[]}`} {
		if got := p.UpgradeResourceState(t.Context(), providers.UpgradeRequest{Type: dataType,
			JSON: []byte(bad)}); !got.Diagnostics.HasErrors() {
			t.Errorf("%q is accepted: %#v", bad, got.Value)
		}
	}

	moved := p.MoveResourceState(t.Context(), providers.MoveRequest{SourceType: "null_resource",
		TargetType: dataType, SourceJSON: []byte(`{"id":"7","triggers":{"k":"v"}}`)})
	want := object(t, block, map[string]cty.Value{"id": cty.StringVal("7"),
		"triggers_replace": cty.ObjectVal(map[string]cty.Value{"k": cty.StringVal("v")})})
	if moved.Diagnostics.HasErrors() || !moved.State.RawEquals(want) {
		t.Errorf("moved %#v, %v", moved.State, moved.Diagnostics)
	}
	moved = p.MoveResourceState(t.Context(), providers.MoveRequest{SourceType: "null_resource",
		TargetType: dataType, SourceJSON: []byte(`{"id":"7","triggers":null}`)})
	if !moved.State.RawEquals(object(t, block, map[string]cty.Value{"id": cty.StringVal("7")})) {
		t.Errorf("moved %#v, %v", moved.State, moved.Diagnostics)
	}
	for _, req := range []providers.MoveRequest{
		{SourceType: "aws_thing", TargetType: dataType, SourceJSON: []byte(`{"id":"7"}`)},
		{SourceType: "null_resource", TargetType: dataType, SourceJSON: []byte(`{}`)},
		{SourceType: "null_resource", TargetType: "other", SourceJSON: []byte(`{"id":"7"}`)},
	} {
		if got := p.MoveResourceState(t.Context(), req); !got.Diagnostics.HasErrors() {
			t.Errorf("%+v is accepted", req)
		}
	}
}

// otherState reads states from a backend type "box" with a workspace "full". Reading the state at
// the path "broken" fails.
var otherState = RemoteState{
	Schema: func(backend string) (*configschema.Block, error) {
		if backend != "box" {
			// The user sees this error, so it is a sentence.
			return nil, fmt.Errorf("There is no backend type named %q.", backend)
		}
		return &configschema.Block{Attributes: map[string]*configschema.Attribute{"path": {Type: cty.String,
			Required: true}}}, nil
	},
	Outputs: func(_ context.Context, _ addrs.AbsInstance, _, workspace string, config cty.Value) (
		map[string]cty.Value, bool, error) {
		if config.GetAttr("path").AsString() == "broken" {
			return nil, false, errors.New("the box is broken")
		}
		if workspace != "full" {
			return nil, workspace == "default", nil
		}
		return map[string]cty.Value{"a": cty.NumberIntVal(1), "b": cty.StringVal("secret").Mark("sensitive")}, true, nil
	},
}

func TestRemoteState(t *testing.T) {
	box := cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("p")})
	s := cty.StringVal
	tests := []struct {
		name   string
		config map[string]cty.Value
		want   map[string]cty.Value
		path   string
		err    string
	}{
		{"outputs", map[string]cty.Value{"backend": s("box"), "config": box, "workspace": s("full")},
			map[string]cty.Value{"a": cty.NumberIntVal(1), "b": s("secret")}, "", ""},
		{"defaults", map[string]cty.Value{"backend": s("box"), "config": box, "workspace": s("full"),
			"defaults": cty.ObjectVal(map[string]cty.Value{"a": cty.Zero, "c": cty.True})},
			map[string]cty.Value{"a": cty.NumberIntVal(1), "b": s("secret"), "c": cty.True}, "", ""},
		{"default workspace without outputs", map[string]cty.Value{"backend": s("box"), "config": box},
			map[string]cty.Value{}, "", ""},
		{"no state", map[string]cty.Value{"backend": s("box"), "config": box, "workspace": s("w")}, nil,
			"workspace", "Unable to find remote state"},
		{"broken", map[string]cty.Value{"backend": s("box"),
			"config": cty.ObjectVal(map[string]cty.Value{"path": s("broken")})}, nil, "", "The box is broken"},
		{"no such backend", map[string]cty.Value{"backend": s("bag")}, nil, "backend",
			`There is no backend type named "bag".`},
		{"missing argument", map[string]cty.Value{"backend": s("box")}, nil, "config",
			`not valid for backend "box": attribute "path" is required.`},
		{"unknown argument", map[string]cty.Value{"backend": s("box"),
			"config": cty.ObjectVal(map[string]cty.Value{"path": s("p"), "x": s("")})}, nil, "config",
			`unexpected attribute "x".`},
		{"defaults of another type", map[string]cty.Value{"backend": s("box"), "config": box,
			"defaults": cty.TupleVal([]cty.Value{s("")})}, nil, "defaults",
			"The defaults must be an object or a map, with names of outputs as keys."},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProvider()
			schema, _ := p.Schema(t.Context())
			block := schema.DataSources.Type(remoteStateType).Block
			config := object(t, block, tc.config)
			diags := p.ValidateDataSource(t.Context(), remoteStateType, config)
			var state cty.Value
			if !diags.HasErrors() {
				resp := p.ReadDataSource(t.Context(), providers.ReadDataRequest{Type: remoteStateType, Config: config})
				diags, state = resp.Diagnostics, resp.State
			}
			if tc.err != "" {
				if len(diags) == 2 && diags[1].Summary == "Unable to read remote state" && diags[1].Placeless {
					diags = diags[:1] // the second diagnostic is only a consequence of the first
				}
				if len(diags) != 1 || !strings.Contains(diags[0].Summary+" "+diags[0].Detail, tc.err) {
					t.Fatalf("got %v, want %q", diags, tc.err)
				}
				if tc.path != "" && !diags[0].Path.HasPrefix(cty.GetAttrPath(tc.path)) {
					t.Errorf("path %#v", diags[0].Path)
				}
				return
			}
			if diags.HasErrors() {
				t.Fatal(diags.Err())
			}
			if got := state.GetAttr("outputs"); !got.RawEquals(cty.ObjectVal(tc.want)) {
				t.Errorf("outputs %#v", got)
			}
			if errs := state.Type().TestConformance(block.ImpliedType()); len(errs) > 0 {
				t.Errorf("doesn't conform: %v", errs)
			}
		})
	}
	unknown := object(t, remoteStateSchema(), map[string]cty.Value{"backend": cty.UnknownVal(cty.String),
		"config": cty.DynamicVal})
	if diags := newProvider().ValidateDataSource(t.Context(), remoteStateType, unknown); diags.HasErrors() {
		t.Errorf("unknown configuration: %v", diags.Err())
	}
}

func TestFunctions(t *testing.T) {
	obj := func(kv ...any) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1].(cty.Value)
		}
		return cty.ObjectVal(m)
	}
	null := cty.NullVal(cty.DynamicPseudoType)
	s := cty.StringVal
	tuple := func(vals ...cty.Value) cty.Value { return cty.TupleVal(vals) }
	tests := []struct {
		function string
		arg      cty.Value
		want     cty.Value
		err      string
	}{
		{"decode_tfvars", s("a = 1\nb = [\"x\", true]\n"), obj("a", cty.NumberIntVal(1),
			"b", tuple(s("x"), cty.True)), ""},
		{"decode_tfvars", s(""), cty.EmptyObjectVal, ""},
		{"decode_tfvars", s("a = 1\nb = c"), cty.NilVal, "line 2 is not valid: Variables not allowed"},
		{"decode_tfvars", s("a {\n}"), cty.NilVal, "line 1 is not valid: Unexpected \"a\" block"},
		{"decode_tfvars", s("a = upper(\"x\")"), cty.NilVal, "Function calls not allowed"},
		{"decode_tfvars", cty.NullVal(cty.String), cty.NilVal, "must not be null"},
		{"encode_tfvars", obj("b", cty.NumberIntVal(2), "a", tuple(s("x")), "c", obj("d", null)),
			s("a = [\"x\"]\nb = 2\nc = {\n  d = null\n}\n"), ""},
		{"encode_tfvars", cty.MapVal(map[string]cty.Value{"k": s("${v}")}), s("k = \"$${v}\"\n"), ""},
		{"encode_tfvars", cty.EmptyObjectVal, s(""), ""},
		{"encode_tfvars", obj("a b", cty.True), cty.NilVal, `the key "a b" is not a valid identifier`},
		{"encode_tfvars", s("x"), cty.NilVal, "must be an object or a map, not string"},
		{"encode_expr", obj("b", cty.NumberIntVal(2), "a", tuple(s("x\n"), null)),
			s("{\n  a = [\"x\\n\", null]\n  b = 2\n}"), ""},
		{"encode_expr", cty.SetVal([]cty.Value{s("b"), s("a")}), s(`["a", "b"]`), ""},
		{"encode_expr", cty.NumberFloatVal(1.5), s("1.5"), ""},
	}
	p := newProvider()
	described, _ := p.Functions(t.Context())
	for _, tc := range tests {
		if described[tc.function] == nil {
			t.Errorf("%s is not described", tc.function)
		}
		got, err := p.CallFunction(t.Context(), tc.function, []cty.Value{tc.arg})
		if tc.err != "" {
			complaint, ok := errors.AsType[*providers.FunctionError](err)
			if !ok || complaint.Arg != 0 || !strings.Contains(complaint.Text, tc.err) {
				t.Errorf("%s(%#v): error %v, want %q", tc.function, tc.arg, err, tc.err)
			}
			continue
		}
		if err != nil || !got.RawEquals(tc.want) {
			t.Errorf("%s(%#v) = %#v, %v; want %#v", tc.function, tc.arg, got, err, tc.want)
		}
	}
}

func TestUnknownTypes(t *testing.T) {
	p := newProvider()
	for name, diags := range map[string]tfdiags.Diagnostics{
		"resource":  p.ReadResource(t.Context(), providers.ReadRequest{Type: "x"}).Diagnostics,
		"data":      p.ReadDataSource(t.Context(), providers.ReadDataRequest{Type: "x"}).Diagnostics,
		"ephemeral": p.OpenEphemeral(t.Context(), "x", cty.EmptyObjectVal).Diagnostics,
		"identity":  p.UpgradeResourceIdentity(t.Context(), providers.UpgradeRequest{Type: dataType}).Diagnostics,
	} {
		if !diags.HasErrors() {
			t.Errorf("%s: no error", name)
		}
	}
	schema, _ := p.Schema(t.Context())
	for _, table := range []providers.TypeTable{schema.Resources, schema.DataSources} {
		for _, name := range table.Names() {
			if err := table.Type(name).Block.InternalValidate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// BenchmarkData measures planning and applying the creation of an instance.
func BenchmarkData(b *testing.B) {
	p := New(Options{})
	block := dataBlock(b, p)
	config := object(b, block, map[string]cty.Value{"input": cty.StringVal("x")})
	none := cty.NullVal(block.ImpliedType())
	b.ReportAllocs()
	for b.Loop() {
		plan := p.PlanResourceChange(b.Context(), providers.PlanRequest{Type: dataType, Prior: none,
			Proposed: objchange.Proposed(block, none, config), Config: config})
		p.ApplyResourceChange(b.Context(), providers.ApplyRequest{Type: dataType, Prior: none,
			Planned: plan.Planned, Config: config})
	}
}
