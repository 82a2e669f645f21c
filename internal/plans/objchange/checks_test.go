package objchange

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
)

// errorsText joins errors as "path: text". It returns "" if there are no errors.
func errorsText(errs []error) string {
	var out []string
	for _, err := range errs {
		var b strings.Builder
		for _, step := range err.(cty.PathError).Path {
			switch step := step.(type) {
			case cty.GetAttrStep:
				b.WriteString("." + step.Name)
			case cty.IndexStep:
				b.WriteString("[" + strings.Trim(render(step.Key, false), `"`) + "]")
			}
		}
		out = append(out, b.String()+": "+err.Error())
	}
	return strings.Join(out, "; ")
}

func TestAssertPlanValid(t *testing.T) {
	tests := []struct{ rule, prior, config, planned, want string }{
		{"as configured", `null`, `opt="a"`, `opt="a"`, ""},
		{"computed may be anything", `null`, ``, `comp=unknown, oc="x", num=1`, ""},
		{"prior value kept instead of configured", `opt="a"`, `opt="A"`, `opt="a"`, ""},
		{"prior value kept though no longer configured", `opt="a"`, ``, `opt="a"`,
			`.opt: cty.StringVal("a") was planned for an attribute that is not computed`},
		{"computed against config", `null`, `comp="mine"`, `comp="other"`, ""},
		{"something else", `null`, `opt="a"`, `opt="b"`,
			`.opt: cty.StringVal("b") was planned, but cty.StringVal("a") is configured`},
		{"neither config nor prior", `opt="p"`, `opt="a"`, `opt="b"`,
			`.opt: cty.StringVal("b") was planned, but cty.StringVal("a") is configured and cty.StringVal("p") was ` +
				`there before`},
		{"configured optional computed", `null`, `oc="a"`, `oc="b"`,
			`.oc: cty.StringVal("b") was planned, but cty.StringVal("a") is configured`},
		{"unknown stays unknown", `null`, `opt=unknown`, `opt=unknown`, ""},
		{"refinement doesn't matter", `null`, `opt=prefixed`, `opt=unknown`, ""},
		{"unknown becomes prior", `opt="p"`, `opt=unknown`, `opt="p"`, ""},
		{"a guess", `null`, `opt=unknown`, `opt="g"`,
			`.opt: cty.StringVal("g") was planned, but cty.UnknownVal(cty.String) is configured`},
		{"unknown for known", `null`, `opt="a"`, `opt=unknown`,
			`.opt: cty.UnknownVal(cty.String) was planned, but cty.StringVal("a") is configured`},
		{"write-only is null", `null`, `wo="w"`, ``, ""},
		{"write-only planned as configured", `null`, `wo="w"`, `wo="w"`,
			`.wo: planned value for a write-only attribute`},
		{"write-only planned", `null`, `wo="w"`, `wo="x"`, `.wo: planned value for a write-only attribute`},
		{"sensitive by schema", `null`, `secret="HIDDEN"`, `secret="x"`,
			`.secret: a sensitive value was planned that is not the configured one`},
		{"sensitive by mark", `null`, `opt=hidden`, `opt="x"`,
			`.opt: a sensitive value was planned that is not the configured one`},
		{"absence", `null`, ``, `null`, `: planned to be absent, but the configuration has it`},
		{"existence", ``, `null`, ``, `: planned to exist, but the configuration does not have it`},
		{"nested single", `null`, `nsingle={req="a"}`, `nsingle={req="a", comp="c"}`, ""},
		{"nested single wrong", `null`, `nsingle={req="a"}`, `nsingle={req="b"}`,
			`.nsingle.req: cty.StringVal("b") was planned, but cty.StringVal("a") is configured`},
		{"nested list", `null`, `nlist=[{req="a"}]`, `nlist=[{req="a", comp=unknown}]`, ""},
		{"nested list count", `null`, `nlist=[{req="a"}]`, `nlist=[]`,
			`.nlist: the numbers of elements differ: 0 planned, 1 configured`},
		{"nested unknown", `null`, `nlist=[{req="a"}]`, `nlist=unknown`,
			`.nlist: planned unknown value for a known configuration`},
		{"nested map", `null`, `nmap={a={req="a"}}`, `nmap={b={req="a"}}`,
			`.nmap: map key "b" is planned, but not configured; .nmap: map key "a" is configured, but not planned`},
		{"nested set", `null`, `nset=[{req="a"}, {req="b"}]`,
			`nset=[{req="b", comp=unknown}, {req="a", comp=unknown}]`, ""},
		{"nested set as before", `nset=[{req="A", opt="o"}]`, `nset=[{req="a"}]`, `nset=[{req="A", opt="o"}]`, ""},
		{"nested set wrong", `null`, `nset=[{req="a"}]`, `nset=[{req="b"}]`,
			`.nset: planned the set element cty.ObjectVal(`},
		{"nested from provider", `null`, ``, `noc={req="a"}`, ""},
		{"blocks", `null`, `blist=[{req="a"}]`, `blist=[{req="a", comp="c"}]`, ""},
		{"block attribute", `null`, `blist=[{req="a"}]`, `blist=[{req="b"}]`,
			`.blist[cty.NumberIntVal(0)].req: cty.StringVal("b") was planned, but cty.StringVal("a") is configured`},
		{"block attribute as before", `blist=[{req="A"}]`, `blist=[{req="a"}]`, `blist=[{req="A"}]`, ""},
		{"block count", `null`, ``, `blist=[{req="a"}]`,
			`.blist: the numbers of blocks differ: 1 planned, 0 configured`},
		{"blocks in blocks", `null`, `blist=[{req="a"}]`, `blist=[{req="a", in=[{req="x"}]}]`,
			`.blist[cty.NumberIntVal(0)].in: the numbers of blocks differ: 1 planned, 0 configured`},
		{"unknown blocks", `null`, `blist=unknown`, `blist=unknown`, ""},
		{"unknown blocks resolved", `null`, `blist=unknown`, `blist=[]`, `.blist: planned blocks where their number`},
		{"blocks made unknown", `null`, `blist=[{req="a"}]`, `blist=unknown`, `.blist: blocks planned as unknown`},
		{"set of blocks is trusted", `null`, `bset=[{req="a"}]`, `bset=[{req="b"}, {req="c"}]`, ""},
		{"map of blocks", `null`, `bmap={a={req="a"}}`, `bmap={}`,
			`.bmap: block key "a" is configured, but not planned`},
		{"single block", `null`, `bsingle={req="a"}`, ``,
			`.bsingle: planned to be absent, but the configuration has it`},
	}
	schema := testSchema()
	for _, tc := range tests {
		t.Run(tc.rule, func(t *testing.T) {
			got := errorsText(AssertPlanValid(schema, value(t, schema, tc.prior), value(t, schema, tc.config),
				value(t, schema, tc.planned)))
			if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
			if strings.Contains(got, "HIDDEN") {
				t.Errorf("shows a sensitive value: %s", got)
			}
		})
	}
	nulls := value(t, schema, "").AsValueMap()
	nulls["blist"] = cty.NullVal(nulls["blist"].Type())
	got := errorsText(AssertPlanValid(schema, value(t, schema, "null"), value(t, schema, ""), cty.ObjectVal(nulls)))
	if !strings.Contains(got, "without blocks the list has to be empty") {
		t.Errorf("null blocks: %q", got)
	}
}

