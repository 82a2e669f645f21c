package objchange

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/marks"
)

func TestRestored(t *testing.T) {
	tests := []struct{ rule, config, past, present, want string }{
		{"earlier value", `opt="new"`, `opt="old"`, `opt="new"`, `opt="old"`},
		{"earlier null", `opt="new"`, ``, `opt="new"`, ``},
		{"no longer configured", ``, `opt="old"`, ``, `opt="old"`},
		{"unknown stays", `opt=unknown`, `opt="old"`, `opt="new"`, `opt=unknown`},
		{"write-only stays", `wo="w"`, ``, ``, `wo="w"`},
		{"what the provider decides", `opt="o"`, `opt="o", comp="1"`, `opt="o", comp="2"`, `opt="o"`},
		{"optional computed, as then", ``, `oc="1"`, `oc="1"`, ``},
		{"optional computed, changed since", ``, `oc="1"`, `oc="2"`, `oc="1"`},
		{"optional computed, of a destroyed object", ``, `oc="1"`, `null`, ``},
		{"optional computed, configured", `oc="2"`, `oc="1"`, `null`, `oc="1"`},
		{"null stored as a zero value", ``, `opt=""`, `opt=""`, ``},
		{"collections are values", `tags={a="2"}`, `tags={a="1", b="1"}`, `tags={a="2"}`, `tags={a="1", b="1"}`},
		{"elements of collections", `tags={a="2", b=unknown}`, `tags={a="1", b="1"}`, ``, `tags={a="1", b=unknown}`},
		{"elements by position", `seq=["2", unknown]`, `seq=["1", "1"]`, ``, `seq=["1", unknown]`},
		{"other elements", `tags={a="2", b=unknown}`, `tags={a="1", c="1"}`, ``, `tags={a="2", b=unknown}`},
		{"sets are values", `names=["2", unknown]`, `names=["1", "3"]`, ``, `names=["2", unknown]`},
		{"nested without what the provider sets", ``, `nsingle={req="a", comp="1"}`, ``, `nsingle={req="a"}`},
		{"nested list by position", `nlist=[{req="b", opt=unknown}]`, `nlist=[{req="a", comp="1", opt="o"}]`, ``,
			`nlist=[{opt=unknown, req="a"}]`},
		{"nested list of another length", `nlist=[{req="b"}]`, `nlist=[{req="a", comp="1"}, {req="b"}]`, ``,
			`nlist=[{req="a"}, {req="b"}]`},
		{"nested list of another length with unknowns", `nlist=[{req=unknown}]`, `nlist=[{req="a"}, {req="b"}]`, ``,
			`nlist=[{req=unknown}]`},
		{"nested map", `nmap={x={req="b"}}`, `nmap={x={req="a", comp="1"}}`, ``, `nmap={x={req="a"}}`},
		{"nested map with other keys", `nmap={y={req="b"}}`, `nmap={x={req="a", comp="1"}}`, ``, `nmap={x={req="a"}}`},
		{"nested set", `nset=[{req="b"}]`, `nset=[{req="a", comp="1"}]`, ``, `nset=[{req="a"}]`},
		{"equal set", `nset=[{req="a"}]`, `nset=[{req="a", oc="1", comp="1"}]`, ``, `nset=[{req="a"}]`},
		{"single block removed", `bsingle={req="b"}`, ``, ``, ``},
		{"single block", `bsingle={req="b"}`, `bsingle={req="a", comp="1"}`, ``, `bsingle={req="a"}`},
		{"list blocks", `blist=[{req="b", in=[{req="y"}]}]`, `blist=[{req="a", in=[{req="x", comp="1"}]}]`, ``,
			`blist=[{in=[{req="x"}], req="a"}]`},
		{"list blocks removed", `blist=[{req="b"}]`, ``, ``, ``},
		{"map blocks", `bmap={x={req="b"}}`, `bmap={x={req="a", comp="1"}}`, ``, `bmap={x={req="a"}}`},
		{"set blocks", `bset=[{req="b"}, {req="c"}]`, `bset=[{req="a", comp="1"}]`, ``, `bset=[{req="a"}]`},
		{"unknown blocks", `bset=unknown`, `bset=[{req="a"}]`, ``, `bset=unknown`},
		{"no earlier object", `opt="new"`, `null`, `opt="old"`, `opt="new"`},
	}
	schema := testSchema()
	for _, tc := range tests {
		t.Run(tc.rule, func(t *testing.T) {
			got := Restored(schema, value(t, schema, tc.config), value(t, schema, tc.past),
				value(t, schema, tc.present))
			if errs := got.Type().TestConformance(schema.ImpliedType()); len(errs) > 0 {
				t.Errorf("doesn't conform: %v", errs)
			}
			if text := text(got); text != tc.want {
				t.Errorf("\n got %s\nwant %s", text, tc.want)
			}
		})
	}
}

