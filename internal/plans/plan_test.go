package plans

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

func address(t *testing.T, text string) addrs.AbsInstance {
	t.Helper()
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// TestActions checks the names of the actions in JSON output, and which actions replace or destroy
// an object.
func TestActions(t *testing.T) {
	for action, want := range map[Action]struct {
		names              string
		replaces, destroys bool
	}{
		NoOp: {names: "no-op"}, Create: {names: "create"}, Read: {names: "read"}, Update: {names: "update"},
		DeleteThenCreate: {"delete create", true, true}, CreateThenDelete: {"create delete", true, true},
		Delete: {names: "delete", destroys: true}, Forget: {names: "forget"},
		ForgetThenCreate: {names: "forget create", replaces: true}, Invoke: {names: "invoke"},
	} {
		if got := strings.Join(action.Names(), " "); got != want.names {
			t.Errorf("the names of %s are %q, want %q", action, got, want.names)
		}
		if got := action.String(); got != strings.ReplaceAll(want.names, " ", "-") {
			t.Errorf("%q is written as %q", want.names, got)
		}
		if next := action + 1; !action.Valid() || next.Valid() != (action != Invoke) {
			t.Errorf("%s: Valid is %t, and %t for the next action", action, action.Valid(), next.Valid())
		}
		if action.IsReplace() != want.replaces {
			t.Errorf("%s: IsReplace is %t", action, !want.replaces)
		}
		plan := &Plan{Changes: &Changes{Instances: []*InstanceChange{{Action: NoOp}, {Action: action}}}}
		if plan.Destroys() != want.destroys {
			t.Errorf("%s: Destroys is %t", action, !want.destroys)
		}
	}
}

// TestInstance checks that sorted changes are found by their object, and that a deposed object is
// not mistaken for the current one.
func TestInstance(t *testing.T) {
	a0, a10, a2, b := address(t, "t.a[0]"), address(t, "t.a[10]"), address(t, "t.a[2]"), address(t, "module.m.t.b")
	c := &Changes{
		Instances: []*InstanceChange{{Addr: b}, {Addr: a10}, {Addr: a2, Deposed: "0f"}, {Addr: a2}, {Addr: a0, Deposed: "01"}},
		Outputs:   []*OutputChange{{Name: "z"}, {Name: "a"}},
	}
	c.Sort()
	var order []string
	for _, change := range c.Instances {
		order = append(order, change.Addr.String()+" "+string(change.Deposed))
	}
	for _, o := range c.Outputs {
		order = append(order, o.Name)
	}
	want := []string{"t.a[0] 01", "t.a[2] ", "t.a[2] 0f", "t.a[10] ", "module.m.t.b ", "a", "z"}
	if !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
	for _, test := range []struct {
		addr    addrs.AbsInstance
		deposed addrs.DeposedKey
		found   bool
	}{
		{a2, addrs.NotDeposed, true}, {a2, "0f", true}, {a2, "01", false}, {b, addrs.NotDeposed, true},
		{a0, addrs.NotDeposed, false}, {a0, "01", true}, {address(t, "t.a"), addrs.NotDeposed, false},
	} {
		got := c.Instance(test.addr, test.deposed)
		if found := got != nil; found != test.found || found && (got.Addr != test.addr || got.Deposed != test.deposed) {
			t.Errorf("%s %q: found %v", test.addr, test.deposed, got)
		}
	}
}

func TestOutputs(t *testing.T) {
	var c Changes
	if c.Output("url") != nil {
		t.Error("the zero value has an output")
	}
	url := &OutputChange{Name: "url", Action: Create}
	c.AddOutput(url)
	c.AddOutput(&OutputChange{Name: "id"})
	if c.Output("url") != url || c.Output("none") != nil || len(c.Outputs) != 2 {
		t.Errorf("the outputs are %v", c.Outputs)
	}
}

// TestBecause checks the text that explains a deferral: its cause, and what happens to objects in
// the state.
func TestBecause(t *testing.T) {
	chain := []DeferralStep{{"cloud_vpc.main.id", "main.tf:3"}, {"var.ids", ""}, {"for_each of cloud_net.a", "main.tf:9"}}
	const unrefreshed = "stay as they are and were not refreshed"
	for want, d := range map[string]Deferred{
		"its instances are known only after apply: cloud_vpc.main.id (main.tf:3) → var.ids → " +
			"for_each of cloud_net.a (main.tf:9)": {Why: DeferredCount, Chain: chain},
		"it depends on cloud_net.a, which is deferred": {Why: DeferredPrereq, Via: "cloud_net.a", Chain: chain},
		"something that it needs does not exist yet; the existing object stays as it is and was not refreshed": {
			Why: DeferredAbsent, Kept: 1},
		"its provider can't plan it yet; the 3 existing objects " + unrefreshed: {Why: DeferredOther, Kept: 3},
	} {
		if got := d.Because(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, why := range []DeferReason{DeferredCount, DeferredConfig, DeferredProvider, DeferredAbsent, DeferredPrereq,
		DeferredOther} {
		if why.Text() == "" {
			t.Errorf("the reason %q has no text", why)
		}
	}
}

// TestDeferredResources checks that a resource is in the result only if none of its instances has a
// change in the plan.
func TestDeferredResources(t *testing.T) {
	change := func(text string, alone bool) *Deferred {
		return &Deferred{InstanceChange: InstanceChange{Addr: address(t, text)}, Alone: alone}
	}
	p := &Plan{Deferred: []*Deferred{change("t.b", false), change("t.a[1]", true), change("module.m[0].t.c", false)}}
	SortDeferred(p.Deferred)
	var order, deferred []string
	for _, d := range p.Deferred {
		order = append(order, d.Addr.String())
	}
	for r := range p.DeferredResources() {
		deferred = append(deferred, r.String())
	}
	slices.Sort(deferred)
	if want := []string{"t.a[1]", "t.b", "module.m[0].t.c"}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want %q", order, want)
	}
	if want := []string{"module.m.t.c", "t.b"}; !slices.Equal(deferred, want) {
		t.Errorf("deferred are %q, want %q", deferred, want)
	}
	for _, test := range []struct {
		plan *Plan
		want bool
	}{
		{p, true}, {&Plan{}, false}, {&Plan{DeferredModules: []addrs.Module{addrs.Module("").Child("m")}}, true},
	} {
		if test.plan.Defers() != test.want {
			t.Errorf("Defers is %t", !test.want)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	p := &Plan{Variables: map[string]cty.Value{
		"zones": cty.ListVal([]cty.Value{cty.StringVal("a"), cty.UnknownVal(cty.String)}),
		"name":  cty.StringVal("x"), "none": cty.NullVal(cty.String), "ids": cty.UnknownVal(cty.List(cty.String)),
	}}
	if got, want := p.UnknownVariables(), []string{"ids", "zones"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPast checks the texts about an earlier time and about what a plan can't bring back.
func TestPast(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 30, 0, 0, time.FixedZone("CET", 3600))
	for want, p := range map[string]Past{
		"at 2026-03-01T12:30:00Z":                             {At: at},
		"at the end of the run 4f1c0a (2026-03-01T12:30:00Z)": {At: at, Run: "4f1c0a"},
		"before the run 4f1c0a":                               {At: at, Undo: "4f1c0a"},
		"before the last run":                                 {At: at, Undo: "last"},
	} {
		if got := p.When(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p := &Past{Lost: []Lost{
		{Addr: address(t, "t.b"), Why: LostConfig},
		{Addr: address(t, "t.a"), Why: LostIdentity, Attributes: []string{"arn", "id"}},
		{Addr: address(t, "t.a"), Why: LostAttributes, Attributes: []string{"tags"}},
	}}
	p.Sort()
	var got []string
	for _, l := range p.Lost {
		got = append(got, l.Addr.String()+" "+l.Text())
	}
	want := []string{
		"t.a may differ in these attributes: tags",
		"t.a will be a new object. These attributes get different values: arn, id",
		"t.b has changed since and stays as it is now, because the configuration does not declare it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
