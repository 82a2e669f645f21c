package moves_test

import (
	"fmt"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/moves"
	"tofu/internal/states"
)

// TestTransfer checks the dependencies of objects that move to another state, and of those that stay.
func TestTransfer(t *testing.T) {
	from, to := states.New(), states.New()
	provider, err := addrs.ParseProviderInstanceText(`module.net.provider["example.com/x/x"].west`)
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, needs ...string) {
		obj := &states.Object{Attrs: []byte(`{}`)}
		var list []addrs.ConfigResource
		for _, need := range needs {
			list = append(list, parseInstance(t, need).Config())
		}
		obj.Dependencies = states.NewDependencies(list)
		from.SetCurrent(parseInstance(t, name), obj, provider)
	}
	add("module.net.x_a.base")
	add("module.net.x_a.main", "module.net.x_a.base")
	add("module.net.x_a.sub", "module.net.x_a.main")
	add("x_a.user", "module.net.x_a.main")
	was, err := moves.Transfer(from, to, []moves.Pair{
		{From: parseTarget(t, "module.net.x_a.main"), To: parseTarget(t, "x_a.vpc")},
		{From: parseTarget(t, "module.net.x_a.sub"), To: parseTarget(t, "x_a.sub")},
	})
	if err != nil || len(was) != 2 {
		t.Fatal(was, err)
	}
	for _, test := range []struct {
		in           *states.State
		addr, needs  string
		wantProvider string
	}{
		{to, "x_a.vpc", "[]", `provider["example.com/x/x"]`},
		{to, "x_a.sub", "[x_a.vpc]", `provider["example.com/x/x"]`},
		{from, "x_a.user", "[module.net.x_a.base module.net.x_a.main]", provider.Config.String()},
	} {
		addr := parseInstance(t, test.addr)
		inst := test.in.Instance(addr)
		if inst == nil {
			t.Errorf("%s is missing", addr)
			continue
		}
		needs := []string{}
		for dep := range inst.Current.Dependencies.All() {
			needs = append(needs, dep.String())
		}
		got := test.in.Resource(addr.Abs()).Provider.String()
		if text := fmt.Sprint(needs); text != test.needs || got != test.wantProvider {
			t.Errorf("%s needs %s and has %s, want %s and %s", addr, text, got, test.needs, test.wantProvider)
		}
	}
	if _, err := moves.Transfer(from, to, []moves.Pair{{From: parseTarget(t, "x_a.user"), To: parseTarget(t, "x_a.vpc")}}); err == nil {
		t.Error("an object has moved to an address that is taken")
	}
}

func parseInstance(t *testing.T, text string) addrs.AbsInstance {
	t.Helper()
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func parseTarget(t *testing.T, text string) addrs.Target {
	t.Helper()
	target, err := addrs.ParseTargetText(text)
	if err != nil {
		t.Fatal(err)
	}
	return target
}
