package objchange

import (
	"fmt"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func TestProposed(t *testing.T) {
	tests := []struct{ rule, prior, config, want string }{
		{"no prior: computed stays null", `null`, `opt="o"`, `opt="o"`},
		{"no prior: configured computed", `null`, `oc="x"`, `oc="x"`},
		{"config wins", `opt="old"`, `opt="new"`, `opt="new"`},
		{"removed from config", `opt="old"`, ``, ``},
		{"optional computed kept", `oc="old"`, ``, `oc="old"`},
		{"optional computed configured", `oc="old"`, `oc="new"`, `oc="new"`},
		{"computed kept", `comp="c", num=3`, `opt="o"`, `comp="c", num=cty.NumberIntVal(3), opt="o"`},
		{"unknown config", `oc="old"`, `oc=unknown`, `oc=unknown`},
		{"write-only", ``, `wo="w"`, `wo="w"`},
		{"collections are values", `tags={a="1", b="2"}`, `tags={a="1"}`, `tags={a="1"}`},
		{"nested single keeps computed", `nsingle={req="r", comp="c", oc="o"}`, `nsingle={req="s"}`,
			`nsingle={comp="c", oc="o", req="s"}`},
		{"nested single removed", `nsingle={req="r", comp="c"}`, ``, ``},
		{"nested list by position", `nlist=[{req="a", comp="1"}, {req="b", comp="2"}]`, `nlist=[{req="b"}]`,
			`nlist=[{comp="1", req="b"}]`},
		{"nested list longer", `nlist=[{req="a", comp="1"}]`, `nlist=[{req="a"}, {req="b"}]`,
			`nlist=[{comp="1", req="a"}, {req="b"}]`},
		{"nested map by key", `nmap={x={req="a", comp="1"}}`, `nmap={x={req="b"}, y={req="c"}}`,
			`nmap={x={comp="1", req="b"}, y={req="c"}}`},
		{"nested set by likeness", `nset=[{req="a", comp="1"}, {req="b", comp="2"}]`, `nset=[{req="b"}, {req="c"}]`,
			`nset=[{comp="2", req="b"}, {req="c"}]`},
		{"nested optional computed from config before", `noc={req="a", comp="1"}`, ``, ``},
		{"nested optional computed from provider", `noc={req=null, comp="1", oc="2"}`, ``, `noc={comp="1", oc="2"}`},
		{"nested unknown", `nlist=[{req="a", comp="1"}]`, `nlist=unknown`, `nlist=unknown`},
		{"single block", `bsingle={req="a", comp="1"}`, `bsingle={req="b"}`, `bsingle={comp="1", req="b"}`},
		{"single block removed", `bsingle={req="a", comp="1"}`, ``, ``},
		{"single block added", ``, `bsingle={req="b"}`, `bsingle={req="b"}`},
		{"group block", `bgroup={req="a", comp="1"}`, ``, `bgroup={comp="1"}`},
		{"list blocks by position", `blist=[{req="a", comp="1"}, {req="b", comp="2"}]`,
			`blist=[{req="b"}, {req="b"}, {req="c"}]`,
			`blist=[{comp="1", req="b"}, {comp="2", req="b"}, {req="c"}]`},
		{"blocks in blocks", `blist=[{req="a", in=[{req="x", comp="1"}]}]`,
			`blist=[{req="a", in=[{req="y"}, {req="z"}]}]`,
			`blist=[{in=[{comp="1", req="y"}, {req="z"}], req="a"}]`},
		{"unknown blocks", `blist=[{req="a", comp="1"}]`, `blist=unknown`, `blist=unknown`},
		{"map blocks by key", `bmap={x={req="a", comp="1"}, z={req="z"}}`, `bmap={x={req="b"}}`,
			`bmap={x={comp="1", req="b"}}`},
		{"set blocks by likeness", `bset=[{req="a", comp="1"}, {req="b", oc="o", comp="2"}]`,
			`bset=[{req="b"}, {req="a", opt="x"}]`,
			`bset=[{comp="2", oc="o", req="b"}, {opt="x", req="a"}]`},
		{"set blocks: configured computed must agree", `bset=[{req="a", oc="1", comp="1"}]`,
			`bset=[{req="a", oc="2"}]`, `bset=[{oc="2", req="a"}]`},
		{"set blocks: a prior element serves once", `bset=[{req="a", oc="1"}]`, `bset=[{req="a"}, {req="a", oc="2"}]`,
			`bset=[{oc="1", req="a"}, {oc="2", req="a"}]`},
		{"set blocks with unknowns don't match", `bset=[{req="a", comp="1"}]`, `bset=[{req="a", opt=unknown}]`,
			`bset=[{opt=unknown, req="a"}]`},
	}
	schema := testSchema()
	for _, tc := range tests {
		t.Run(tc.rule, func(t *testing.T) {
			got := Proposed(schema, value(t, schema, tc.prior), value(t, schema, tc.config))
			if errs := got.Type().TestConformance(schema.ImpliedType()); len(errs) > 0 {
				t.Errorf("doesn't conform: %v", errs)
			}
			if text := text(got); text != tc.want {
				t.Errorf("\n got %s\nwant %s", text, tc.want)
			}
		})
	}
	none := value(t, schema, "null")
	if got := Proposed(schema, none, none); !got.IsNull() {
		t.Errorf("both null: %#v", got)
	}
}

func TestPlannedUnknown(t *testing.T) {
	schema := testSchema()
	tests := []struct{ config, want string }{
		{`opt="o", oc="x", seq=[], noc={req="q", oc="o"}, bgroup={req="g", oc="o"}`,
			`bgroup={comp=unknown, oc="o", req="g"}, comp=unknown, noc={comp=unknown, oc="o", req="q"}, num=unknown, ` +
				`oc="x", opt="o"`},
		{`oc=unknown, blist=[{req="a"}], bset=unknown, bgroup={req="g"}, wo="w"`,
			`bgroup={comp=unknown, oc=unknown, req="g"}, blist=[{comp=unknown, oc=unknown, req="a"}], bset=unknown, ` +
				`comp=unknown, noc=unknown, num=unknown, oc=unknown, seq=unknown`},
	}
	for _, tc := range tests {
		if got := text(PlannedUnknown(schema, value(t, schema, tc.config))); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.config, got, tc.want)
		}
	}
}

