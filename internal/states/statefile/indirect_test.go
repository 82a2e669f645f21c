package statefile

import (
	"bytes"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// TestNearestDependencies checks that a snapshot lists indirect dependencies for other programs, and
// that reading it returns only the nearest ones, unless something else has changed the list.
func TestNearestDependencies(t *testing.T) {
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "lab"}}}
	at := func(name string) addrs.AbsInstance {
		return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: name}}
	}
	set := func(s *states.State, name, dep string) {
		obj := &states.Object{Attrs: []byte(`{}`)}
		if dep != "" {
			obj.Dependencies = states.NewDependencies([]addrs.ConfigResource{at(dep).Config()})
		}
		s.SetCurrent(at(name), obj, provider)
	}
	state := states.New()
	set(state, "subnet", "vpc")
	set(state, "vpc", "")
	set(state, "server", "subnet")
	encode := func(e *Encoder, s *states.State) []byte {
		data, err := e.Encode(&File{Lineage: "l", State: s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	encoder := NewEncoder()
	data := string(encode(encoder, state))
	const all = `"dependencies":["lab_object.subnet","lab_object.vpc"]`
	const nearest = `"nearest_dependencies":[{"resource":"lab_object.server","dependencies":["lab_object.subnet"]}]`
	if strings.Count(data, all) != 1 || strings.Count(data, nearest) != 1 {
		t.Errorf("snapshot\n%s", data)
	}
	for name, c := range map[string]struct{ text, want string }{
		"as written":          {data, "subnet"},
		"by another program":  {strings.Replace(data, ","+nearest, "", 1), "subnet vpc"},
		"a removed address":   {strings.Replace(data, `["lab_object.subnet","lab_object.vpc"]`, `["lab_object.vpc"]`, 1), "vpc"},
		"renamed in one list": {strings.Replace(data, `["lab_object.subnet"]`, `["lab_object.net"]`, 1), "subnet vpc"},
		"an empty list":       {strings.Replace(data, `["lab_object.subnet"]`, `[]`, 1), "subnet vpc"},
	} {
		file, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for dep := range file.State.Instance(at("server")).Current.Dependencies.All() {
			got = append(got, dep.Resource.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: the dependencies are %v, want %s", name, got, c.want)
		}
	}
	// An object that doesn't change has other indirect dependencies when another object changes.
	set(state, "subnet", "zone")
	if got := encode(encoder, state); !bytes.Equal(got, encode(NewEncoder(), state)) || bytes.Equal(got, []byte(data)) {
		t.Errorf("the next snapshot is\n%s", got)
	}
}

// TestCycle checks that the lists in a snapshot form no cycle, and that reading it returns all
// dependencies, also if the objects of a resource have different ones.
func TestCycle(t *testing.T) {
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: addrs.DefaultHost,
		Namespace: "n", Type: "lab"}}}
	at := func(name string) addrs.AbsInstance {
		return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: name}}
	}
	object := func(names ...string) *states.Object {
		var list []addrs.ConfigResource
		for _, name := range names {
			list = append(list, at(name).Config())
		}
		return &states.Object{Attrs: []byte(`{}`), Dependencies: states.NewDependencies(list)}
	}
	state := states.New()
	state.SetCurrent(at("a"), object("b"), provider)
	state.SetCurrent(at("b"), object("c"), provider)
	state.SetCurrent(at("c").Abs().Instance(addrs.IntKey(0)), object(), provider)
	state.SetCurrent(at("c").Abs().Instance(addrs.IntKey(1)), object("a", "d"), provider)
	state.SetDeposed(at("c").Abs().Instance(addrs.IntKey(1)), "00000001", object("a"), provider)
	state.SetCurrent(at("d"), object(), provider)
	state.SetCurrent(at("e"), object("a"), provider)
	data, err := Encode(&File{Lineage: "l", State: state}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"dependencies":["lab_object.b","lab_object.c","lab_object.d"]`, // of a
		`"dependencies":["lab_object.c","lab_object.d"]`,                // of b
		`"dependencies":["lab_object.d"]`,                               // of c[1]
		`{"object":"lab_object.c[1]","unlisted":["lab_object.a"]}`,
		`{"object":"lab_object.c[1]","deposed":"00000001","unlisted":["lab_object.a"]}`,
		`{"resource":"lab_object.e","dependencies":["lab_object.a"]}`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the snapshot has no %s:\n%s", want, data)
		}
	}
	file, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !Equal(file.State, state) {
		t.Errorf("read again:\n%s", data)
	}
	text := strings.Replace(string(data), `"unlisted":["lab_object.a"]`, `"unlisted":["lab_object"]`, 1)
	if _, err := Parse([]byte(text)); err == nil {
		t.Error("no error for an invalid address")
	}
}
