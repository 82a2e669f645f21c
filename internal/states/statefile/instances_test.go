package statefile

import (
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// The instances on which objects depend are kept in a snapshot, in a list that other programs
// ignore, and in a journal entry.
func TestDependencyInstances(t *testing.T) {
	parse := func(text string) addrs.AbsInstance {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	first, second := parse(`module.m["x"].lab_object.a[0]`), parse(`module.m["x"].lab_object.a[1]`)
	obj := &states.Object{Attrs: []byte(`{}`), DependencyInstances: []addrs.AbsInstance{first}}
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "lab"}}}
	state := states.New()
	state.SetCurrent(first, &states.Object{Attrs: []byte(`{}`)}, provider)
	state.SetCurrent(second, obj, provider)
	state.SetDeposed(second, "00000001", obj, provider)
	for _, indent := range []bool{false, true} {
		data, err := Encode(&File{Lineage: "l", State: state}, &Options{Indent: indent})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if !Equal(got.State, state) {
			t.Errorf("read again:\n%s", data)
		}
		text := strings.Replace(string(data), `lab_object.a[0]`, `lab_object.a[`, 1)
		if strings.Contains(text, `"object": "module`) == indent {
			if _, err := Parse([]byte(text)); err == nil {
				t.Errorf("no error for\n%s", text)
			}
		}
		for _, gone := range []string{`"dependency_instances"`} {
			other := strings.Replace(string(data), gone, `"unknown"`, 1)
			if got, err := Parse([]byte(other)); err != nil || Equal(got.State, state) {
				t.Errorf("without the list: %v", err)
			}
		}
	}
	data, err := EncodeObject(obj)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseObject(data)
	if err != nil || !SameObject(got, obj) {
		t.Errorf("%s: %+v, %v", data, got, err)
	}
}