func TestNormalizeFromLegacy(t *testing.T) {
	schema := testSchema()
	good := value(t, schema, `blist=[{req="a", in=[{req="x"}]}]`)
	if got := NormalizeFromLegacy(schema, good); !got.RawEquals(good) {
		t.Errorf("changed what is good: %#v", got)
	}
	nulls := good.AsValueMap()
	inner := nulls["blist"].Index(cty.Zero).AsValueMap()
	inner["in"] = cty.NullVal(inner["in"].Type())
	nulls["blist"] = cty.ListVal([]cty.Value{cty.ObjectVal(inner)})
	for _, name := range []string{"bset", "bmap", "bgroup", "bsingle"} {
		nulls[name] = cty.NullVal(nulls[name].Type())
	}
	got := NormalizeFromLegacy(schema, cty.ObjectVal(nulls).Mark("m"))
	got, marks := got.Unmark()
	if want := value(t, schema, `blist=[{req="a"}]`); !got.RawEquals(want) {
		t.Errorf("\n got %#v\nwant %#v", got, want)
	}
	if len(marks) != 1 {
		t.Error("the mark is lost")
	}
}

func TestReplacePaths(t *testing.T) {
	schema := testSchema()
	prior := value(t, schema, `opt="a", oc="b", tags={k="1"}, blist=[{req="x"}]`)
	planned := value(t, schema, `opt="z", oc="b", comp=unknown, tags={k="2"}, blist=[{req="x"}, {req="y"}]`)
	zero, one := cty.NumberIntVal(0), cty.NumberIntVal(1)
	tests := []struct {
		path          cty.Path
		kept, bad, wo bool
	}{
		{cty.GetAttrPath("opt"), true, false, false},
		{cty.GetAttrPath("oc"), false, false, false},
		{cty.GetAttrPath("comp"), true, false, false},
		{cty.GetAttrPath("wo"), true, false, true},
		{cty.GetAttrPath("tags").Index(cty.StringVal("k")), true, false, false},
		{cty.GetAttrPath("blist").Index(zero).GetAttr("req"), false, false, false},
		{cty.GetAttrPath("blist").Index(one).GetAttr("req"), true, false, false},
		{cty.GetAttrPath("nsingle").GetAttr("req"), false, false, false},
		{cty.GetAttrPath("nothing"), false, true, false},
	}
	for _, tc := range tests {
		kept, wo, errs := ReplacePaths(schema, prior, planned, []cty.Path{tc.path})
		if (len(kept) == 1) != tc.kept || (len(errs) == 1) != tc.bad || wo != tc.wo {
			t.Errorf("%#v: kept %v, write-only %v, errors %v", tc.path, kept, wo, errs)
		}
	}
	if kept, _, _ := ReplacePaths(schema, value(t, schema, "null"), planned,
		[]cty.Path{cty.GetAttrPath("opt")}); len(kept) > 0 {
		t.Error("a new object is replaced")
	}
}

// BenchmarkProposedSet measures the time for sets of several sizes, which must grow in proportion
// to the size.
func BenchmarkProposedSet(b *testing.B) {
	schema := testSchema()
	elem := schema.BlockTypes["bset"].Block.ImpliedType()
	for _, n := range []int{1000, 8000} {
		set := func(computed cty.Value) cty.Value {
			vals := make([]cty.Value, n)
			for i := range vals {
				vals[i] = cty.ObjectVal(map[string]cty.Value{"req": cty.StringVal(fmt.Sprint(i)),
					"opt": cty.NullVal(cty.String),
					"oc":  computed, "comp": computed})
			}
			obj := schema.EmptyValue().AsValueMap()
			obj["bset"] = cty.SetVal(vals)
			return cty.ObjectVal(obj)
		}
		prior, config := set(cty.StringVal("c")), set(cty.NullVal(elem.AttributeType("oc")))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if got := Proposed(schema, prior, config); got.GetAttr("bset").LengthInt() != n {
					b.Fatal("wrong result")
				}
			}
		})
	}
}