// TestRestoredMarks checks that a restored value is sensitive if the earlier or the present value
// is, and that parts that depend on absent objects are replaced.
func TestRestoredMarks(t *testing.T) {
	schema := testSchema()
	with := func(text, name string, v cty.Value) cty.Value {
		vals := value(t, schema, text).AsValueMap()
		vals[name] = v
		return cty.ObjectVal(vals)
	}
	secret := cty.StringVal("old").Mark(marks.Sensitive)
	renewed := cty.StringVal("new").Mark(marks.Renewed)
	absent := cty.UnknownVal(cty.String).Mark(marks.Absent)
	past, present := value(t, schema, `opt="old"`), value(t, schema, `opt="new"`)
	for name, got := range map[string]cty.Value{
		"now":  Restored(schema, with(``, "opt", cty.StringVal("new").Mark(marks.Sensitive)), past, present),
		"then": Restored(schema, present, with(``, "opt", secret), present),
	} {
		if v := got.GetAttr("opt"); !v.RawEquals(secret) {
			t.Errorf("%s: %#v", name, v)
		}
	}
	if v := Restored(schema, with(``, "opt", renewed), past, present).GetAttr("opt"); !v.RawEquals(renewed) {
		t.Errorf("renewed: %#v", v)
	}
	if v := Restored(schema, with(``, "opt", absent), past,
		present).GetAttr("opt"); !v.RawEquals(cty.StringVal("old")) {
		t.Errorf("absent: %#v", v)
	}
}

func TestCompleted(t *testing.T) {
	tests := []struct{ planned, config, want string }{
		{`opt="old", oc=unknown`, `opt="new", oc="id", wo="w"`, `oc="id", opt="old", wo="w"`},
		{`tags={a="1", b=unknown}, seq=[unknown, "1"]`, `tags={a="2", b="id"}, seq=["id", "2"]`,
			`seq=["id", "1"], tags={a="1", b="id"}`},
		{`nlist=[{req="a", opt=unknown}], nset=[{req=unknown}]`, `nlist=[{req="b", opt="id"}], nset=[{req="id"}]`,
			`nlist=[{opt="id", req="a"}], nset=[{req="id"}]`},
		{`blist=[{req="a"}, {req="b"}], bmap={x={req=unknown}}`, `blist=[{req="c"}], bmap={x={req="id"}}`,
			`blist=[{req="a"}, {req="b"}], bmap={x={req="id"}}`},
		{`bsingle={req="a", opt=unknown}`, `bsingle={req="b", opt="id"}`, `bsingle={opt="id", req="a"}`},
	}
	schema := testSchema()
	for _, tc := range tests {
		if got := text(Completed(schema, value(t, schema, tc.planned), value(t, schema, tc.config))); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.planned, got, tc.want)
		}
	}
}

func TestWithoutWriteOnly(t *testing.T) {
	schema := testSchema()
	got := text(WithoutWriteOnly(schema, value(t, schema, `wo="w", opt="o", blist=[{req="a"}], bmap={x={req="b"}}`)))
	if want := `blist=[{req="a"}], bmap={x={req="b"}}, opt="o"`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
