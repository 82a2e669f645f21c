package planview

import (
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"

	"github.com/zclconf/go-cty/cty"
)

// TestWithoutKey checks where an expression replaces an instance key, and where the key stays
// because it may be something else.
func TestWithoutKey(t *testing.T) {
	for _, test := range []struct {
		key        addrs.InstanceKey
		text, want string
	}{
		{addrs.IntKey(1), `"web-1"`, `"web-1"`},
		{addrs.StringKey("a"), `"a"`, `"${each.key}"`},
		{addrs.StringKey("prod"), `"web.prod.example.com"`, `"web.${each.key}.example.com"`},
		{addrs.StringKey("prod"), `"production"`, `"production"`},
		{addrs.StringKey("443"), `"443"`, `"443"`},
		{addrs.NoKey, `"web"`, `"web"`},
	} {
		got := withoutKey([]Field{{After: test.text}}, test.key)
		if got[0].After != test.want {
			t.Errorf("%s with key %s: got %s, want %s", test.text, test.key, got[0].After, test.want)
		}
	}
}

// TestGroups checks which changes of instances form a group, and how their values are shown.
func TestGroups(t *testing.T) {
	type member struct{ key, image string }
	for name, test := range map[string]struct {
		members []member
		want    string
	}{
		"equal":                {[]member{{"a", "x"}, {"b", "x"}}, `a b: "x"`},
		"a key by chance":      {[]member{{"mail", "web:1"}, {"web", "web:1"}}, `mail web: "web:1"`},
		"different by the key": {[]member{{"a", "x-a"}, {"b", "x-b"}}, `a b: "x-${each.key}"`},
		"different":            {[]member{{"a", "x"}, {"b", "y"}}, `a: "x"; b: "y"`},
		"an address": {[]member{{"0", "10.0.0.0/16"}, {"1", "10.0.1.0/16"}, {"10", "10.0.10.0/16"}},
			`0 1 10: "10.0.${each.key}.0/16"`},
		"numbers alone":     {[]member{{"8", "8"}, {"9", "9"}}, `8 9: "${each.key}"`},
		"numbers in a word": {[]member{{"1", "x1y"}, {"2", "x2y"}}, `1 2: "x${each.key}y"`},
		"other numbers":     {[]member{{"1", "x-2"}, {"2", "x-3"}}, `1: "x-2"; 2: "x-3"`},
		"a longer number":   {[]member{{"1", "x-11"}, {"2", "x-22"}}, `1: "x-11"; 2: "x-22"`},
		"one number by chance": {[]member{{"1", "1.0"}, {"2", "1.0"}, {"3", "1.3"}, {"4", "1.4"}},
			`1 2: "1.0"; 3 4: "1.${each.key}"`},
		"both": {[]member{{"a", "x-a"}, {"b", "x-a"}, {"c", "x-c"}}, `a b: "x-a"; c: "x-c"`},
	} {
		t.Run(name, func(t *testing.T) {
			sch := &providers.ResourceSchema{Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{
				"image": {Type: cty.String, Optional: true}}}}
			plan := &plans.Plan{Changes: &plans.Changes{}, Prior: states.New()}
			for _, m := range test.members {
				c := &plans.InstanceChange{Action: plans.Create, Before: cty.NullVal(sch.Block.ImpliedType()),
					After: cty.ObjectVal(map[string]cty.Value{"image": cty.StringVal(m.image)})}
				c.Addr.Resource = addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "web"}
				c.Addr.Key = addrs.StringKey(m.key)
				plan.Changes.Instances = append(plan.Changes.Instances, c)
			}
			p := New(&Source{Plan: plan, Schema: func(addrs.Provider, addrs.Resource) *providers.ResourceSchema { return sch }},
				Options{Spread: 20})
			var groups []string
			for _, g := range p.Groups() {
				var keys []string
				for _, c := range g.Changes {
					key, _ := c.Addr.Key.IsString()
					keys = append(keys, key)
				}
				groups = append(groups, strings.Join(keys, " ")+": "+g.Fields[0].After)
			}
			if got := strings.Join(groups, "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestGroupsOfReplacements checks that replacements are in one group even if old values of
// attributes that become unknown differ. The group shows such a value only if all members have
// it.
func TestGroupsOfReplacements(t *testing.T) {
	sch := &providers.ResourceSchema{Block: &configschema.Block{Attributes: map[string]*configschema.Attribute{
		"id": {Type: cty.String, Computed: true}, "zone": {Type: cty.String, Computed: true}}}}
	plan := &plans.Plan{Changes: &plans.Changes{}, Prior: states.New()}
	for i, id := range []string{"i-7", "i-3", "i-9"} {
		c := &plans.InstanceChange{Action: plans.DeleteThenCreate,
			Before: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id), "zone": cty.StringVal("north")}),
			After: cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String),
				"zone": cty.UnknownVal(cty.String)})}
		c.Addr.Resource = addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "web"}
		c.Addr.Key = addrs.IntKey(i)
		plan.Changes.Instances = append(plan.Changes.Instances, c)
	}
	groups := New(&Source{Plan: plan, Schema: func(addrs.Provider, addrs.Resource) *providers.ResourceSchema { return sch }},
		Options{Spread: 20}).Groups()
	if len(groups) != 1 || len(groups[0].Changes) != 3 {
		t.Fatalf("%d groups", len(groups))
	}
	if lines := Text(groups[0].Fields); len(lines) != 1 || lines[0].Text != `known after apply: id, zone (was "north")` {
		t.Errorf("got %+v", lines)
	}
}