func TestAssertCompatible(t *testing.T) {
	tests := []struct{ rule, planned, actual, want string }{
		{"equal", `opt="a"`, `opt="a"`, ""},
		{"known differs", `opt="a"`, `opt="b"`, `.opt: was cty.StringVal("a"), but now cty.StringVal("b")`},
		{"became null", `opt="a"`, ``, `.opt: was cty.StringVal("a"), but now null`},
		{"was null", ``, `opt="a"`, `.opt: was null, but now cty.StringVal("a")`},
		{"unknown resolved", `comp=unknown, num=unknown`, `comp="c", num=2`, ""},
		{"unknown to null", `comp=unknown`, ``, ""},
		{"refinement kept", `opt=prefixed`, `opt="p-1"`, ""},
		{"refinement broken", `opt=prefixed`, `opt="q-1"`,
			`.opt: cty.StringVal("q-1") is not one of the values that the plan allows`},
		{"not null broken", `opt=prefixed`, ``,
			`.opt: cty.NullVal(cty.String) is not one of the values that the plan allows`},
		{"known to unknown", `opt="a"`, `opt=unknown`, `.opt: was known, but now unknown`},
		{"object gone", ``, `null`, `: was present, but now absent`},
		{"object appeared", `null`, ``, `: was absent, but now present`},
		{"sensitive", `secret="HIDDEN"`, `secret="x"`,
			`.secret: the value, which is sensitive, differs from the planned value`},
		{"marked", `opt=hidden`, `opt="x"`, `.opt: the value, which is sensitive, differs from the planned value`},
		{"map element", `tags={a="1"}`, `tags={b="1"}`,
			`.tags: element "a" has vanished; .tags: new element "b" has appeared`},
		{"map element unknown", `tags={a=unknown}`, `tags={a="1"}`, ""},
		{"list element", `seq=["a"]`, `seq=["a", "b"]`, `.seq: new element 1 has appeared`},
		{"list element gone", `seq=["a", "b"]`, `seq=["a"]`, `.seq: element 1 has vanished`},
		{"set grows", `names=["a"]`, `names=["a", "b"]`,
			`.names: the set element cty.StringVal("b") has appeared, which was not planned; .names: length changed ` +
				`from 1 to 2`},
		{"set shrinks by resolving", `names=["a", unknown]`, `names=["a"]`, ""},
		{"set loses a known element", `names=["a", "b"]`, `names=["a"]`,
			`.names: the planned set element cty.StringVal("b") has vanished`},
		{"set unknown element", `names=["a", unknown]`, `names=["a", "z"]`, ""},
		{"nested", `nlist=[{req="a", comp=unknown}]`, `nlist=[{req="a", comp="1"}]`, ""},
		{"nested differs", `nlist=[{req="a"}]`, `nlist=[{req="b"}]`,
			`.nlist[cty.NumberIntVal(0)].req: was cty.StringVal("a"), but now cty.StringVal("b")`},
		{"nested set", `nset=[{req="a", comp=unknown}]`, `nset=[{req="a", comp="1"}]`, ""},
		{"blocks", `blist=[{req="a", comp=unknown}]`, `blist=[{req="a", comp="1"}]`, ""},
		{"block count", `blist=[{req="a"}]`, ``, `.blist: block count changed from 1 to 0`},
		{"unknown blocks", `blist=unknown`, `blist=[{req="a"}, {req="b"}]`, ""},
		{"placeholder block", `blist=[{req=unknown, opt=unknown, oc=unknown, comp=unknown}]`, ``, ""},
		{"placeholder single block", `bsingle={req=unknown, opt=unknown, oc=unknown, comp=unknown}`, ``, ""},
		{"single block", `bsingle={req="a"}`, ``, `.bsingle: was present, but now absent`},
		{"set of blocks", `bset=[{req="a", comp=unknown}, {req="b"}]`, `bset=[{req="a", comp="1"}, {req="b"}]`, ""},
		{"set of blocks differs", `bset=[{req="a", comp=unknown}]`, `bset=[{req="x", comp="1"}]`,
			`.bset: the planned set element`},
		{"map of blocks", `bmap={a={req="a"}}`, `bmap={b={req="a"}}`,
			`.bmap: block key "a" has vanished; .bmap: new block key "b" has appeared`},
	}
	schema := testSchema()
	for _, tc := range tests {
		t.Run(tc.rule, func(t *testing.T) {
			got := errorsText(AssertCompatible(schema, value(t, schema, tc.planned), value(t, schema, tc.actual)))
			if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
			if strings.Contains(got, "HIDDEN") {
				t.Errorf("shows a sensitive value: %s", got)
			}
		})
	}
}

func TestWrongType(t *testing.T) {
	schema := &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"any": {Type: cty.DynamicPseudoType, Optional: true, Computed: true},
	}}
	obj := func(v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{"any": v}) }
	if got := errorsText(AssertCompatible(schema, obj(cty.UnknownVal(cty.Number)),
		obj(cty.StringVal("x")))); !strings.Contains(got, "wrong final value type: the type must be number") {
		t.Errorf("got %q", got)
	}
	if errs := AssertCompatible(schema, obj(cty.DynamicVal), obj(cty.StringVal("x"))); len(errs) > 0 {
		t.Errorf("a value of unknown type may become anything: %v", errs)
	}
}
