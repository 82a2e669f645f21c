package session_test

import (
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/states"
)

// TestWithProviders checks that the kept configuration of a provider follows its objects to another
// provider, and stays for the objects that do.
func TestWithProviders(t *testing.T) {
	provider := func(text string) addrs.ProviderInstance {
		p, err := addrs.ParseProviderInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	old, other := provider(`provider["example.com/old/x"].west["k"]`), provider(`provider["example.com/new/x"].west["k"]`)
	st := states.New()
	moved, err := addrs.ParseInstanceText("x_thing.moved")
	if err != nil {
		t.Fatal(err)
	}
	stays := moved
	stays.Resource.Name = "stays"
	st.SetCurrent(moved, &states.Object{Attrs: []byte(`{"id":"1"}`)}, old)
	st.SetCurrent(stays, &states.Object{Attrs: []byte(`{"id":"2"}`)}, old)
	kept := &states.ProviderConfig{Values: []byte(`{"region":"west"}`)}
	st.SetProviderConfig(old, kept)
	out, changed := session.WithProviders(st, func(addrs.Provider) addrs.Provider { return other.Config.Provider },
		func(addr addrs.AbsResource) bool { return addr.Resource.Name == "moved" })
	if len(changed) != 1 {
		t.Fatalf("changed %v", changed)
	}
	if got := out.ProviderConfigs(); len(got) != 2 || got[other] != kept || got[old] != kept {
		t.Errorf("the kept configurations are %v", got)
	}
	if got := st.ProviderConfigs(); len(got) != 1 {
		t.Errorf("the given state has changed: %v", got)
	}
}
