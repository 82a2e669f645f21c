package statefile

import (
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// TestDependencyInstances checks that a snapshot keeps the instances on which objects depend, in a
// list that other programs ignore, and that a journal entry keeps them too.
func TestDependencyInstances(t *testing.T) {
	parse := func(text string) addrs.AbsInstance {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	first, second := parse(`module.m["x"].lab_object.a["[\"x$${"]`), parse(`module.m["x"].lab_object.a[1]`)
	obj := &states.Object{Attrs: []byte(`{}`), DependencyInstances: []addrs.AbsInstance{first}}
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "lab"}}}
	state := states.New()
	state.SetCurrent(first, &states.Object{Attrs: []byte(`{}`)}, provider)
	state.SetCurrent(second, obj, provider)
	state.SetDeposed(second, "00000001", obj, provider)
	for _, text := range []string{`lab_object.k["x"]`, `lab_object.k["y"]`, `lab_object.k["[\"y"]`, `lab_object.one`} {
		state.SetCurrent(parse(text),
			&states.Object{Attrs: []byte(`{}`), DependencyInstances: []addrs.AbsInstance{second,
				parse(`lab_object.k["x"]`), parse(`lab_object.one`), parse(`lab_object.k["y]"]`)}}, provider)
	}
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
		text := strings.Replace(string(data), `lab_object.a[1]`, `lab_object.a[`, 1)
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("no error for\n%s", text)
		}
		other := strings.Replace(string(data), `"dependency_instances"`, `"unknown"`, 1)
		if got, err := Parse([]byte(other)); err != nil || Equal(got.State, state) {
			t.Errorf("without the list: %v", err)
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
