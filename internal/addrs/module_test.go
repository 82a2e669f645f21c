package addrs

import (
	"slices"
	"testing"
)

func TestModule(t *testing.T) {
	root, net := Module(""), Module("").Child("net")
	deep := net.Child("subnets")
	if !root.IsRoot() || net.IsRoot() {
		t.Error("only the empty path is the root module")
	}
	if parent, name := deep.Parent(); parent != net || name != "subnets" {
		t.Errorf("the parent of %q is %q, called %q", deep, parent, name)
	}
	if parent, name := net.Parent(); parent != root || name != "net" {
		t.Errorf("the parent of %q is %q, called %q", net, parent, name)
	}
	if names := deep.Names(); !slices.Equal(names, []string{"net", "subnets"}) {
		t.Errorf("the names in %q are %q", deep, names)
	}
	if names := root.Names(); len(names) != 0 {
		t.Errorf("the root module has the names %q", names)
	}
	if deep.String() != "module.net.module.subnets" || deep.UnkeyedInstance() != "module.net.module.subnets" {
		t.Errorf("the address of %q is %q", string(deep), deep)
	}
}

// TestContains checks that a module contains the modules below it, but not modules whose names
// merely start with its name.
func TestContains(t *testing.T) {
	for _, test := range []struct {
		outer, inner string
		want         bool
	}{
		{"", "", true},
		{"", "module.a", true},
		{"module.a", "", false},
		{"module.a", "module.a", true},
		{"module.a", "module.a.module.b", true},
		{"module.a", "module.ab", false},
		{"module.a.module.b", "module.a", false},
	} {
		outer, inner := ModuleInstance(test.outer), ModuleInstance(test.inner)
		if outer.Contains(inner) != test.want || outer.Module().Contains(inner.Module()) != test.want {
			t.Errorf("%q contains %q: %v as instances, %v as modules; want %v", outer, inner,
				outer.Contains(inner), outer.Module().Contains(inner.Module()), test.want)
		}
	}
	for inner, want := range map[ModuleInstance]bool{
		"module.a[0]":           true,
		"module.a[0].module.b":  true,
		"module.a":              false,
		"module.a[1]":           false,
		`module.a["0"]`:         false,
		"module.a[00].module.b": false,
	} {
		if got := ModuleInstance("module.a[0]").Contains(inner); got != want {
			t.Errorf("module.a[0] contains %s: %v", inner, got)
		}
	}
}

// TestSteps checks that Steps parses keys that contain the characters that separate steps.
func TestSteps(t *testing.T) {
	steps := []Step{{Name: "a"}, {"b", IntKey(12)}, {"c", StringKey(`x"].module.y["`)}, {"d", StringKey("${1}\n\\")},
		{"e", StringKey("ü.")}, {"f", UnknownKey}}
	m := RootInstance
	for _, step := range steps {
		parent := m
		m = m.Child(step.Name, step.Key)
		if got, last := m.Parent(); got != parent || last != step {
			t.Errorf("the parent of %s is %s and its last step %v", m, got, last)
		}
	}
	if got := m.Steps(); !slices.Equal(got, steps) {
		t.Errorf("the steps of %s are %v", m, got)
	}
	if m.Module() != "a.b.c.d.e.f" {
		t.Errorf("the module of %s is %q", m, m.Module())
	}
}
