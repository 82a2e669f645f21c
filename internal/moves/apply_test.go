package moves

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// TestApply checks to which addresses moved blocks and implied moves take the objects of a state. A
// state is written as a list of addresses. The ID of each object is its original address.
func TestApply(t *testing.T) {
	const moved = "moved {\n  from = a.x\n  to   = a.y\n}\n"
	for name, test := range map[string]struct{ config, before, want, warning string }{
		"renamed":       {`resource "a" "y" {}` + "\n" + moved, "a.x", "a.y=a.x", ""},
		"nothing there": {`resource "a" "y" {}` + "\n" + moved, "a.z", "a.z=a.z", ""},
		"occupied":      {`resource "a" "y" {}` + "\n" + moved, "a.x a.y", "a.x=a.x a.y=a.y", "a.x"},
		"all instances": {"resource \"a\" \"y\" {\n  count = 2\n}\n" + moved, "a.x[0] a.x[1]",
			"a.y[0]=a.x[0] a.y[1]=a.x[1]", ""},
		"chain": {"resource \"a\" \"z\" {}\nmoved {\n  from = a.y\n  to   = a.z\n}\n" + moved, "a.x", "a.z=a.x", ""},
		"into an instance": {"resource \"a\" \"y\" {\n  for_each = { k = 1 }\n}\n" +
			"moved {\n  from = a.x\n  to   = a.y[\"k\"]\n}", "a.x", `a.y["k"]=a.x`, ""},
		"count added":   {"resource \"a\" \"x\" {\n  count = 1\n}", "a.x", "a.x[0]=a.x", ""},
		"count removed": {`resource "a" "x" {}`, "a.x[0] a.x[1]", "a.x=a.x[0] a.x[1]=a.x[1]", ""},
		"into a module": {"module \"m\" {\n  source = \"./m\"\n}\nmoved {\n  from = a.x\n  to   = module.m.a.x\n}",
			"a.x", "module.m.a.x=a.x", ""},
		"a whole module": {"module \"m\" {\n  source = \"./m\"\n}\nmoved {\n  from = module.o\n  to   = module.m\n}",
			"module.o.a.x module.o.a.y", "module.m.a.x=module.o.a.x module.m.a.y=module.o.a.y", ""},
		"no moves": {`resource "a" "x" {}`, "a.x", "a.x=a.x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := instances(t, test.before)
			var warnings tfdiags.Diagnostics
			after, results := Apply(load(t, test.config), before, warnings.Add)
			if results.Cycle != nil {
				t.Fatal(results.Cycle)
			}
			if got := listed(after); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := listed(before); got != listed(instances(t, test.before)) {
				t.Errorf("the given state was changed to %s", got)
			}
			text := ""
			for _, w := range warnings {
				text += w.Detail
			}
			if (text != "") != (test.warning != "") || !strings.Contains(text, test.warning) {
				t.Errorf("warnings %q, want %q", text, test.warning)
			}
		})
	}
}

func TestApplyCycle(t *testing.T) {
	_, results := Apply(load(t, "moved {\n  from = a.x\n  to   = a.y\n}\nmoved {\n  from = a.y\n  to   = a.x\n}"),
		instances(t, "a.x"), tfdiags.Drop)
	if results.Cycle == nil || !strings.Contains(results.Cycle.Error(), "Cyclic dependency") {
		t.Errorf("error %v", results.Cycle)
	}
}

// TestRename checks which objects `tofu state mv` moves within a state, and its errors.
func TestRename(t *testing.T) {
	for name, test := range map[string]struct{ before, source, dest, want, err string }{
		"resource":        {"a.x", "a.x", "a.y", "a.y=a.x", ""},
		"all instances":   {"a.x[0] a.x[1]", "a.x", "a.y", "a.y[0]=a.x[0] a.y[1]=a.x[1]", ""},
		"one instance":    {"a.x[0] a.x[1]", "a.x[1]", "a.y", "a.x[0]=a.x[0] a.y=a.x[1]", ""},
		"into a module":   {"a.x", "a.x", "module.m.a.x", "module.m.a.x=a.x", ""},
		"module":          {"module.m.a.x", "module.m", "module.n[0]", "module.n[0].a.x=module.m.a.x", ""},
		"not there":       {"a.x", "a.z", "a.y", "", "a.z"},
		"occupied":        {"a.x a.y", "a.x", "a.y", "", "a.y"},
		"another type":    {"a.x", "a.x", "b.x", "", "The type of a resource can't be changed."},
		"to a module":     {"a.x", "a.x", "module.m", "", "A module can only be moved to the address of a module"},
		"data and object": {"a.x", "a.x", "data.a.x", "", "The type of a resource can't be changed."},
	} {
		t.Run(name, func(t *testing.T) {
			st := instances(t, test.before)
			_, err := Rename(st, st, target(t, test.source), target(t, test.dest))
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %s", err, test.err)
			}
			want := test.want
			if test.err != "" {
				want = listed(instances(t, test.before))
			}
			if got := listed(st); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// load loads a root module. The module may call the module in the directory m, which declares a.x
// and a.y.
func load(t *testing.T, config string) *configs.Config {
	t.Helper()
	dir := t.TempDir()
	testenv.WriteFile(t, filepath.Join(dir, "main.tf"), config)
	testenv.WriteFile(t, filepath.Join(dir, "m", "main.tf"), "resource \"a\" \"x\" {}\nresource \"a\" \"y\" {}\n")
	cfg, err := configs.LoadRoot(t.Context(), dir, &configs.LoadOptions{
		Resolve: func(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		}}, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// instances returns a state with an object at each address.
func instances(t *testing.T, list string) *states.State {
	t.Helper()
	st := states.New()
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("a")}}
	for text := range strings.FieldsSeq(list) {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		st.SetCurrent(addr, &states.Object{Attrs: []byte(text)}, provider)
	}
	return st
}

// listed returns the instances of a state, each with the original address of its object.
func listed(st *states.State) string {
	var out []string
	for _, r := range st.Sorted() {
		for _, key := range r.SortedKeys() {
			out = append(out, r.Addr.Instance(key).String()+"="+string(r.Instances[key].Current.Attrs))
		}
	}
	return strings.Join(out, " ")
}

func target(t *testing.T, text string) addrs.Target {
	t.Helper()
	out, err := addrs.ParseTargetText(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
