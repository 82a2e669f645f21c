package fleet

import (
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
)

func TestContinues(t *testing.T) {
	allowed := map[plans.Action][]plans.Action{
		plans.Create:           {plans.Create, plans.DeleteThenCreate, plans.CreateThenDelete},
		plans.Update:           {plans.Update},
		plans.Delete:           {plans.Delete},
		plans.DeleteThenCreate: {plans.DeleteThenCreate, plans.CreateThenDelete, plans.Create, plans.Delete},
		plans.CreateThenDelete: {plans.DeleteThenCreate, plans.CreateThenDelete, plans.Create, plans.Delete},
	}
	for approved, list := range allowed {
		for left := range allowed {
			want := false
			for _, a := range list {
				want = want || a == left
			}
			if got := continues(approved, left); got != want {
				t.Errorf("%s continues %s: %v", left, approved, got)
			}
		}
	}
}

// changed returns a plan with the given changes, each written as "ADDRESS ACTION VALUE". The value
// ? is unknown.
func changed(t *testing.T, lines ...string) *plans.Plan {
	t.Helper()
	p := &plans.Plan{Changes: &plans.Changes{}}
	for _, line := range lines {
		words := strings.Fields(line)
		name, deposed, _ := strings.Cut(words[0], "#")
		addr, err := addrs.ParseInstanceText(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &plans.InstanceChange{Addr: addr, Deposed: addrs.DeposedKey(deposed), Before: cty.EmptyObjectVal,
			After: cty.NullVal(cty.DynamicPseudoType)}
		for _, a := range []plans.Action{plans.NoOp, plans.Create, plans.Update, plans.Delete, plans.DeleteThenCreate, plans.Forget} {
			if a.String() == words[1] {
				c.Action = a
			}
		}
		if len(words) > 2 {
			v := cty.StringVal(words[2])
			if words[2] == "?" {
				v = cty.UnknownVal(cty.String)
			}
			c.After = cty.ObjectVal(map[string]cty.Value{"v": v})
		}
		p.Changes.Instances = append(p.Changes.Instances, c)
	}
	p.Changes.Sort()
	return p
}

func TestWithin(t *testing.T) {
	create, update, remove, replace, none := plans.Create.String(), plans.Update.String(), plans.Delete.String(),
		plans.DeleteThenCreate.String(), plans.NoOp.String()
	for _, c := range []struct {
		name           string
		approved, left []string
		want           string
	}{
		{"the same", []string{"a.x " + create + " 1"}, []string{"a.x " + create + " 1"}, ""},
		{"a part", []string{"a.x " + create + " 1", "a.y " + update + " 2"}, []string{"a.x " + none, "a.y " + update + " 2"}, ""},
		{"what became known", []string{"a.x " + create + " ?"}, []string{"a.x " + create + " 1"}, ""},
		{"another value", []string{"a.x " + create + " 1"}, []string{"a.x " + create + " 2"}, `a.x: .v: was "1", but now "2"`},
		{"no longer known", []string{"a.x " + create + " 1"}, []string{"a.x " + create + " ?"}, "a.x: "},
		{"half created", []string{"a.x " + create + " 1"}, []string{"a.x " + replace + " 1"}, ""},
		{"half replaced", []string{"a.x " + replace + " 1"}, []string{"a.x " + create + " 1", "a.x#0000 " + remove}, ""},
		{"an old deposed object", []string{"a.x " + update + " 1"}, []string{"a.x#0000 " + remove}, "a.x: " + remove + " was not planned"},
		{"a new change", []string{"a.x " + create + " 1"}, []string{"a.y " + create + " 1"}, "a.y: " + create + " was not planned"},
		{"another action", []string{"a.x " + update + " 1"}, []string{"a.x " + remove},
			"a.x: the planned action was " + update + ", but it is now " + remove},
	} {
		err := within(changed(t, c.approved...), changed(t, c.left...))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestContradictions(t *testing.T) {
	text, secret := cty.StringVal, cty.StringVal("hush").Mark(marks.Sensitive)
	one := func(v cty.Value) map[string]cty.Value { return map[string]cty.Value{"o": v} }
	for _, c := range []struct {
		name            string
		planned, actual map[string]cty.Value
		want            string
	}{
		{"equal", one(text("a")), one(text("a")), ""},
		{"nothing planned", nil, one(text("a")), ""},
		{"became known", one(cty.UnknownVal(cty.String)), one(text("a")), ""},
		{"known in part", one(cty.ObjectVal(map[string]cty.Value{"a": text("x"), "b": cty.UnknownVal(cty.String)})),
			one(cty.ObjectVal(map[string]cty.Value{"a": text("x"), "b": text("y")})), ""},
		{"other", one(text("a")), one(text("b")), `output "o" of r: was "a", but now "b"`},
		{"other number", one(cty.NumberIntVal(1)), one(cty.NumberIntVal(2)), `output "o" of r: was 1, but now 2`},
		{"other type", one(cty.UnknownVal(cty.String)), one(cty.EmptyObjectVal),
			`output "o" of r: wrong final value type: the type must be string`},
		{"against what is known of it", one(cty.UnknownVal(cty.String).Refine().StringPrefixFull("vpc-").NewValue()),
			one(text("net-1")), `output "o" of r: "net-1" is not one of the values that the plan allows: begins with "vpc-"`},
		{"outside of a range", one(cty.UnknownVal(cty.Number).Refine().NumberRangeLowerBound(cty.NumberIntVal(2), true).NewValue()),
			one(cty.NumberIntVal(1)), `output "o" of r: 1 is not one of the values that the plan allows: at least 2`},
		{"too many elements", one(cty.UnknownVal(cty.List(cty.String)).Refine().CollectionLengthUpperBound(1).NewValue()),
			one(cty.ListVal([]cty.Value{text("a"), text("b")})), "of the values that the plan allows: at most 1 element"},
		{"null was planned", one(cty.NullVal(cty.DynamicPseudoType)), nil, ""},
		{"no longer null", one(cty.NullVal(cty.DynamicPseudoType)), one(text("a")), `output "o" of r: was null, but now "a"`},
		{"null", one(text("a")), nil, `output "o" of r: was "a", but now null`},
		{"became null", one(cty.UnknownVal(cty.String)), nil, ""},
		{"became null, which was excluded", one(cty.UnknownVal(cty.String).RefineNotNull()), nil,
			`output "o" of r: null is not one of the values that the plan allows: not null`},
		{"in a part", one(cty.ObjectVal(map[string]cty.Value{"a": text("x")})),
			one(cty.ObjectVal(map[string]cty.Value{"a": text("y")})), `output "o" of r: .a: was "x", but now "y"`},
		{"secret", one(secret), one(secret), ""},
	} {
		err := contradictions("r", c.planned, c.actual)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	err := contradictions("r", one(secret), one(text("other").Mark(marks.Sensitive)))
	if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a sensitive output is shown or not compared: %v", err)
	}
}

// TestLosses checks which objects a plan for the rest of an approved plan destroys beyond it.
func TestLosses(t *testing.T) {
	create, update, remove, replace, forget := plans.Create.String(), plans.Update.String(), plans.Delete.String(),
		plans.DeleteThenCreate.String(), plans.Forget.String()
	for _, c := range []struct {
		name           string
		approved, left []string
		before, after  []string // tainted objects in the state before the approved plan, and in the present one
		want           string
	}{
		{"half created", []string{"a.x " + create}, []string{"a.x " + replace}, nil, []string{"a.x"}, "a.x its creation failed"},
		{"created, and must be replaced", []string{"a.x " + create}, []string{"a.x " + replace}, nil, nil, "a.x it was created"},
		{"not begun", []string{"a.x " + replace, "a.y " + remove}, []string{"a.x " + replace, "a.y " + remove}, nil, nil, ""},
		{"half replaced", []string{"a.x " + replace}, []string{"a.x " + replace}, nil, []string{"a.x"}, "a.x its creation failed"},
		{"a tainted object, not begun", []string{"a.x " + replace}, []string{"a.x " + replace}, []string{"a.x"}, []string{"a.x"}, ""},
		{"the old object of a replacement", []string{"a.x " + replace}, []string{"a.x#0000 " + remove}, nil, nil, ""},
		{"a new object that was deposed", []string{"a.x " + replace}, []string{"a.x#0000 " + remove}, nil, []string{"a.x#0000"},
			"a.x (deposed object 0000) its creation failed"},
		{"nothing destroyed", []string{"a.x " + update, "a.y " + create}, []string{"a.x " + update, "a.z " + forget}, nil, nil, ""},
		{"in a module", []string{`module.m["k"].a.x[1] ` + create}, []string{`module.m["k"].a.x[1] ` + replace}, nil,
			[]string{`module.m["k"].a.x[1]`}, `module.m["k"].a.x[1] its creation failed`},
	} {
		approved, left := changed(t, c.approved...), changed(t, c.left...)
		approved.Prior, left.Prior = taint(t, c.before), taint(t, c.after)
		var got []string
		for _, l := range losses("r", approved, left) {
			got = append(got, l.Object+" "+l.Why)
		}
		if text := strings.Join(got, "; "); (text == "") != (c.want == "") || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
	}
	if err := notAgreed([]Loss{{"r", "a.x", "w"}}, []Loss{{"r", "a.x", "w"}, {"r", "a.y", "w"}}, ""); err != nil {
		t.Error(err)
	}
	if err := notAgreed([]Loss{{"r", "a.x", "w"}}, []Loss{{"s", "a.x", "w"}}, ""); err == nil || !strings.Contains(err.Error(), "r: a.x") {
		t.Errorf("a loss in another root module was not agreed to: %v", err)
	}
}

// taint returns a state with tainted objects.
func taint(t *testing.T, objects []string) *states.State {
	t.Helper()
	st := states.New()
	for _, text := range objects {
		name, deposed, _ := strings.Cut(text, "#")
		addr, err := addrs.ParseInstanceText(name)
		if err != nil {
			t.Fatal(err)
		}
		object := &states.Object{Status: states.Tainted}
		if deposed == "" {
			st.SetCurrent(addr, object, addrs.ProviderInstance{})
		} else {
			st.SetDeposed(addr, addrs.DeposedKey(deposed), object, addrs.ProviderInstance{})
		}
	}
	return st
}
